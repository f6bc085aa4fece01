import dataclasses

import jax.numpy as jnp
import pytest

import vfpilco
from vfpilco import Input, Position


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
        ({"horizon": 12.0}, "horizon must be a whole number"),
        ({"sampling_time": 0.5}, "exploration of task"),
        ({"sensor": vfpilco.GaussianNoise((1e-3,))}, "sensor of task"),
        ({"start": vfpilco.GaussianStart((0.0,), (1e-2,))}, "start of task"),
        ({"success": lambda q: q[200, 0] > 0}, "success of task"),
    ],
)
def test_a_task_that_cannot_be_learned_is_refused(tmp_path, change, words):
    task = dataclasses.replace(vfpilco.task("cartpole"), **change)
    with pytest.raises(vfpilco.UserError, match=words):
        vfpilco.learn(task, trials=1, out=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_negative_noise_is_refused():
    with pytest.raises(vfpilco.UserError, match=r"noise must be zero or positive, got \(0.001, -0.002\)"):
        vfpilco.GaussianNoise((1e-3, -2e-3))


def test_unknown_settings_and_too_many_trials_are_refused():
    task = vfpilco.task("cartpole")
    with pytest.raises(vfpilco.UserError, match="did you mean 'steps'"):
        vfpilco.learn(task, stepz=3)
    with pytest.raises(vfpilco.UserError, match="ask for fewer trials"):
        vfpilco.learn(task, trials=1000)


def test_swing_up_is_judged_on_the_last_second_alone():
    import numpy as np

    task = vfpilco.task("cartpole")
    q = np.zeros((91, 2))
    q[60:, 1] = -np.pi
    assert task.success(q)
    q[60, 1] = np.deg2rad(169)
    assert not task.success(q)
    q[60, 1] = np.deg2rad(189)
    assert task.success(q)
    q[90, 0] = 0.11
    assert not task.success(q)
