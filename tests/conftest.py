"""Cart-pole data and models that several test files look at, made once."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable

# What tests compile is shared by the programs they start, and leaves nothing behind.
if "PYTEST_XDIST_WORKER" not in os.environ:  # of tests side by side the first process makes it for all
    CACHE = tempfile.TemporaryDirectory(prefix="vfpilco-compiled-", ignore_cleanup_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = CACHE.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

# Most of a test's time is compiling, for a moment's work.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

# Programs started from here hear Ctrl-C, also when these tests run in the background of a shell.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# There is no screen to render on; MuJoCo asks when it is imported.
os.environ.setdefault("MUJOCO_GL", "egl")

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import vfpilco
from vfpilco import gp
from vfpilco.execute import execute
from vfpilco.history import TrainingSet, VelocityFree
from vfpilco.trial import Trial

CARTPOLE_HISTORY = VelocityFree(angles=(False, True), d_u=1, m_q=2, m_u=1)


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_linear_algebra():
    """The matrices are small: waiting threads cost up to ten times the work itself where cores are shared."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="session")
def task() -> vfpilco.Task:
    return vfpilco.task("cartpole")


@pytest.fixture(scope="session")
def explore(task) -> Callable[[int], Trial]:
    """Makes an exploration of the cart-pole from a seed."""

    def explore(seed: int) -> Trial:
        rng = np.random.default_rng(seed)
        inputs = iter(task.exploration.inputs(rng, task.horizon, task.sampling_time, task.limits))
        return execute(task, task.plant(), lambda q: next(inputs), seed)

    return explore


@pytest.fixture(scope="session")
def swing(task) -> Callable[[int, float], Trial]:
    """Makes a trial in which the pole goes round and the cart stays near the origin, as under a half-learned policy."""

    def swing(seed: int, gain: float) -> Trial:
        seen = []

        def pump(q: np.ndarray) -> np.ndarray:
            seen.append(q)
            if len(seen) < 4:
                return np.array([10.0])
            speed = (seen[-1] - seen[-2]) / task.sampling_time
            return np.array([-gain * np.sign(speed[1] * np.cos(q[1])) - 6 * q[0] - 2 * speed[0]])

        return execute(task, task.plant(), pump, seed)

    return swing


@pytest.fixture(scope="session")
def history() -> VelocityFree:
    return CARTPOLE_HISTORY


@pytest.fixture(scope="session")
def cartpole_data(history, explore, swing) -> TrainingSet:
    """440 points of five trials: three explorations, two with the pole going round."""
    trials = [explore(0), explore(1), explore(2), swing(3, 5.5), swing(4, 8.5)]
    return TrainingSet.join([history.training_set(trial) for trial in trials])


@pytest.fixture(scope="session")
def held_out(history, explore, swing) -> TrainingSet:
    """Two trials of the same kinds that no model has seen."""
    return TrainingSet.join([history.training_set(trial) for trial in (explore(5), swing(6, 6.5))])


@pytest.fixture(scope="session")
def exact_model(cartpole_data) -> gp.Model:
    """The exact GPs of the five trials."""
    return gp.fit(cartpole_data, rows=len(cartpole_data.x), inducing=None)
