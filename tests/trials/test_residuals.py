import numpy as np
import pytest

import vfpilco
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.fit import fit
from vfpilco.model.kernels import Linear
from vfpilco.model.model import Model
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.trials.plan import dynamics_of
from vfpilco.trials.residuals import unexplained
from vfpilco.trials.settings import Settings

NOISE = 1e-4
MACHINE = vfpilco.Machine(
    plant=None,  # pyright: ignore[reportArgumentType]
    positions=(vfpilco.Position("slide", "m"),),
    inputs=(vfpilco.Input("force", "N", limit=1.0),),
    sampling_time=0.05,
    sensor=GaussianNoise((NOISE,)),
)


def trial(seed: int, delay: int = 0, friction: float = 0.0) -> Trial:
    """A mass that is pushed, with friction that grows with its speed, and some that does not."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, 120)
    q, v = [0.0], 0.0
    for t in range(len(u)):
        v = 0.9 * v + 0.01 * (u[t - delay] if t >= delay else 0.0) - friction * np.tanh(v / 1e-3)
        q.append(q[-1] + v)
    measured = np.array(q)[:, None] + NOISE * rng.standard_normal((len(q), 1))
    return Trial(measured, u[:, None], 0.05)


def learned(**machine: float) -> tuple[Model, Dynamics]:
    dynamics = dynamics_of(Settings(state=VelocityFree(2, 1)), MACHINE)
    data = dynamics.training_sets([trial(0, **machine), trial(1, **machine)])
    kinds = tuple(dynamics.state.input_kinds())
    return fit(data, kernel=Linear(), kinds=kinds, least_noise=dynamics.least_noise()), dynamics


@pytest.mark.parametrize(
    ("machine", "words"),
    [({"delay": 3}, "Is the delay longer? Try --m-u 2"), ({"friction": 6e-3}, "dry friction"), ({}, None)],
)
def test_errors_that_resemble_something_say_what_may_be_missing(machine: dict[str, float], words: str | None):
    model, dynamics = learned(**machine)
    found = unexplained(model, dynamics, trial(2, **machine), MACHINE)
    assert (found is None) == (words is None)
    if words is not None:
        assert found is not None
        assert words in found
        assert "slide" in found


def test_a_short_trial_says_nothing():
    model, dynamics = learned(delay=3)
    whole = trial(2, delay=3)
    assert unexplained(model, dynamics, Trial(whole.q[:16], whole.u[:15], 0.05), MACHINE) is None
