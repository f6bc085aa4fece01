from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.data.trial import Trial
from vfpilco.policy.base import BoundPolicy, PolicyInputs
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.limits import Slew
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF, PhysicalRBF
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree

STATE = VelocityFree(m_q=2, m_u=1).bind(Signals(angles=(False, True), d_u=2))
SCALE = (1.0, 1.0, 1.0, 0.03, 0.3, 0.04, 0.2)
CIRCLE = (False, True, True, False, False, False, False)
LIMITS = (10.0, 0.5)
INPUTS = PolicyInputs(SCALE, LIMITS, CIRCLE)
NETWORK = RBF(15).bind(INPUTS)
LINEAR = LinearRBF(15).bind(INPUTS)
NEURAL = MLP(12).bind(INPUTS)
POLICIES = pytest.mark.parametrize("policy", [NETWORK, LINEAR, NEURAL], ids=repr)


def params_of(policy, seed: int = 0) -> dict[str, np.ndarray]:
    """Initial parameters, shifted so that none of them is trivial."""
    rng = np.random.default_rng(seed)
    drawn = policy.init(jax.random.key(seed))
    return {name: value + 0.3 * rng.normal(size=np.shape(value)) for name, value in drawn.items()}


def inputs(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, len(SCALE))) * SCALE


def slow_rbf(params: dict, x: np.ndarray, keep: np.ndarray | None = None) -> np.ndarray:
    """Eq. 6 in loops, with the negative exponent of the erratum."""
    u = np.zeros((len(x), len(LIMITS)))
    for m, j in np.ndindex(u.shape):
        total = 0.0
        for i, center in enumerate(params["centers"]):
            distance = 0.0
            for d, unit in enumerate(SCALE):
                distance += ((x[m, d] / unit - center[d]) / np.exp(params["log_lengthscales"][d])) ** 2
            total += params["weights"][i, j] * np.exp(-distance) * (1 if keep is None else keep[m, i])
        u[m, j] = LIMITS[j] * np.tanh(total / LIMITS[j])
    return u


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("drop", [False, True])
def test_rbf_network_matches_the_papers_formula(xp, drop):
    params, x = params_of(NETWORK), inputs(6)
    params["log_lengthscales"] = params["log_lengthscales"] + 0.7
    keep = np.random.default_rng(0).choice([0.0, 4 / 3], size=(6, 15)) if drop else None
    expected = slow_rbf(params, x, keep)
    assert np.abs(expected).max() > 0.05
    params = {name: xp.asarray(value) for name, value in params.items()}
    got = NETWORK(params, xp.asarray(x), keep if keep is None else xp.asarray(keep))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


def test_linear_rbf_network_adds_linear_feedback():
    params, x = params_of(LINEAR), inputs(6)
    found = np.arctanh(LINEAR(params, x) / LIMITS) - np.arctanh(slow_rbf(params, x) / LIMITS)
    np.testing.assert_allclose(found * LIMITS, (x / SCALE) @ params["gains"], rtol=1e-8)
    far = 1e3 * x  # where no basis function reaches
    assert np.all(np.abs(NETWORK(params, far)) < 1e-9)
    assert np.all(np.abs(LINEAR(params, far)) > 0.1 * np.array(LIMITS))


def test_linear_rbf_network_starts_wider_with_more_inputs():
    wide = LinearRBF().bind(PolicyInputs((1.0,) * 32, LIMITS, (False,) * 32))
    few, many = (policy.init(jax.random.key(0)) for policy in (LINEAR, wide))
    np.testing.assert_array_equal(few["log_lengthscales"], 0)
    np.testing.assert_allclose(np.exp(many["log_lengthscales"]), 2)
    for params in (few, many):
        np.testing.assert_array_equal(params["gains"], 0)


