from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from vfpilco.model import inducing
from vfpilco.model.diagnostics import ProjectionLoss
from vfpilco.model.fit import fit
from vfpilco.model.inducing import HELD_OUT, Sufficient, size_of, sufficient


def test_the_least_number_that_loses_little_is_chosen(exact_model, cartpole_data, monkeypatch):
    assert sufficient(exact_model, cartpole_data).size == 128
    monkeypatch.setattr(inducing, "SIZES", (8, 16, 128))  # eight or sixteen lose much
    assert sufficient(exact_model, cartpole_data, least=8).size == 128


def test_the_number_never_falls(exact_model, cartpole_data):
    assert sufficient(exact_model, cartpole_data, least=256).size == 256


@pytest.mark.parametrize(("directions", "expected"), [(64, 128), (128, 256), (16, 128), (400, 512)])
def test_the_number_before_follows_from_the_model(exact_model, directions, expected):
    w = exact_model.posterior.w[:, :, :directions]
    projected = dataclasses.replace(exact_model, posterior=dataclasses.replace(exact_model.posterior, w=w))
    assert size_of(projected) == expected
    assert size_of(exact_model) == size_of(None) == 128


def loss(error: float, nats: float) -> ProjectionLoss:
    return ProjectionLoss(np.array([-0.001, error]), np.array([nats, -0.002]))


def test_the_loss_that_decided_is_noted():
    little, much = loss(0.004, 0.0112), loss(0.031, 0.08)
    assert Sufficient(128, ((128, little),)).remarks(None) == [
        "Chosen: 128 inducing points, which lose 0.4 % in one-step error and 0.011 nats per sample on data held out."
    ]
    assert Sufficient(256, ((128, much), (256, little))).remarks(None) == [
        "Chosen: 256 inducing points, which lose 0.4 % in one-step error and 0.011 nats per sample on data held out; "
        "128 lose 3.1 % and 0.080."
    ]
    assert Sufficient(512, ((128, loss(0.2, 1.0)), (256, much))).remarks(None) == [
        "Chosen: 512 inducing points, the most: 256 lose 3.1 % in one-step error and 0.080 nats per sample on data "
        "held out."
    ]
    assert Sufficient(256).remarks(None) == []


def test_the_loss_is_measured_for_every_number_up_to_the_one_that_is_chosen(exact_model, cartpole_data, monkeypatch):
    monkeypatch.setattr(inducing, "SIZES", (8, 16, 128))
    chosen = sufficient(exact_model, cartpole_data, least=8)
    assert [size for size, _ in chosen.losses] == [8, 16]  # the most is used whatever it loses
    assert all(max(lost.error) > inducing.MOST_ERROR or max(lost.log_density) > 0.05 for _, lost in chosen.losses)
    assert [size for size, _ in sufficient(exact_model, cartpole_data, least=16).losses] == [16]


def test_the_same_number_is_noted_once(exact_model):
    """The first time that it is measured, and when it rises."""
    lost = ((128, loss(0.01, 0.01)),)
    w = exact_model.posterior.w

    def before(points: int, size: int):
        posterior = dataclasses.replace(exact_model.posterior, w=w[:, :size, : size // 2])
        return dataclasses.replace(exact_model, posterior=posterior, points=points)

    assert len(Sufficient(128, lost).remarks(exact_model)) == 1
    assert len(Sufficient(128, lost).remarks(before(128 + 40, 128))) == 1  # then every point was an inducing point
    assert Sufficient(128, lost).remarks(before(129 + HELD_OUT, 128)) == []
    assert len(Sufficient(256, lost).remarks(before(1000, 128))) == 1


def test_a_fit_notes_what_it_chose_and_not_what_is_given(cartpole_data):
    chosen = fit(cartpole_data, inducing=None)
    assert [remark for remark in chosen.remarks if remark.startswith("Chosen: 128 inducing points, which lose ")]
    assert not [remark for remark in fit(cartpole_data, inducing=None, previous=chosen).remarks if "Chosen" in remark]
    assert not [remark for remark in fit(cartpole_data, inducing=128, previous=chosen).remarks if "Chosen" in remark]
