from __future__ import annotations

import dataclasses

import pytest

from vfpilco.model import inducing
from vfpilco.model.inducing import size_of, sufficient


def test_the_least_number_that_loses_little_is_chosen(exact_model, cartpole_data, monkeypatch):
    assert sufficient(exact_model, cartpole_data) == 128
    monkeypatch.setattr(inducing, "SIZES", (8, 16, 128))  # eight or sixteen lose much
    assert sufficient(exact_model, cartpole_data, least=8) == 128


def test_the_number_never_falls(exact_model, cartpole_data):
    assert sufficient(exact_model, cartpole_data, least=256) == 256


@pytest.mark.parametrize(("directions", "expected"), [(64, 128), (128, 256), (16, 128), (400, 512)])
def test_the_number_before_follows_from_the_model(exact_model, directions, expected):
    w = exact_model.posterior.w[:, :, :directions]
    projected = dataclasses.replace(exact_model, posterior=dataclasses.replace(exact_model.posterior, w=w))
    assert size_of(projected) == expected
    assert size_of(exact_model) == size_of(None) == 128
