from __future__ import annotations

import ctypes
import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from exports import (  # noqa: F401
    ANGLES,
    FORMS,
    LIMITS,
    POLICIES,
    STATES,
    difference,
    exported,
    learned,
    motion,
    need,
    small_check,
    written,
)
from vfpilco.common.errors import UserError
from vfpilco.data.trial import unwrap
from vfpilco.exports import check as checking
from vfpilco.exports.compiled import FLAGS, Program, compiler
from vfpilco.exports.exported import Quantity
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.mlp import MLP
from vfpilco.state.base import Signals
from vfpilco.state.memory import Memory
from vfpilco.state.window import VelocityFree
from vfpilco.trials.execute import execute

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SAMPLES = Path(__file__).parent.parent / "samples"


pytestmark = pytest.mark.usefixtures("small_check")


EVERY_KIND = [(how, kind, False) for how in STATES for kind in POLICIES]
FOLLOWERS = [
    ("differences", "linear-rbf", True),
    ("past inputs", "linear-rbf", True),
    ("kalman", "rbf", True),
    ("full state", "mlp", True),
]


# -- agreement ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "kind", "follows"), [*EVERY_KIND, *FOLLOWERS])
def test_every_form_of_export_agrees_with_the_learned_policy(how, kind, follows, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    one.check()
    trials = checking.histories(one, 150)
    for to, target in FORMS.items():
        assert difference(one, target.run(written(one, to, tmp_path / to), trials).inputs, trials) < 1e-12, to


@pytest.mark.parametrize("to", ["c", "onnx"])
@pytest.mark.parametrize(
    ("how", "kind", "follows"), [("low-pass", "rbf", False), ("positions", "mlp", False), *FOLLOWERS]
)
def test_float_agrees_within_its_precision(how, kind, follows, to, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    trials = [trial.astype(np.float32).astype(float) for trial in checking.histories(one, 150)]
    found = FORMS[to].run(written(one, to, tmp_path, "float"), trials).inputs
    assert 1e-10 < difference(one, found, trials) < 1e-4


SLEWED = [
    ("kalman", "linear-rbf", True, 0.2),
    ("full state", "mlp", False, 0.02),
    ("past input", "rbf", False, 0.2),
    ("past inputs", "mlp", True, 0.05),
]


@pytest.mark.parametrize(("how", "kind", "follows", "slew"), SLEWED)
def test_every_form_keeps_the_slew_limit_as_the_learned_policy_does(how, kind, follows, slew, tmp_path):
    one = exported(learned(how, kind, follows=follows, slew=slew))
    one.check()
    trials = [trial.astype(np.float32).astype(float) for trial in checking.histories(one, 300)]
    held = np.concatenate([checking.slew_limited(one, checking.answers(one, trial)) for trial in trials])
    assert np.all((held.mean(axis=0) > 0.02) & (held.mean(axis=0) < 0.98))
    free = exported(LearnedPolicy(one.policy.state, one.policy.policy, one.policy.params, one.reference))
    wanted = [checking.answers(free, trial) for trial in trials]
    assert difference(one, wanted, trials) > 0.1
    for to, target in FORMS.items():
        for precision in target.precisions:
            folder = written(one, to, tmp_path / to / precision, precision)
            allowed = 1e-12 if precision == "double" else 1e-4
            assert difference(one, target.run(folder, trials).inputs, trials) < allowed, (to, precision)


@pytest.mark.parametrize("command", ["gcc", "clang"])
@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize(("how", "kind", "follows"), FOLLOWERS)
def test_c_is_clean_under_sanitizers(how, kind, follows, precision, command, tmp_path):
    one = exported(learned(how, kind, follows=follows, slew=0.3))
    program = Program(written(one, "c", tmp_path, precision), tmp_path, need(command), SANITIZERS)
    trial = checking.histories(one, 40)[0].astype(np.float32).astype(float)
    assert difference(one, program.answers([trial]), [trial]) < 1e-4
    wild = trial.copy()
    wild[::3], wild[1::6], wild[2::6] = np.nan, -np.inf, 1e300
    wild[5::6] = 9.9e8
    assert np.all(np.abs(program.answers([wild])[0]) <= LIMITS)


def test_a_check_reports_what_it_finds(tmp_path):
    one = exported(learned("differences", "rbf"))
    folder, target = written(one, "numpy", tmp_path), FORMS["numpy"]
    report = checking.check(one, target, folder, "double")
    assert report.histories == 400
    assert report.trial_samples == 40
    assert 0 < report.error < 1e-12
    assert 0.3 < report.informative <= report.active <= 1
    source = (folder / "policy.py").read_text()
    (folder / "policy.py").write_text(source.replace("np.tanh(y / LIMITS)", "np.tanh(y / LIMITS + 2e-6)"))
    with pytest.raises(UserError, match=r"differs from the learned policy by 2\.0e-06 of u_max"):
        checking.check(one, target, folder, "double")


WITHOUT_SLEW = {
    "np.clip(u, low, high)": "u",
    "self.applied = u.copy()": "pass",
    "self.applied = np.zeros(len(APPLIED))": "self.applied = getattr(self, 'applied', 0 * LIMITS)",  # not reset
    "self.applied + MOST_CHANGE": "self.applied + 1.01 * MOST_CHANGE",
}


def test_a_check_refuses_a_slew_limit_that_is_missing_or_wrong(tmp_path):
    one = exported(learned("differences", "rbf", slew=0.05))
    folder, target = written(one, "numpy", tmp_path), FORMS["numpy"]
    report = checking.check(one, target, folder, "double")
    assert report.held is not None
    assert 0.02 < report.held < 0.9
    assert report.informative > 0.3
    assert "the slew limit is active" in " ".join(report.sentences())
    source = (folder / "policy.py").read_text()
    for line, wrong in WITHOUT_SLEW.items():
        assert source.count(line) == 1
        (folder / "policy.py").write_text(source.replace(line, wrong))
        with pytest.raises(UserError, match="differs from the learned policy"):
            checking.check(one, target, folder, "double")


def test_a_check_that_never_reaches_the_slew_limit_reports_it(tmp_path):
    one = exported(learned("differences", "rbf", slew=2.0))
    report = checking.check(one, FORMS["numpy"], written(one, "numpy", tmp_path), "double")
    assert report.held == 0
    assert "proves nothing about it" in " ".join(report.sentences())


def test_a_check_on_small_inputs_reports_that_it_proves_little(tmp_path):
    policy = learned("differences", "rbf")
    timid = {**policy.params, "weights": policy.params["weights"] / 1e4}
    one = exported(LearnedPolicy(policy.state, policy.policy, timid))
    report = checking.check(one, FORMS["numpy"], written(one, "numpy", tmp_path), "double")
    assert report.active == 0
    assert "agreement proves little" in " ".join(report.sentences())


# -- promises ----------------------------------------------------------------------------------------------------


class Library:
    """An export in C, loaded into this process; each object has one state."""

    def __init__(self, folder: Path, precision: str = "double", flags: tuple[str, ...] = ()) -> None:
        path = folder / "policy.so"
        if not path.exists():
            command = [*compiler(), *FLAGS, *flags, "-shared", "-fPIC", "-o", path, folder / "policy.c", "-lm"]
            subprocess.run(command, check=True, timeout=100)
        self.code, self.real = ctypes.CDLL(str(path)), ctypes.c_double if precision == "double" else ctypes.c_float
        self.state = ctypes.create_string_buffer(10_000)
        self.valid = None
        self.code.vfpilco_reset(self.state)

    def __call__(self, measured: Any) -> np.ndarray:
        q, u = (self.real * len(measured))(*measured), (self.real * 8)()
        self.valid = self.code.vfpilco_step(self.state, q, u)
        return np.array(u[:])


def test_two_instances_are_independent(tmp_path):
    one = exported(learned("low-pass", "rbf"))
    folder = written(one, "c", tmp_path)
    first, second = Library(folder), Library(folder)
    pairs = [(first(a)[:2], second(b)[:2]) for a, b in zip(motion(0), motion(1), strict=True)]
    found = [np.array(column) for column in zip(*pairs, strict=True)]
    assert difference(one, found, [motion(0), motion(1)]) < 1e-12


@dataclasses.dataclass(frozen=True)
class Continued(VelocityFree):
    """A state that starts with the inputs applied so far."""

    applied: list[np.ndarray] = dataclasses.field(default_factory=list, compare=False)

    def begin(self, q: Any) -> Any:
        past = [*self.applied[::-1], *[np.zeros(2)] * self.m_u][: self.m_u]
        return super().begin(q)._replace(u=np.array(past).reshape(self.m_u, 2))


class Restarting:
    """What an export must do with invalid measurements: a learned policy that is reset after them.

    It still sees the inputs that were applied before.
    """

    def __init__(self, policy: LearnedPolicy) -> None:
        state, self.applied = policy.state, []
        if isinstance(state, VelocityFree):
            fields = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
            state = Continued(**fields, applied=self.applied)
        self.policy = LearnedPolicy(state, policy.policy, policy.params, policy.reference, policy.slew)
        self.last, self.restart, self.sample = None, True, 0

    def __call__(self, measured: np.ndarray) -> np.ndarray:
        bad = not np.all(np.abs(measured) <= 1e9)
        if not bad:
            turning = (*ANGLES, False, False)[: len(measured)]
            self.last = measured if self.last is None else unwrap(measured, self.last, turning)
            if self.restart:
                self.policy.reset()
        self.policy._samples = self.sample
        self.restart, self.sample = bad, self.sample + 1
        self.applied.append(np.zeros(2) if bad else self.policy(self.last))
        return self.applied[-1]


UNSLEWED = [(*follower, 0.0) for follower in [*FOLLOWERS, ("positions", "rbf", False), ("past input", "rbf", False)]]
WITH_SLEW = [("low-pass", "linear-rbf", True, 0.02), ("past inputs", "linear-rbf", True, 0.02)]


@pytest.mark.parametrize(("how", "kind", "follows", "slew"), [*UNSLEWED, *WITH_SLEW])
def test_an_invalid_measurement_gives_the_safe_input_and_restarts_the_memory(how, kind, follows, slew, tmp_path):
    one = exported(learned(how, kind, follows=follows, slew=slew))
    trial = one.trials[-1].copy()
    trial[:, 1] -= 2 + 2 * np.pi * np.round((trial[:, 1] - 2) / (2 * np.pi))
    assert np.abs(np.diff(trial[:7, 1])).max() > np.pi  # It wraps before the first invalid measurement.
    bad = [0, 7, 8, 20, 30]
    trial[bad, [1, 0, 1, 0, 1]] = np.nan, np.inf, -np.inf, 1.1e9, -1e300
    due = np.array(list(map(Restarting(one.policy), trial)))
    assert np.all(due[bad] == 0)
    assert np.all(due[[1, 9, 21, 31]] != 0)
    if slew:  # The safe input is applied at once, and inputs change from there.
        assert np.all(np.abs(due[[6, 19, 29]]).max(axis=0) > 2 * slew * np.array(LIMITS))
        np.testing.assert_allclose(np.abs(due[[9, 21, 31]] / LIMITS), slew)
    for to, target in FORMS.items():
        found = target.run(written(one, to, tmp_path / to), [trial]).inputs[0]
        assert np.all(found[bad] == 0)
        np.testing.assert_allclose(found / LIMITS, due / LIMITS, atol=1e-12, err_msg=to)


@pytest.mark.parametrize("slew", [0.0, 0.2])
@pytest.mark.parametrize("how", ["past input", "past inputs"])
def test_a_policy_that_sees_past_inputs_takes_what_was_really_applied(how, slew, tmp_path):
    one = exported(learned(how, "linear-rbf", slew=slew))
    trial, rng = one.trials[-1], np.random.default_rng(0)
    applied = rng.uniform(-1, 1, (len(trial), 2)) * LIMITS
    due, own = checking.answers(one, trial, applied), checking.answers(one, trial)
    assert np.abs((due - own) / LIMITS).max() > 0.1
    run, module = Library(written(one, "c", tmp_path / "c")), {}
    exec(FORMS["numpy"].files(one, "double")["policy.py"], module)
    policy, rows = module["Policy"](), []
    for measured, u in zip(trial, applied, strict=True):
        rows.append([run(measured)[:2], policy.step(measured)])
        run.code.vfpilco_actual(run.state, (run.real * 2)(*u))
        policy.actual(u)
    for found in np.swapaxes(rows, 0, 1):
        np.testing.assert_allclose(found / LIMITS, due / LIMITS, atol=1e-12)
    run.code.vfpilco_actual(run.state, (run.real * 2)(np.nan, 1e9))  # no input may leave its limits because of this
    policy.actual([np.nan, 1e9])
    np.testing.assert_allclose(run(trial[-1])[:2], policy.step(trial[-1]), atol=1e-12)
    if len(policy.applied) > 1:
        np.testing.assert_array_equal(policy.applied[1], [0, LIMITS[1]])


WITHOUT_PAST = {
    "u[None], self.applied[:-1]": "0 * u[None], self.applied[:-1]",
    "np.zeros((PAST_INPUTS, len(APPLIED)))": "getattr(self, 'applied', np.zeros((PAST_INPUTS, len(APPLIED))))",
    "applied[1, 0]": "applied[0, 0]",
}


def test_a_check_refuses_past_inputs_that_are_missing_or_wrong(tmp_path):
    one = exported(learned("past inputs", "rbf"))
    folder, target = written(one, "numpy", tmp_path), FORMS["numpy"]
    assert 0 < checking.check(one, target, folder, "double").error < 1e-12
    source = (folder / "policy.py").read_text()
    for line, wrong in WITHOUT_PAST.items():
        assert source.count(line) == 1
        (folder / "policy.py").write_text(source.replace(line, wrong))
        with pytest.raises(UserError, match="differs from the learned policy"):
            checking.check(one, target, folder, "double")


class Forgetful(VelocityFree):
    """A state whose policy sees more past inputs than it says that it keeps."""

    def exported_memory(self) -> Memory:
        return dataclasses.replace(super().exported_memory(), past_inputs=self.policy_m_u - 1)


def test_a_memory_with_past_inputs_that_are_not_kept_is_refused():
    policy = learned("past inputs", "rbf")
    state = Forgetful(1, 3, "positions", 2, bound=policy.state.signals)
    with pytest.raises(UserError, match="does not fit the positions and inputs"):
        exported(LearnedPolicy(state, policy.policy, policy.params)).check()


@pytest.mark.parametrize("flags", [(), ("-O3", "-ffast-math")])
@pytest.mark.parametrize("precision", ["double", "float"])
def test_no_input_is_ever_beyond_its_limit(precision, flags, tmp_path):
    limits = (10.0, 0.06981317007977318, 0.1, 1 / 3, 1e-3, np.pi, 7.7, 1e5)
    policy = MLP(3).bind(PolicyInputs((1.0,) * 4, limits))
    params = {name: 50 * np.abs(value) for name, value in policy.init(jax.random.key(0)).items()}
    params["weight_3"] = params["weight_3"] * np.where(np.arange(8) % 2, 1.0, -1.0)
    state = VelocityFree(m_q=1, m_u=0).bind(Signals((False, False), 8))
    inputs = tuple(Quantity(f"u{i}", "N") for i in range(8))
    one = exported(LearnedPolicy(state, policy, params), inputs=inputs)
    one.check()
    run = Library(written(one, "c", tmp_path, precision), precision, flags)
    hit = False
    for q in ([1.0, 1.0], [-1.0, -1.0], [9e8, -9e8], [0.1, 0.3]):
        u = run(q)
        assert run.valid == 1
        assert np.all(np.abs(u) <= limits)
        hit = hit or np.all(np.abs(u) >= 0.9999999 * np.array(limits))
    assert hit
    for q in ([np.nan, 0.0], [0.0, np.inf], [-np.inf, np.nan]):
        assert np.all(run(q) == 0)
        assert run.valid == 0


@pytest.mark.parametrize("precision", ["double", "float"])
def test_under_fast_math_too_no_input_leaves_its_limit_or_changes_too_fast(precision, tmp_path):
    policy = learned("differences", "linear-rbf", slew=0.3)
    policy.params["weights"] = 100 * policy.params["weights"]
    one = exported(LearnedPolicy(policy.state, policy.policy, policy.params, slew=policy.slew))
    run = Library(written(one, "c", tmp_path, precision), precision, ("-O3", "-ffast-math"))
    shares = np.array([run(q)[:2] for q in motion(0)]) / LIMITS
    assert 0.9999 < np.abs(shares).max() <= 1
    assert np.abs(np.diff(shares, axis=0, prepend=np.zeros((1, 2)))).max() == pytest.approx(0.3, rel=1e-6)


def test_inputs_that_would_not_be_finite_are_zero_and_change_from_there(tmp_path):
    policy = learned("differences", "linear-rbf", slew=0.1)
    huge = {**policy.params, "gains": np.full_like(policy.params["gains"], 1e300)}
    one = exported(LearnedPolicy(policy.state, policy.policy, huge, slew=policy.slew))
    trial = np.concatenate([np.full((4, 2), 0.5), [[9e8, 0.5]], np.full((5, 2), 0.5)])
    for to, target in FORMS.items():
        with np.errstate(over="ignore", invalid="ignore"):
            found = target.run(written(one, to, tmp_path / to), [trial]).inputs[0] / LIMITS
        shares = [0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0.1, 0.2, 0.3]  # The overflow stays in the memory for three samples.
        np.testing.assert_allclose(found, np.array(shares)[:, None] * [1, 1], atol=1e-12, err_msg=to)


def test_the_c_policy_swings_the_pole_up(task, tmp_path):
    policy = LearnedPolicy.load(SAMPLES / "policy-format3.safetensors")
    names = {"positions": (Quantity("p", "m"), Quantity("alpha", "rad")), "inputs": (Quantity("force", "N"),)}
    run = Library(written(exported(policy, **names), "c", tmp_path))
    successes = []
    for seed in range(5):
        run.code.vfpilco_reset(run.state)
        trial = execute(task, task.machine.plant(), lambda q: run(q)[:1], seed)
        successes.append(task.evaluate(trial.evaluated).success)
    assert sum(successes) >= 4
