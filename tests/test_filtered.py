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
from scipy.signal import butter, filtfilt, lfilter

import vfpilco
from folders import TINY
from vfpilco.controller import LearnedPolicy
from vfpilco.filtered import Filtered, FullState, KalmanSmoother, LowPass, State, kalman, low_pass
from vfpilco.methods import from_description, represent, to_description
from vfpilco.policies import RBFNetwork
from vfpilco.representation import TrainingSet
from vfpilco.settings import Settings
from vfpilco.trial import Trial

FILTERS = Path(__file__).parent.parent / "examples" / "filters.py"
H = 1 / 30
ANGLES = (False, True)
NOISE = (1e-3, 2e-3)


def motion(steps: int = 90, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smooth positions, their velocities, and noisy measurements of the positions."""
    t = H * np.arange(steps + 1)
    q = np.column_stack([0.3 * np.sin(3 * t), 1.5 * np.sin(4 * t + 0.3)])
    v = np.column_stack([0.9 * np.cos(3 * t), 6.0 * np.cos(4 * t + 0.3)])
    return q, v, q + np.array(NOISE) * np.random.default_rng(seed).normal(size=q.shape)


def filtered(online: str = "low-pass", offline: str = "low-pass") -> Filtered:
    filters = low_pass(2, H, 0.5) if online == "low-pass" else kalman(NOISE, H, 20.0)
    smoother = LowPass(0.5) if offline == "low-pass" else KalmanSmoother(NOISE, 20.0)
    return Filtered(ANGLES, 1, H, a=filters.a, b=filters.b, offline=smoother)


def estimates(how: Filtered, measured: np.ndarray) -> State:
    """What the online filter makes of measurements, sample by sample."""
    memory, found = how.begin(measured[0]), []
    for i, q in enumerate(measured):
        memory = how.push(memory, q, np.zeros(1)) if i else memory
        found.append(how.estimate(memory))
    return State(*(np.array(column) for column in zip(*found, strict=True)))


def test_low_pass_is_that_of_scipy_on_backward_differences():
    _, _, measured = motion()
    for cutoff in (0.3, 0.5, 0.8):
        filters = low_pass(2, H, cutoff)
        found = estimates(dataclasses.replace(filtered(), a=filters.a, b=filters.b), measured)
        differences = np.diff(measured, axis=0, prepend=measured[:1]) / H
        np.testing.assert_allclose(found.v, lfilter(*butter(1, cutoff), differences, axis=0), atol=1e-10)
        np.testing.assert_array_equal(found.q, measured)


def test_the_published_low_pass_is_the_mean_of_two_differences():
    filters = low_pass(1, H, 0.5)
    np.testing.assert_allclose(filters.a[0][2], (-0.5 / H, 0.5, 0.0), atol=1e-12)
    np.testing.assert_allclose(filters.b[0], (1.0, 1 / H, 0.5 / H))


def test_kalman_filter_is_a_textbook_one_once_it_has_settled():
    _, _, measured = motion(300)
    found = estimates(filtered("kalman"), measured)
    f, drift = np.array([[1, H], [0, 1]]), (20.0 * H) ** 2 * np.array([[H**2 / 3, H / 2], [H / 2, 1]])
    for j, noise in enumerate(NOISE):
        m, p = np.array([measured[0, j], 0.0]), np.diag([noise**2, 0.0])
        for q in measured[1:, j]:
            m, p = f @ m, f @ p @ f.T + drift
            gain = p[:, 0] / (p[0, 0] + noise**2)
            m, p = m + gain * (q - m[0]), p - np.outer(gain, p[0])
        assert found.q[-1, j] == pytest.approx(m[0], abs=1e-9)
        assert found.v[-1, j] == pytest.approx(m[1], abs=1e-7)


@pytest.mark.parametrize("online", ["low-pass", "kalman"])
def test_a_constant_velocity_is_found_without_error(online):
    q = np.outer(np.arange(200) * H, [0.2, -1.5])
    found = estimates(filtered(online), q)
    np.testing.assert_allclose(found.v[-1], [0.2, -1.5], rtol=1e-6)


def test_low_pass_for_the_model_has_no_lag_and_central_differences():
    _, v, measured = motion()
    q_smooth, v_smooth = LowPass(0.5).smooth(measured, H)
    expected = filtfilt(*butter(2, 0.5), measured, axis=0)
    np.testing.assert_allclose(q_smooth, expected)
    np.testing.assert_allclose(v_smooth[1:-1], (expected[2:] - expected[:-2]) / (2 * H))
    inner = slice(5, -5)
    lag = [np.sum((v_smooth[inner] - np.roll(v, shift, axis=0)[inner]) ** 2) for shift in (-1, 0, 1)]
    assert np.argmin(lag) == 1


def test_looking_back_from_the_end_is_better_than_looking_from_now():
    _, v, measured = motion()
    inner = slice(5, -5)

    def error(found: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean((found - v)[inner] ** 2, axis=0))

    online, smoothed = estimates(filtered("kalman"), measured).v, KalmanSmoother(NOISE, 20.0).smooth(measured, H)[1]
    differences = np.diff(measured, axis=0, prepend=measured[:1]) / H
    assert np.all(error(smoothed) < 0.5 * error(online))
    assert np.all(error(smoothed) < 0.6 * error(differences))


@pytest.mark.parametrize("offline", ["low-pass", "kalman"])
def test_training_pairs_are_velocity_changes_between_neighbouring_smoothed_states(offline):
    _, _, measured = motion()
    u = np.arange(90.0)[:, None]
    how = filtered(offline=offline)
    data = how.training_set(Trial(measured, u, H))
    q_smooth, v_smooth = how.offline.smooth(measured, H)
    assert len(data.x) == how.rows(90) == 88
    np.testing.assert_allclose(data.y, np.diff(v_smooth, axis=0)[1:-1])
    np.testing.assert_array_equal(data.x[:, -1], u[1:89, 0])
    np.testing.assert_allclose(data.x[:, 0], q_smooth[1:89, 0])
    np.testing.assert_allclose(data.x[:, 1], np.sin(q_smooth[1:89, 1]))
    assert data.x.shape[1] == len(how.input_kinds())
    assert not np.any(data.prior)


@pytest.mark.parametrize("offline", ["low-pass", "kalman"])
def test_the_least_noise_of_the_model_is_what_the_filter_leaves_of_the_sensors(offline):
    how = filtered(offline=offline)
    noise = np.array(NOISE) * np.random.default_rng(0).normal(size=(20_001, 2))
    left = how.training_set(Trial(noise, np.zeros((20_000, 1)), H)).y
    np.testing.assert_allclose(how.least_noise(NOISE), left.std(0), rtol=0.03)


def test_positions_integrate_a_velocity_that_changes_linearly():
    how = FullState(ANGLES, 1, H)
    state = State(np.array([0.1, 1.0]), np.array([2.0, -1.0]))
    acceleration = np.array([3.0, 5.0])
    moved = how.advance(state, np.zeros(1), acceleration * H)
    np.testing.assert_allclose(moved.q, state.q + state.v * H + acceleration * H**2 / 2)
    np.testing.assert_allclose(moved.v, state.v + acceleration * H)


@pytest.mark.parametrize("how", [filtered(), filtered("kalman"), FullState(ANGLES, 1, H)])
def test_numpy_on_the_plant_and_jax_in_the_particles_do_the_same(how):
    rng = np.random.default_rng(0)
    q, e, u = rng.normal(size=(3, 5, 2))
    u = u[:, :1]
    seen = []
    for xp in (np, jnp):
        state = how.advance(how.rest(xp.asarray(q)), xp.asarray(u), xp.asarray(e))
        memory = how.begin(how.measured(state, xp.asarray(e)))
        memory = how.push(memory, how.measured(state, 2 * xp.asarray(e)), xp.asarray(u))
        seen.append((how.gp_input(state, xp.asarray(u)), how.policy_input(memory), how.positions(state)))
    for ours, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    "settings", [{"method": "vf"}, {"method": "pms"}, {"method": "pms", "online": "kalman"}, {"method": "full-state"}]
)
def test_a_policy_that_was_saved_gives_the_same_inputs(tmp_path, settings):
    how = represent(vfpilco.task("cartpole"), Settings(**settings))
    entries = [kind for kind in how.input_kinds() if kind != "input"]
    network = RBFNetwork((1.0,) * len(entries), tuple(kind == "circle" for kind in entries), (10.0,), 12)

    policy = LearnedPolicy(how, network, network.init(jax.random.key(0)))
    policy.save(tmp_path / "policy.safetensors")
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors")
    for measured in np.random.default_rng(0).normal(size=(6, policy.measures)):
        np.testing.assert_array_equal(policy(measured), loaded(measured))
    assert to_description(from_description(to_description(how))) == to_description(how)


SMALL = {"particles": 20, "basis_functions": 10, "steps": 4, "inducing": 32}


@pytest.mark.parametrize("method", ["pms", "full-state"])
def test_baselines_go_through_the_same_trial_loop_from_the_same_exploration(method):
    ours = vfpilco.learn(vfpilco.task("cartpole"), seed=3, trials=1, **SMALL)
    theirs = vfpilco.learn(vfpilco.task("cartpole"), seed=3, trials=1, method=method, **SMALL)
    np.testing.assert_array_equal(ours.trials[0].q, theirs.trials[0].q)
    np.testing.assert_array_equal(ours.trials[0].u, theirs.trials[0].u)
    assert theirs.rows[1]["kind"] == "policy"
    assert np.isfinite(theirs.rows[1]["cost"])


def test_the_true_state_is_asked_of_a_plant_that_knows_it():
    task = vfpilco.task("cartpole")

    class Blind:
        def reset(self, seed):
            return np.zeros(2)

        def step(self, u):
            return np.zeros(2)

        def stop(self):
            pass

    with pytest.raises(vfpilco.UserError, match=r"does not tell its true state .* choose --method vf or pms"):
        vfpilco.learn(dataclasses.replace(task, plant=Blind), trials=1, method="full-state", **SMALL)


def test_the_true_state_is_what_an_oracle_learns_from(task, explore):
    trial = explore(0)
    data = represent(task, Settings(method="full-state")).training_set(trial)
    assert isinstance(data, TrainingSet)
    assert len(data.x) == 90
    np.testing.assert_array_equal(data.x[:, 3:5], trial.velocity[:-1])
    np.testing.assert_allclose(data.y, np.diff(trial.velocity, axis=0))
    speed = np.diff(trial.true, axis=0) / H
    middle = (trial.velocity[1:] + trial.velocity[:-1]) / 2
    assert np.all(np.abs(speed - middle).max(0) < 0.03 * np.abs(speed).max(0))


# -- examples/filters.py -----------------------------------------------------------------------------------------


def test_the_example_takes_the_filters_errors_apart():
    q, v, measured = motion()
    trial, how = Trial(measured, np.zeros((90, 1)), H, true=q, velocity=v), filtered()
    states = runpy.run_path(str(FILTERS))["states"]
    noise, smear, none = (np.stack(states(how, trial, part)[1]) for part in ("noise", "smear", "none"))
    _, whole = how.states(trial)
    np.testing.assert_allclose(noise + smear - none, np.stack(whole), atol=1e-12)
    np.testing.assert_array_equal(none, np.stack([q[1:-1], v[1:-1]]))
    np.testing.assert_allclose((noise - none)[1, 3:-3].std(0), np.array(NOISE) / H / 2, rtol=0.5)


def test_the_example_learns_and_says_what_it_may_be_asked(tmp_path):
    command = [sys.executable, str(FILTERS)]
    done = subprocess.run([*command, "none", "--out", str(tmp_path / "run"), "--quiet", *TINY], timeout=120)
    assert done.returncode == 0
    assert (tmp_path / "run" / "policy.safetensors").exists()
    said = subprocess.run([*command, "other"], capture_output=True, text=True, timeout=60)
    assert said.returncode != 0
    assert "noise|smear|none" in said.stderr
