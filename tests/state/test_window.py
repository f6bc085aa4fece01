from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, PriorMean, ZeroMean
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree, Window
from vfpilco.tasks.sensors import GaussianNoise

MEMORIES = [(1, 0), (1, 1), (2, 1), (3, 2), (1, 3)]
ENCODINGS = pytest.mark.parametrize("encoding", ["differences", "positions"])
CARTPOLE = Signals(angles=(False, True), d_u=1)
STEPS = 12


def make_trial(seed: int = 0, angles=(False, True), d_u: int = 1) -> Trial:
    rng = np.random.default_rng(seed)
    q = np.cumsum(rng.normal(size=(STEPS + 1, len(angles))), axis=0)
    return Trial(q, rng.normal(size=(STEPS, d_u)), 0.1)


def training_set(state: VelocityFree, trial: Trial, prior_mean: PriorMean | None = None) -> TrainingSet:
    sensor = GaussianNoise((0.0,) * state.signals.d_q)
    return Dynamics(state, prior_mean or ConstantVelocity(), WhiteNoise(), sensor).training_set(trial)


def expand(q: np.ndarray, angles: tuple[bool, ...]) -> list[float]:
    entries = []
    for value, angle in zip(q, angles, strict=True):
        entries += [np.sin(value), np.cos(value)] if angle else [value]
    return entries


def paper_policy_input(trial: Trial, t: int, m_q: int, angles: tuple[bool, ...], encoding: str) -> list[float]:
    """x*_t by hand: q_t, then Δq_{t-1} … Δq_{t-m_q} (Eq. 7), or q_{t-1} … q_{t-m_q} in the naive form."""
    entries = expand(trial.q[t], angles)
    for i in range(1, m_q + 1):
        last, before = trial.q[t - i + 1], trial.q[t - i]
        entries += list(last - before) if encoding == "differences" else expand(before, angles)
    return entries


def paper_gp_input(trial: Trial, t: int, m_q: int, m_u: int, angles: tuple[bool, ...], encoding: str) -> list[float]:
    """x̃_t by hand: the same, then u_t … u_{t-m_u} (Eq. 4)."""
    entries = paper_policy_input(trial, t, m_q, angles, encoding)
    for i in range(m_u + 1):
        entries += list(trial.u[t - i])
    return entries


