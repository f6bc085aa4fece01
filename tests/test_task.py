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
        ({"positions": (Position("p", "m"), Position("p", "rad"))}, "different names"),
        ({"positions": (Position("t", "m"), Position("p", "rad"))}, "different names"),
        ({"sampling_time": 0.0}, "sampling time"),
        ({"horizon": 1}, "horizon"),
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