def test_neural_network_matches_its_formula():
    p, x = params_of(NEURAL), inputs(6)
    keep = np.random.default_rng(0).choice([0.0, 2.0], size=(6, 12))
    hidden = np.tanh(np.einsum("md,dh->mh", x / np.array(SCALE), p["weight_1"]) + p["bias_1"])
    hidden = np.tanh(np.einsum("mh,hk->mk", hidden, p["weight_2"]) + p["bias_2"])
    for mask in (None, keep):
        shown = hidden if mask is None else hidden * mask
        expected = np.array(LIMITS) * np.tanh(np.einsum("mh,hu->mu", shown, p["weight_3"]) + p["bias_3"])
        np.testing.assert_allclose(NEURAL(p, x, mask), expected, rtol=1e-12)


@POLICIES
def test_numpy_and_jax_agree_with_any_leading_dimensions(policy):
    params, x = params_of(policy), inputs(6)
    on_jax = policy({k: jnp.asarray(v) for k, v in params.items()}, jnp.asarray(x))
    assert on_jax.shape == (6, 2)
    np.testing.assert_allclose(on_jax, policy(params, x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(policy(params, x.reshape(2, 3, -1)).reshape(6, 2), policy(params, x), rtol=1e-12)
    np.testing.assert_allclose(policy(params, x[4]), policy(params, x)[4], rtol=1e-12)


@POLICIES
def test_inputs_stay_within_their_limits_and_come_close_to_them(policy):
    params = {name: 100 * value if "weight" in name else value for name, value in params_of(policy).items()}
    u = policy(params, inputs(200))
    assert np.all(np.abs(u) <= LIMITS)
    assert np.all(np.abs(u).max(0) > 0.99 * np.array(LIMITS))


def test_derivatives_with_dropout_match_the_plain_formula():
    params, x = {k: jnp.asarray(v) for k, v in params_of(NETWORK).items()}, jnp.asarray(inputs(6))
    keep = jnp.asarray(np.random.default_rng(0).choice([0.0, 4 / 3], size=(6, 15)))
    tilt = jnp.asarray(np.random.default_rng(1).normal(size=(6, 2)))

    def plain(params, x):
        gaps = (x[:, None] / jnp.array(SCALE) - params["centers"]) * jnp.exp(-params["log_lengthscales"])
        basis = jnp.exp(-(gaps**2).sum(-1)) * keep
        limits = jnp.array(LIMITS)
        return (tilt * limits * jnp.tanh(basis @ params["weights"] / limits)).sum()

    expected = jax.jit(jax.grad(plain, argnums=(0, 1)))(params, x)
    ours = jax.jit(jax.grad(lambda params, x: (tilt * NETWORK(params, x, keep)).sum(), argnums=(0, 1)))(params, x)
    assert jax.tree.structure(ours) == jax.tree.structure(expected)
    for got, wanted in zip(jax.tree.leaves(ours), jax.tree.leaves(expected), strict=True):
        assert np.abs(wanted).max() > 1e-3
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10)


def test_rbf_network_starts_as_the_authors_do():
    policy = RBF(500).bind(INPUTS)
    params = policy.init(jax.random.key(0))
    np.testing.assert_allclose(params["centers"][:, 1] ** 2 + params["centers"][:, 2] ** 2, 1)  # sine and cosine
    assert np.all(np.abs(params["weights"]) <= np.array(LIMITS) / 2)
    np.testing.assert_allclose(params["weights"].std(0), np.array(LIMITS) / np.sqrt(12), rtol=0.1)
    np.testing.assert_array_equal(params["log_lengthscales"], np.zeros(len(SCALE)))
    narrow = RBF(500).bind(PolicyInputs(SCALE, LIMITS, CIRCLE, turns=((0.5, 1.0),))).init(jax.random.key(0))
    angle = np.arctan2(narrow["centers"][:, 1], narrow["centers"][:, 2])
    assert 0.5 <= angle.min() < 0.52
    assert 0.98 < angle.max() <= 1.0
    again, other = policy.init(jax.random.key(0)), policy.init(jax.random.key(1))
    np.testing.assert_array_equal(again["centers"], params["centers"])
    assert np.all(other["weights"] != params["weights"])


@POLICIES
def test_dropout_keeps_the_expectation(policy):
    units = 12 if policy is NEURAL else 15
    for rate in (0.25, 0.6):
        mask = np.asarray(policy.dropout(jax.random.key(3), 4000, rate, "float32"))
        assert mask.shape == (4000, units)
        assert mask.dtype == np.float32
        assert np.mean(mask == 0) == pytest.approx(rate, abs=0.01)
        assert np.mean(mask) == pytest.approx(1, abs=0.02)
        np.testing.assert_allclose(np.unique(mask), [0, 1 / (1 - rate)], rtol=1e-6)
    assert np.all(np.asarray(policy.dropout(jax.random.key(3), 50, 0.0, "float64")) == 1)


# -- on the machine ----------------------------------------------------------------------------------------------


def turning(steps: int = 30) -> np.ndarray:
    """Positions with a pole that turns several times, back and forth."""
    t = np.arange(steps + 1) / steps
    return np.column_stack([np.sin(3 * t), 1.5 + 20 * np.sin(np.pi * t)])


@POLICIES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_saved_policy_is_loaded_to_the_bit(policy, dtype, tmp_path):
    params = {name: value.astype(dtype) for name, value in params_of(policy).items()}
    learned = LearnedPolicy(STATE, policy, params)
    learned.save(tmp_path / "policy.safetensors")
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors")
    assert loaded.state == STATE
    assert loaded.policy == policy
    assert loaded.params.keys() == params.keys()
    for name, value in params.items():
        assert loaded.params[name].dtype == dtype
        np.testing.assert_array_equal(loaded.params[name], value)
    for q in turning():
        np.testing.assert_array_equal(loaded(q), learned(q))


def test_a_damaged_or_missing_policy_file_is_rejected(tmp_path):
    with pytest.raises(UserError, match="no policy file"):
        LearnedPolicy.load(tmp_path / "none.safetensors")
    file = tmp_path / "policy.safetensors"
    LearnedPolicy(STATE, NETWORK, params_of(NETWORK)).save(file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(UserError, match="damaged"):
        LearnedPolicy.load(file)


@POLICIES
def test_learned_policy_keeps_its_own_window(policy):
    params, q = params_of(policy), turning()
    learned = LearnedPolicy(STATE, policy, params)
    u = np.array([learned(sample) for sample in q])
    t = np.arange(STATE.longest_memory, len(q) - 1)
    window = STATE.windows(Trial(q, u[:-1], 0.1), t)
    np.testing.assert_allclose(u[t], policy(params, STATE.policy_input(window)), rtol=1e-12)
    np.testing.assert_allclose(u[0], policy(params, STATE.policy_input(STATE.begin(q[0]))), rtol=1e-12)
    learned.reset()
    np.testing.assert_array_equal(learned(q[0]), u[0])


@POLICIES
def test_wrapped_angles_give_the_same_inputs_as_unwrapped_ones(policy):
    q = turning()
    wrapped = q.copy()
    wrapped[:, 1] = np.mod(q[:, 1] + np.pi, 2 * np.pi) - np.pi
    assert np.abs(np.diff(wrapped[:, 1])).max() > np.pi  # there are jumps to correct
    params = params_of(policy)
    plain, corrected = (LearnedPolicy(STATE, policy, params) for _ in range(2))
    u = np.array([plain(sample) for sample in q])
    assert np.ptp(u[:, 0]) > 0.1
    np.testing.assert_allclose([corrected(sample) for sample in wrapped], u, rtol=1e-8, atol=1e-8)


def test_a_jump_of_a_position_that_is_not_an_angle_is_not_unwrapped():
    learned = LearnedPolicy(STATE, NEURAL, params_of(NEURAL))
    learned(np.array([0.0, 0.0]))
    near = learned(np.array([0.1, 0.0]))
    learned.reset()
    learned(np.array([0.0, 0.0]))
    assert np.all(learned(np.array([0.1 + 2 * np.pi, 0.0])) != near)


def test_a_slew_limit_and_a_reference_are_saved_with_the_policy(tmp_path):
    inputs = PolicyInputs((*SCALE, 0.5, 0.5), LIMITS, (*CIRCLE, False, False))
    policy = RBF(15).bind(inputs)
    reference = np.random.default_rng(0).normal(size=(8, 2))
    learned = LearnedPolicy(STATE, policy, params_of(policy), reference, Slew((0.1, 0.02)))
    learned.save(tmp_path / "policy.safetensors")
    loaded = LearnedPolicy.load(tmp_path / "policy.safetensors")
    assert loaded.slew == learned.slew
    np.testing.assert_array_equal(loaded.reference, reference)
    u = np.array([learned(q) for q in turning()])
    np.testing.assert_array_equal([loaded(q) for q in turning()], u)
    assert np.all(np.abs(np.diff(u, axis=0, prepend=0)) <= np.array([0.1, 0.02]) + 1e-12)
    assert "reference" not in loaded.params


# -- past inputs -------------------------------------------------------------------------------------------------

SEEING = VelocityFree(m_q=2, m_u=3, policy_m_u=2).bind(Signals(angles=(False, True), d_u=2))
FED_BACK = LinearRBF(15).bind(PolicyInputs((*SCALE, 5.0, 0.25, 5.0, 0.25), LIMITS, (*CIRCLE, *(False,) * 4)))


def seeing(slew: Slew | None = None) -> LearnedPolicy:
    """A policy that sees two past inputs."""
    params = params_of(FED_BACK)
    params["gains"] = 0.3 * np.random.default_rng(3).normal(size=params["gains"].shape) * LIMITS
    return LearnedPolicy(SEEING, FED_BACK, params, slew=slew)


def by_hand(learned: LearnedPolicy, q: np.ndarray, applied: np.ndarray) -> np.ndarray:
    """The inputs of a policy that sees two past inputs, from what was applied; without a slew limit."""
    q, u = np.concatenate([q[:1], q[:1], q]), np.concatenate([np.zeros((2, 2)), applied])
    rows = []
    for t in range(2, len(q)):
        x = [q[t, 0], np.sin(q[t, 1]), np.cos(q[t, 1]), *(q[t] - q[t - 1]), *(q[t - 1] - q[t - 2])]
        rows.append(learned.policy(learned.params, np.array([*x, *u[t - 1], *u[t - 2]])))
    return np.array(rows)


@pytest.mark.parametrize("slew", [None, Slew((2.0, 0.05))])
def test_a_policy_sees_the_inputs_that_it_returned(slew):
    learned, q = seeing(slew), turning()
    u = np.array([learned(sample) for sample in q])
    due = by_hand(learned, q, u)
    if slew is not None:
        before = np.concatenate([np.zeros((1, 2)), u[:-1]])
        held = np.clip(due, before - slew.most, before + slew.most)
        assert np.any(held != due)
        assert np.any(held == due)
        due = held
    np.testing.assert_allclose(u, due, rtol=1e-10)
    assert np.abs(by_hand(learned, q, np.zeros_like(u)) - u).max() > 0.1
    learned.reset()
    np.testing.assert_array_equal([learned(sample) for sample in q], u)


def test_a_policy_sees_what_was_applied_instead_if_it_is_passed():
    learned, q = seeing(), turning()
    applied = np.random.default_rng(0).uniform(-1, 1, (len(q), 2)) * LIMITS
    found = []
    for sample, u in zip(q, applied, strict=True):
        found.append(learned(sample))
        learned.actual(u)
    np.testing.assert_allclose(found, by_hand(learned, q, applied), rtol=1e-10)
    np.testing.assert_array_equal(learned.replay(q, applied), found)
    own = learned.replay(q)
    np.testing.assert_allclose(own, by_hand(learned, q, own), rtol=1e-10)
    np.testing.assert_array_equal(learned.replay(q, np.full_like(applied, np.nan)), own)
    for wrong in ([1.0], [np.nan, 0.0]):
        with pytest.raises(UserError, match="2 finite inputs were expected"):
            learned.actual(wrong)


def test_inputs_after_histories_follow_from_the_inputs_between_them():
    learned, q = seeing(), turning()[:7]
    applied = np.random.default_rng(0).uniform(-1, 1, (len(q), 2)) * LIMITS
    (found,) = learned.after(q[None], applied=applied[:-1])
    np.testing.assert_allclose(found, learned.replay(q, applied)[-1], rtol=1e-10)
    (unmoved,) = learned.after(q[None])
    np.testing.assert_allclose(unmoved, by_hand(learned, q, np.zeros_like(applied))[-1], rtol=1e-10)


def test_a_policy_that_sees_past_inputs_is_saved_and_loaded(tmp_path):
    learned, file = seeing(Slew((2.0, 0.05))), tmp_path / "policy.safetensors"
    learned.save(file)
    loaded = LearnedPolicy.load(file)
    assert loaded.state == SEEING
    assert loaded.sees_inputs
    np.testing.assert_array_equal([loaded(q) for q in turning()], [learned(q) for q in turning()])
    LearnedPolicy(STATE, NETWORK, params_of(NETWORK)).save(file)
    assert b"policy_m_u" not in file.read_bytes()  # as before there were any, so that older versions read it
    assert not LearnedPolicy.load(file).sees_inputs


# -- policies of a user ------------------------------------------------------------------------------------------


class Proportional(BoundPolicy):
    """Nothing but what a policy needs: u = u_max tanh( K x* )."""

    def init(self, key):
        return {"gains": np.zeros((len(self.inputs.scale), len(self.inputs.limits)))}

    def __call__(self, params, x, keep=None):
        xp = x.__array_namespace__()
        return xp.asarray(self.inputs.limits, dtype=x.dtype) * xp.tanh(x @ params["gains"])


def test_a_users_policy_can_be_saved_and_is_loaded_with_its_class(tmp_path):
    policy, file = Proportional().bind(INPUTS), tmp_path / "policy.safetensors"
    learned = LearnedPolicy(STATE, policy, params_of(policy))
    learned.save(file)
    with pytest.raises(UserError, match="'Proportional' is not a component of vfpilco: use the task file"):
        LearnedPolicy.load(file)
    loaded = LearnedPolicy.load(file, Proportional())
    for q in turning():
        np.testing.assert_array_equal(loaded(q), learned(q))
    assert policy.dropout(jax.random.key(0), 4, 0.5, "float32") is None
    rates = policy.learning_rates(learned.params, np.array(LIMITS), None)
    np.testing.assert_array_equal(rates["gains"], np.ones((7, 2)))
    with pytest.raises(UserError, match="class Proportional cannot be exported: give the class a method `layers`"):
        policy.layers(learned.params)


def test_a_policy_that_is_not_bound_to_a_machine_says_so():
    with pytest.raises(UserError, match=r"RBF does not know its inputs yet: call bind\("):
        RBF(10).init(jax.random.key(0))


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("make", [RBF, LinearRBF, MLP])
@pytest.mark.parametrize("size", [0, -3, 2.5, "many", True])
def test_a_policy_of_impossible_size_is_rejected(make, size):
    with pytest.raises(UserError, match=f"must be an integer of at least 1, got {size!r}"):
        make(size)


def test_a_policy_in_physical_units_ignores_those_of_the_exploration():
    policy = PhysicalRBF(400).bind(INPUTS)
    params = policy.init(jax.random.key(0))
    free = params["centers"][:, [0, 3, 4, 5, 6]]
    assert 3.0 < np.abs(free).max() < np.pi
    np.testing.assert_allclose(np.hypot(*params["centers"][:, 1:3].T), 1)
    plain = RBF(400).bind(PolicyInputs((1.0,) * len(SCALE), LIMITS, CIRCLE))
    x = inputs(6)
    np.testing.assert_array_equal(policy(params, x), plain(params, x))
    assert not np.allclose(policy(params, x), RBF(400).bind(INPUTS)(params, x))
    (basis,) = policy.layers(params)[0]
    np.testing.assert_array_equal(basis.scale, 1)