@ENCODINGS
@pytest.mark.parametrize(("angles", "d_u"), [((False, True), 1), ((True, False, True), 2)])
@pytest.mark.parametrize(("m_q", "m_u"), MEMORIES)
def test_inputs_match_the_paper(m_q, m_u, angles, d_u, encoding):
    state = VelocityFree(m_q, m_u, encoding).bind(Signals(angles, d_u))
    trial = make_trial(angles=angles, d_u=d_u)
    data = training_set(state, trial)
    times = range(max(m_q, m_u), STEPS)
    gp_rows = [paper_gp_input(trial, t, m_q, m_u, angles, encoding) for t in times]
    policy_rows = [paper_policy_input(trial, t, m_q, angles, encoding) for t in times]
    np.testing.assert_allclose(data.x, gp_rows, rtol=0, atol=1e-14)
    window = state.windows(trial, np.array(times))
    np.testing.assert_allclose(state.policy_input(window), policy_rows, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(data.y, [trial.q[t + 1] - trial.q[t] for t in times])


def test_cartpole_input_written_out():
    state = VelocityFree(m_q=2, m_u=1).bind(CARTPOLE)
    q = np.array([[0.1, 1.0], [0.3, 1.5], [0.6, 2.5], [1.0, 4.0]])
    u = np.array([[5.0], [6.0], [7.0]])
    data = training_set(state, Trial(q, u, 0.1))
    np.testing.assert_allclose(data.x, [[0.6, np.sin(2.5), np.cos(2.5), 0.3, 1.0, 0.2, 0.5, 7.0, 6.0]])
    np.testing.assert_allclose(data.y, [[0.4, 1.5]])
    np.testing.assert_allclose(data.prior, [[0.3, 1.0]])


@ENCODINGS
def test_kinds_name_every_entry(encoding):
    state = VelocityFree(2, 1, encoding).bind(CARTPOLE)
    expanded = ["position", "circle", "circle"]
    past = expanded * 2 if encoding == "positions" else ["rate"] * 4
    assert state.input_kinds() == expanded + past + ["input", "input"]
    assert len(state.input_kinds()) == training_set(state, make_trial()).x.shape[1]


@ENCODINGS
@pytest.mark.parametrize(("m_u", "policy_m_u"), [(1, 0), (1, 1), (3, 2)])
def test_the_policy_sees_past_inputs_after_the_positions(m_u, policy_m_u, encoding):
    angles = (True, False, True)
    state = VelocityFree(2, m_u, encoding, policy_m_u).bind(Signals(angles, 2))
    trial = make_trial(angles=angles, d_u=2)
    times = np.arange(state.longest_memory, STEPS)
    due = []
    for t in times:
        past = [u for i in range(1, policy_m_u + 1) for u in trial.u[t - i]]
        due.append([*paper_policy_input(trial, t, 2, angles, encoding), *past])
    np.testing.assert_allclose(state.policy_input(state.windows(trial, times)), due, rtol=1e-12)
    kinds = state.policy_kinds()
    assert len(kinds) == len(due[0])
    assert kinds[len(kinds) - 2 * policy_m_u :] == ["input"] * (2 * policy_m_u)
    assert kinds.count("input") == 2 * policy_m_u
    at_rest = state.policy_input(state.begin(trial.q[0]))
    np.testing.assert_array_equal(at_rest[len(kinds) - 2 * policy_m_u :], 0)
    assert state.exported_memory().past_inputs == policy_m_u
    assert len(state.exported_memory().entries) == len(kinds)


def test_past_inputs_are_named_only_where_the_policy_sees_them():
    assert repr(VelocityFree()) == "VelocityFree(m_q=2, m_u=1, encoding='differences')"
    assert repr(VelocityFree(m_u=2, policy_m_u=2)).endswith("m_u=2, encoding='differences', policy_m_u=2)")


@pytest.mark.parametrize(("m_q", "m_u"), MEMORIES)
def test_window_begins_at_rest(m_q, m_u):
    state = VelocityFree(m_q, m_u).bind(CARTPOLE)
    q = np.array([[0.3, 2.0], [-0.1, 7.0]])
    window = state.begin(q)
    assert window.q.shape == (2, m_q + 1, 2)
    assert window.u.shape == (2, m_u, 1)
    for i in range(m_q + 1):
        np.testing.assert_array_equal(window.q[:, i], q)
    assert not np.any(window.u)
    still = state.policy_input(window)
    np.testing.assert_allclose(still[:, :3], [[0.3, np.sin(2), np.cos(2)], [-0.1, np.sin(7), np.cos(7)]])
    assert not np.any(still[:, 3:])
    assert not np.any(state.continued(window))


@pytest.mark.parametrize(("m_q", "m_u"), MEMORIES)
def test_pushed_window_matches_the_trial(m_q, m_u):
    state = VelocityFree(m_q, m_u).bind(CARTPOLE)
    trial = make_trial()
    pushed = advanced = state.begin(trial.q[0])
    for t in range(STEPS):
        if t >= state.longest_memory:
            expected = state.windows(trial, np.array([t]))
            np.testing.assert_array_equal(pushed.q, expected.q[0])
            np.testing.assert_array_equal(pushed.u, expected.u[0])
            np.testing.assert_allclose(advanced.q, expected.q[0], rtol=0, atol=1e-12)
            np.testing.assert_array_equal(advanced.u, expected.u[0])
        else:
            past = [trial.q[max(t - i, 0)] for i in range(m_q + 1)]
            np.testing.assert_array_equal(pushed.q, past)
        pushed = state.push(pushed, trial.q[t + 1], trial.u[t])
        advanced = state.advance(advanced, trial.u[t], trial.q[t + 1] - trial.q[t])


@pytest.mark.parametrize(("m_q", "m_u"), MEMORIES)
def test_no_training_row_mixes_two_trials(m_q, m_u):
    state = VelocityFree(m_q, m_u).bind(Signals((False, False), 1))
    first, second = make_trial(0), make_trial(1)
    second = Trial(second.q + 1e6, second.u + 1e6, second.sampling_time)
    parts = [training_set(state, trial) for trial in (first, second)]
    data = TrainingSet.join(parts)
    rows = STEPS - max(m_q, m_u)
    assert [len(part.x) for part in parts] == [rows, rows]
    for i, column in enumerate(data[:3]):
        np.testing.assert_array_equal(column, np.concatenate([parts[0][i], parts[1][i]]))
    kinds = np.array(state.input_kinds())
    assert np.abs(data.x[:rows]).max() < 1e3
    assert data.x[rows:, kinds != "rate"].min() > 1e5
    assert np.abs(data.x[:, kinds == "rate"]).max() < 1e2
    assert np.abs(data.y).max() < 1e2
    assert np.abs(data.prior).max() < 1e2


def test_prior_mean_is_the_last_difference_or_zero():
    trial, state = make_trial(), VelocityFree(2, 1).bind(CARTPOLE)
    moving, still = (training_set(state, trial, prior_mean) for prior_mean in (ConstantVelocity(), ZeroMean()))
    np.testing.assert_array_equal(moving.prior, trial.q[2:-1] - trial.q[1:-2])
    np.testing.assert_array_equal(still.prior, np.zeros((STEPS - 2, 2)))
    np.testing.assert_array_equal(moving.x, still.x)
    np.testing.assert_array_equal(moving.y, still.y)


@ENCODINGS
@pytest.mark.parametrize(("m_q", "m_u"), MEMORIES)
def test_numpy_and_jax_agree_with_any_leading_dimensions(m_q, m_u, encoding):
    state = VelocityFree(m_q, m_u, encoding).bind(Signals((False, True), 2))
    rng = np.random.default_rng(0)
    window = Window(rng.normal(size=(5, 3, m_q + 1, 2)), rng.normal(size=(5, 3, m_u, 2)))
    on_jax = Window(jnp.asarray(window.q), jnp.asarray(window.u))
    q, u = rng.normal(size=(5, 3, 2)), rng.normal(size=(5, 3, 2))

    def everything(window, q, u):
        return [
            state.gp_input(window, u),
            state.policy_input(window),
            state.continued(window),
            *state.begin(q),
            *state.push(window, q, u),
            *state.advance(window, u, q),
        ]

    results = zip(everything(window, q, u), everything(on_jax, jnp.asarray(q), jnp.asarray(u)), strict=True)
    for numpy_array, jax_array in results:
        assert numpy_array.dtype == jax_array.dtype
        assert numpy_array.shape[:2] == (5, 3)
        np.testing.assert_allclose(numpy_array, jax_array, rtol=1e-14, atol=1e-15)
    one = Window(window.q[2, 1], window.u[2, 1])
    np.testing.assert_allclose(state.gp_input(one, u[2, 1]), state.gp_input(window, u)[2, 1], rtol=1e-14)


def test_a_state_that_is_not_bound_to_a_machine_says_so():
    with pytest.raises(UserError, match=r"VelocityFree does not know its machine yet: call bind\("):
        VelocityFree().begin(np.zeros(2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"m_q": 0}, "m_q must be an integer of at least 1, got 0"),
        ({"m_u": -1}, "m_u must be an integer of at least 0, got -1"),
        ({"m_q": 1.5}, "m_q must be an integer"),
        ({"policy_m_u": -1}, "policy_m_u must be an integer of at least 0, got -1"),
        ({"policy_m_u": 2}, "policy_m_u must be at most m_u, 1, got 2: choose a smaller one, or a larger m_u"),
        ({"encoding": "difference"}, "did you mean 'differences'"),
    ],
)
@pytest.mark.usefixtures("as_users_run_it")
def test_impossible_settings_are_rejected(settings, message):
    with pytest.raises(UserError, match=message):
        VelocityFree(**settings)
