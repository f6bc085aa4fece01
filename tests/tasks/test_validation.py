"""Checks of a task before the plant moves."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from variants import variant

import vfpilco
from vfpilco import Features, Input, Position


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": lambda q: q}, "wrong shape"),
        ({"cost": lambda q: jnp.sum(q)}, "wrong shape"),
        ({"cost": lambda q: q[..., 7] / 0}, "failed|not finite|wrong shape"),
        ({"cost": lambda q: jnp.log(q[..., 0])}, "not finite"),
        ({"inputs": (Input("force", "N", -1.0),)}, "limit of input 'force'"),
        ({"positions": (Position("p", "m"), Position("alpha", "deg", angle=True))}, "'alpha' must be in radians"),
        ({"positions": (Position("p", "m"), Position("p", "rad"))}, "different names"),
        ({"positions": (Position("t", "m"), Position("p", "rad"))}, "different names"),
        ({"positions": Position("p", "m")}, r"tuple of vfpilco.Position, got a Position: .* comma"),
        ({"positions": ("p", "alpha")}, "tuple of vfpilco.Position, got a tuple"),
        ({"inputs": (Input("force", "N", (-1.0, 1.0)),)}, "limit of input 'force'"),  # pyright: ignore
        ({"plant": object}, "a object, has no method reset and no step and no stop"),
        ({"sampling_time": 0.0}, "sampling time"),
        ({"horizon": 1}, "horizon"),
        ({"horizon": 12.0}, "horizon must be an integer"),
        ({"sampling_time": 0.5, "exploration": vfpilco.FilteredNoise(cutoff=1.5)}, "exploration of task"),
        ({"sensor": vfpilco.GaussianNoise((1e-3,))}, "sensor of task"),
        ({"start": vfpilco.GaussianStart((0.0,), (1e-2,))}, "start of task"),
        ({"success": lambda q: q[200, 0] > 0}, "success of task"),
    ],
)
def test_a_task_that_cannot_be_learned_is_refused_and_nothing_is_written(tmp_path, task, change, words):
    with pytest.raises(vfpilco.UserError, match=words):
        vfpilco.learn(variant(task, **change), trials=1, out=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


class Unhashable(vfpilco.GaussianNoise):
    __hash__ = None  # pyright: ignore


class Zeros:
    """An exploration with a given number of rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def inputs(self, rng, steps, sampling_time, limits):
        return np.zeros((self.rows, len(limits)))


class Invalid(Zeros):
    """An exploration that gives invalid inputs."""

    def inputs(self, rng, steps, sampling_time, limits):
        return np.full((steps, len(limits)), np.nan)


class Constant:
    """An exploration with a controller that always returns the same inputs."""

    def __init__(self, *u: float) -> None:
        self.u = np.array(u)

    def controller(self, rng, sampling_time, limits):
        return lambda q: self.u


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": ()}, r"needs at least one position and one input, got \['force'\]: name them"),
        ({"inputs": ()}, r"needs at least one position and one input, got \['p', 'alpha'\]"),
        ({"positions": (Position("p,q", "m"), Position("alpha", "rad"))}, "different names without commas"),
        ({"positions": (Position(" ", "m"), Position("alpha", "rad"))}, "different names without commas"),
        ({"positions": (Position("p", "m", scale=0.0), Position("alpha", "rad"))}, "scale of 'p' must be positive"),
        (
            {"positions": (Position("p", "m", commanded="volts"), Position("alpha", "rad"))},
            "'p' is commanded by 'volts', which is not an input of task 'cartpole': name one of force",
        ),
        (
            {"positions": (Position("p", "m", safe=(1.0, -1.0)), Position("alpha", "rad"))},
            r"'p' needs a lower and an upper value as safe, got \(1.0, -1.0\)",
        ),
        (
            {"positions": (Position("p", "m", bounds=(1.0, 1.0)), Position("alpha", "rad"))},
            "'p' needs a lower and an upper value as bounds",
        ),
        (
            {"positions": (Position("p", "m", commanded="force"), Position("alpha", "rad", commanded="force"))},
            "All positions of task 'cartpole' are commanded: there is nothing to learn",
        ),
        ({"sampling_time": float("nan")}, "sampling time must be positive, got nan"),
        ({"sampling_time": 33}, "The sampling time is in seconds, got 33"),
        ({"explorations": 0}, "explorations must be an integer of at least 1, got 0"),
        ({"horizon": True}, "horizon must be an integer of at least 2, got True"),
        ({"settings": vfpilco.Settings()}, "must be a dictionary of keyword arguments of learn, got a Settings"),
        ({"reference": np.zeros((90, 2))}, r"reference .* of shape \(91, 2\), .* got shape \(90, 2\)"),
        ({"reference": np.full((91, 2), np.nan)}, "reference of task 'cartpole' must be finite"),
        ({"reference": np.zeros((91, 2))}, r"The cost of task 'cartpole' failed on positions of shape \(3, 5, 2\)"),
        ({"cost": lambda q: q[..., 5] ** 2}, r"failed .* index positions as q\[..., i\]"),
        ({"cost": lambda q: 1 / 0}, "ZeroDivisionError: division by zero"),
        ({"sensor": Unhashable((1e-3, 2e-3))}, "sensor of task 'cartpole' does not fit .* unhashable"),
        ({"start": vfpilco.GaussianStart((0,), (1,))}, "it has 1 numbers for 2 positions"),
        ({"exploration": Zeros(89)}, "exploration of task 'cartpole' .*its result has another shape"),
        ({"exploration": Invalid(90)}, "exploration of task 'cartpole' gave inputs that are not finite"),
        ({"exploration": Constant(1.0, 2.0)}, "exploration of task 'cartpole' .* another shape"),
        ({"features": Features(lambda q, rates, u: q, 3)}, "features of task 'cartpole' .* another shape"),
        ({"success": lambda q: "yes"}, "success of task 'cartpole'"),
    ],
)
def test_validation_names_what_is_wrong(task, change, words):
    with pytest.raises(vfpilco.UserError, match=words):
        variant(task, **change).check()


def test_a_plant_must_be_given_by_what_makes_it(task):
    plant = task.machine.plant()
    with pytest.raises(vfpilco.UserError, match="must be a class or function that makes it, got a CartPole"):
        variant(task, plant=plant).check()


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"plant": None},
        {"sampling_time": 0.5},  # the cut-off frequency of the exploration follows the sampling rate
        {"plant": "tcp://127.0.0.1:5555"},
        {"exploration": Constant(1.0)},
        {"features": Features(lambda q, rates, u: q, 2)},
        {"cost": lambda q, r: ((q - r) ** 2).sum(-1), "reference": np.zeros((91, 2))},
        {"positions": (Position("p", "m", commanded="force", bounds=(-1.0, 1.0)), Position("alpha", "rad"))},
    ],
)
def test_a_valid_task_passes(task, change):
    variant(task, **change).check()
