"""Cart-pole data and models that several test files use, made once."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Callable
from importlib.metadata import version

# What tests compile is shared with the programs they start, and removed afterwards.
if "PYTEST_XDIST_WORKER" not in os.environ:  # with several workers the first process makes it for all
    CACHE = tempfile.TemporaryDirectory(prefix="vfpilco-compiled-", ignore_cleanup_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = CACHE.name
    # Task files that tests run are not remembered as the user's.
    STATE = tempfile.TemporaryDirectory(prefix="vfpilco-state-", ignore_cleanup_errors=True)
    os.environ["XDG_STATE_HOME"] = STATE.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

# Most of a test's time is compiling, for a moment's work: with these flags it takes a third of the time. `make
# test-long` has other ones, because complete runs need code that is fast.
FAST = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",
)
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):  # later ones end at flags that they do not know
    FAST = (*FAST, "--xla_cpu_use_fusion_emitters=false")
os.environ.setdefault("XLA_FLAGS", " ".join(FAST))

# Programs started from here react to Ctrl-C, also when these tests run in the background of a shell.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# There is no screen to render on; MuJoCo asks when it is imported.
os.environ.setdefault("MUJOCO_GL", "egl")

import jaxtyping
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import vfpilco
from vfpilco.common import compiled
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.fit import fit
from vfpilco.model.model import Model
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.trials.execute import execute

vfpilco.configure()
compiled.MOST = 10**6  # Tests share what is compiled.

CARTPOLE_SENSOR = GaussianNoise((1e-3, 2e-3))
CARTPOLE_STATE = VelocityFree(m_q=2, m_u=1).bind(Signals(angles=(False, True), d_u=1, std=CARTPOLE_SENSOR.std))


def pytest_collection_finish() -> None:
    """What was imported stays: without it the search for garbage is short."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_linear_algebra():
    """The matrices are small: waiting threads cost up to ten times the work itself where cores are shared."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def as_users_run_it(monkeypatch) -> None:
    """Switches off the checks of types that only tests have, so that a wrong type meets the package's own message."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture(scope="session")
def task() -> vfpilco.Task:
    return vfpilco.task("cartpole")


@pytest.fixture(scope="session")
def explore(task) -> Callable[[int], Trial]:
    """Makes an exploration of the cart-pole from a seed."""

    def explore(seed: int) -> Trial:
        machine, rng = task.machine, np.random.default_rng(seed)
        inputs = iter(task.exploration.inputs(rng, task.horizon, machine.sampling_time, machine.limits))
        return execute(task, machine.plant(), lambda q: next(inputs), seed)

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
            speed = (seen[-1] - seen[-2]) / task.machine.sampling_time
            return np.array([-gain * np.sign(speed[1] * np.cos(q[1])) - 6 * q[0] - 2 * speed[0]])

        return execute(task, task.machine.plant(), pump, seed)

    return swing


@pytest.fixture(scope="session")
def state() -> VelocityFree:
    """The velocity-free state of the cart-pole."""
    return CARTPOLE_STATE


@pytest.fixture(scope="session")
def dynamics(state) -> Dynamics:
    """The dynamics of the cart-pole with white noise."""
    return Dynamics(state, ConstantVelocity(), WhiteNoise(), CARTPOLE_SENSOR)


@pytest.fixture(scope="session")
def cartpole_data(dynamics, explore, swing) -> TrainingSet:
    """440 points of five trials: three explorations, two with the pole going round."""
    return dynamics.training_sets([explore(0), explore(1), explore(2), swing(3, 5.5), swing(4, 8.5)])


@pytest.fixture(scope="session")
def held_out(dynamics, explore, swing) -> TrainingSet:
    """Two trials of the same kinds that no model has seen."""
    return dynamics.training_sets([explore(5), swing(6, 6.5)])


@pytest.fixture(scope="session")
def exact_model(cartpole_data) -> Model:
    """The exact GPs of the five trials."""
    return fit(cartpole_data)
