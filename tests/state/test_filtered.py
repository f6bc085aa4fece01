from __future__ import annotations

import dataclasses
import runpy
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from folders import SIZES, TINY_FLAGS
from scipy.signal import butter, filtfilt, lfilter

import vfpilco
from vfpilco.common.components import describe, rebuild
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.learned import COMPONENTS, LearnedPolicy
from vfpilco.policy.rbf import RBF
from vfpilco.state.base import Signals
from vfpilco.state.filtered import Filtered, FullState, State
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise

FILTERS = Path(__file__).parents[2] / "examples" / "filters.py"
H = 1 / 30
NOISE = (1e-3, 2e-3)
SIGNALS = Signals(angles=(False, True), d_u=1, sampling_time=H, std=NOISE)


def motion(steps: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smooth positions, their velocities, and noisy measurements of the positions."""
    t = H * np.arange(steps + 1)
    q = np.column_stack([0.3 * np.sin(3 * t), 1.5 * np.sin(4 * t + 0.3)])
    v = np.column_stack([0.9 * np.cos(3 * t), 6.0 * np.cos(4 * t + 0.3)])
    return q, v, q + np.array(NOISE) * np.random.default_rng(seed).normal(size=q.shape)


def filtered(online: LowPass | Kalman | None = None, offline: LowPass | Kalman | None = None) -> Filtered:
    return Filtered(online or LowPass(), offline or LowPass()).bind(SIGNALS)


def training_set(state: FullState, trial: Trial) -> TrainingSet:
    return Dynamics(state, ConstantVelocity(), WhiteNoise(), GaussianNoise(NOISE)).training_set(trial)


def estimates(state: Filtered, measured: np.ndarray) -> State:
    """What the online filter estimates from measurements, sample by sample."""
    memory, found = state.begin(measured[0]), []
    for i, q in enumerate(measured):
        memory = state.push(memory, q, np.zeros(1)) if i else memory
        found.append(state.estimate(memory))
    return State(*(np.array(column) for column in zip(*found, strict=True)))


def test_low_pass_matches_scipy_on_backward_differences():
    _, _, measured = motion()
    for cutoff in (0.3, 0.5, 0.8):
        found = estimates(filtered(LowPass(cutoff)), measured)
        differences = np.diff(measured, axis=0, prepend=measured[:1]) / H
        np.testing.assert_allclose(found.v, lfilter(*butter(1, cutoff), differences, axis=0), atol=1e-10)
        np.testing.assert_array_equal(found.q, measured)


def test_the_published_low_pass_is_the_mean_of_two_differences():
    filters = LowPass(0.5).recursive((0.0,), H)
    np.testing.assert_allclose(filters.a[0][2], (-0.5 / H, 0.5, 0.0), atol=1e-12)
    np.testing.assert_allclose(filters.b[0], (1.0, 1 / H, 0.5 / H))


def test_kalman_filter_converges_to_a_textbook_one():
    _, _, measured = motion(300)
    found = estimates(filtered(Kalman()), measured)
    f, drift = np.array([[1, H], [0, 1]]), (20.0 * H) ** 2 * np.array([[H**2 / 3, H / 2], [H / 2, 1]])
    for j, noise in enumerate(NOISE):
        m, p = np.array([measured[0, j], 0.0]), np.diag([noise**2, 0.0])
        for q in measured[1:, j]:
            m, p = f @ m, f @ p @ f.T + drift
            gain = p[:, 0] / (p[0, 0] + noise**2)
            m, p = m + gain * (q - m[0]), p - np.outer(gain, p[0])
        assert found.q[-1, j] == pytest.approx(m[0], abs=1e-9)
        assert found.v[-1, j] == pytest.approx(m[1], abs=1e-7)


@pytest.mark.parametrize("online", [LowPass(), Kalman()], ids=repr)
def test_a_constant_velocity_is_estimated_without_error(online):
    q = np.outer(np.arange(200) * H, [0.2, -1.5])
    found = estimates(filtered(online), q)
    np.testing.assert_allclose(found.v[-1], [0.2, -1.5], rtol=1e-6)


def test_offline_low_pass_has_no_lag_and_central_differences():
    _, v, measured = motion()
    q_smooth, v_smooth = LowPass(0.5).smooth(measured, NOISE, H)
    expected = filtfilt(*butter(2, 0.5), measured, axis=0)
    np.testing.assert_allclose(q_smooth, expected)
    np.testing.assert_allclose(v_smooth[1:-1], (expected[2:] - expected[:-2]) / (2 * H))
    inner = slice(5, -5)
    lag = [np.sum((v_smooth[inner] - np.roll(v, shift, axis=0)[inner]) ** 2) for shift in (-1, 0, 1)]
    assert np.argmin(lag) == 1


def test_smoothing_with_future_samples_is_better_than_filtering():
    _, v, measured = motion()
    inner = slice(5, -5)

    def error(found: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean((found - v)[inner] ** 2, axis=0))

    online, smoothed = estimates(filtered(Kalman()), measured).v, Kalman().smooth(measured, NOISE, H)[1]
    differences = np.diff(measured, axis=0, prepend=measured[:1]) / H
    assert np.all(error(smoothed) < 0.5 * error(online))
    assert np.all(error(smoothed) < 0.6 * error(differences))


@pytest.mark.parametrize("offline", [LowPass(), Kalman()], ids=repr)
def test_training_pairs_are_velocity_changes_between_neighbouring_smoothed_states(offline):
    _, _, measured = motion()
    u = np.arange(90.0)[:, None]
    state = filtered(offline=offline)
    data = training_set(state, Trial(measured, u, H))
    q_smooth, v_smooth = offline.smooth(measured, NOISE, H)
    assert len(data.x) == state.rows(90) == 88
    np.testing.assert_allclose(data.y, np.diff(v_smooth, axis=0)[1:-1])
    np.testing.assert_array_equal(data.x[:, -1], u[1:89, 0])
    np.testing.assert_allclose(data.x[:, 0], q_smooth[1:89, 0])
    np.testing.assert_allclose(data.x[:, 1], np.sin(q_smooth[1:89, 1]))
    assert data.x.shape[1] == len(state.input_kinds())
    assert not np.any(data.prior)


@pytest.mark.parametrize("offline", [LowPass(), Kalman()], ids=repr)
def test_the_least_noise_of_the_model_is_the_sensor_noise_that_passes_the_filter(offline):
    state = filtered(offline=offline)
    noise = np.array(NOISE) * np.random.default_rng(0).normal(size=(20_001, 2))
    left = training_set(state, Trial(noise, np.zeros((20_000, 1)), H)).y
    np.testing.assert_allclose(state.least_noise(NOISE), left.std(0), rtol=0.03)


def test_positions_integrate_a_velocity_that_changes_linearly():
    state = FullState().bind(SIGNALS)
    before = State(np.array([0.1, 1.0]), np.array([2.0, -1.0]))
    acceleration = np.array([3.0, 5.0])
    after = state.advance(before, np.zeros(1), acceleration * H)
    np.testing.assert_allclose(after.q, before.q + before.v * H + acceleration * H**2 / 2)
    np.testing.assert_allclose(after.v, before.v + acceleration * H)


@pytest.mark.parametrize("state", [filtered(), filtered(Kalman()), FullState().bind(SIGNALS)], ids=repr)
def test_numpy_on_the_plant_and_jax_in_the_particles_agree(state):
    rng = np.random.default_rng(0)
    q, e, u = rng.normal(size=(3, 5, 2))
    u = u[:, :1]
    seen = []
    for xp in (np, jnp):
        x = state.advance(state.rest(xp.asarray(q)), xp.asarray(u), xp.asarray(e))
        memory = state.begin(state.measured(x, xp.asarray(e)))
        memory = state.push(memory, state.measured(x, 2 * xp.asarray(e)), xp.asarray(u))
        seen.append((state.gp_input(x, xp.asarray(u)), state.policy_input(memory), state.positions(x)))
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("state", [VelocityFree(), Filtered(), Filtered(online=Kalman()), FullState()], ids=repr)
def test_a_saved_policy_gives_the_same_inputs(tmp_path, state):
    task = vfpilco.task("cartpole")
    state = state.bind(Signals.of(task.machine))
    entries = [kind for kind in state.input_kinds() if kind != "input"]
    circle = tuple(kind == "circle" for kind in entries)
    network = RBF(12).bind(PolicyInputs((1.0,) * len(entries), (10.0,), circle))

    policy = LearnedPolicy(state, network, network.init(jax.random.key(0)))
    policy.save(tmp_path / "policy.safetensors")
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors")
    for measured in np.random.default_rng(0).normal(size=(6, policy.measures)):
        np.testing.assert_array_equal(policy(measured), loaded(measured))
    kept = dataclasses.replace(state, bound=state.signals.for_policy)
    assert describe(loaded.state) == describe(kept)
    assert rebuild(describe(kept), COMPONENTS) == kept


def test_kalman_filters_need_to_know_the_sensors_error():
    unknown = dataclasses.replace(SIGNALS, std=None)
    for state in (Filtered(online=Kalman()), Filtered(offline=Kalman())):
        with pytest.raises(vfpilco.UserError, match=r"a Kalman filter needs it: .* choose low-pass filters"):
            state.bind(unknown)
    assert Filtered().bind(unknown).signals.std is None


SMALL = {"steps": 4, **SIZES}


@pytest.fixture(scope="module")
def velocity_free() -> vfpilco.Result:
    return vfpilco.learn(vfpilco.task("cartpole"), seed=3, trials=1, **SMALL)


@pytest.mark.parametrize("state", [Filtered(), FullState()], ids=repr)
def test_baselines_go_through_the_same_trial_loop_from_the_same_exploration(state, velocity_free):
    baseline = vfpilco.learn(vfpilco.task("cartpole"), seed=3, trials=1, **{**SMALL, "state": state})
    np.testing.assert_array_equal(velocity_free.trials[0].q, baseline.trials[0].q)
    np.testing.assert_array_equal(velocity_free.trials[0].u, baseline.trials[0].u)
    assert baseline.rows[1].kind == "policy"
    assert np.isfinite(baseline.rows[1].cost)


def test_the_full_state_needs_a_plant_that_knows_it():
    task = vfpilco.task("cartpole")

    class Blind:
        def reset(self, seed):
            return np.zeros(2)

        def step(self, u):
            return np.zeros(2)

        def stop(self):
            pass

    blind = dataclasses.replace(task, machine=dataclasses.replace(task.machine, plant=Blind))
    with pytest.raises(vfpilco.UserError, match=r"does not know its true state .* choose --method vf or pms"):
        vfpilco.learn(blind, trials=1, **{**SMALL, "state": FullState()})


def test_the_full_state_learns_from_true_positions_and_velocities(task, explore):
    trial = explore(0)
    data = training_set(FullState().bind(Signals.of(task.machine)), trial)
    assert isinstance(data, TrainingSet)
    assert len(data.x) == 90
    np.testing.assert_array_equal(data.x[:, 3:5], trial.velocity[:-1])
    np.testing.assert_allclose(data.y, np.diff(trial.velocity, axis=0))
    speed = np.diff(trial.true, axis=0) / H
    middle = (trial.velocity[1:] + trial.velocity[:-1]) / 2
    assert np.all(np.abs(speed - middle).max(0) < 0.03 * np.abs(speed).max(0))


# -- examples/filters.py -----------------------------------------------------------------------------------------


def test_the_example_separates_the_errors_of_the_filter():
    q, v, measured = motion()
    trial, state = Trial(measured, np.zeros((90, 1)), H, true=q, velocity=v), filtered()
    states = runpy.run_path(str(FILTERS))["states"]
    noise, smear, none = (np.stack(states(state, trial, part)[1]) for part in ("noise", "smear", "none"))
    _, both = state.states(trial)
    np.testing.assert_allclose(noise + smear - none, np.stack(both), atol=1e-12)
    np.testing.assert_array_equal(none, np.stack([q[1:-1], v[1:-1]]))
    np.testing.assert_allclose((noise - none)[1, 3:-3].std(0), np.array(NOISE) / H / 2, rtol=0.5)


@pytest.mark.long
def test_the_example_learns_and_explains_its_arguments(tmp_path):
    command = [sys.executable, str(FILTERS)]
    tiny = TINY_FLAGS
    done = subprocess.run([*command, "none", "--out", str(tmp_path / "run"), "--quiet", *tiny], timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "run" / "policy.safetensors").exists()
    printed = subprocess.run([*command, "other"], capture_output=True, text=True, timeout=60)
    assert printed.returncode != 0
    assert "noise|smear|none" in printed.stderr
