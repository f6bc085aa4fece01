"""The linear model of a free motion and its predictions several samples ahead."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.data.trial import Trial
from vfpilco.recordings.free_motion import AHEAD, FreeMotion


@pytest.fixture
def mass() -> Trial:
    """A mass with friction, pushed about, without noise."""
    rng = np.random.default_rng(0)
    u, q, v = rng.normal(size=(100, 1)), [0.0], 0.0
    for t in range(100):
        v = 0.9 * v + 0.1 * u[t, 0]
        q.append(q[-1] + v)
    return Trial(np.array(q)[:, None], u, 0.04)


def everywhere(trial: Trial) -> list[np.ndarray]:
    return [np.ones(len(trial.q), dtype=bool)]


def test_a_linear_motion_is_predicted_several_samples_ahead(mass):
    motion = FreeMotion.of([mass], 0, everywhere(mass))
    t = np.array([10, 40])
    np.testing.assert_allclose(motion.ahead(mass, t, 5)[-1], mass.q[t + 5, 0], atol=1e-3)
    assert motion.largest_errors([mass], everywhere(mass)).max() < 1e-2


def test_beyond_a_stop_the_free_motion_goes_on(mass):
    stopped = Trial(np.minimum(mass.q, np.quantile(mass.q, 0.8)), mass.u, 0.04)
    end = stopped.q.max()
    free = [stopped.q[:, 0] < end - 1e-9]
    motion = FreeMotion.of([stopped], 0, free)
    contact = np.flatnonzero(~free[0])[0]
    truth = mass.q[contact - 1 + np.arange(1, 5), 0] - stopped.q[contact - 1 + np.arange(1, 5), 0]
    np.testing.assert_allclose(motion.above(stopped, np.array([contact - 1]), 4)[:, 0], truth, atol=1e-2)
    assert truth.max() > 0.05


def test_too_few_predictions_show_no_error(mass):
    few = [np.arange(len(mass.q)) < 15]
    errors = FreeMotion.of([mass], 0, everywhere(mass)).largest_errors([mass], few)
    assert np.isfinite(errors[0])
    assert errors[AHEAD - 1] == np.inf
