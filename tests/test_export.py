from __future__ import annotations

import ctypes
import dataclasses
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from exports import ANGLES, LIMITS, REPRESENTATIONS, exported, learned, motion, need, written
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.execute import execute
from vfpilco.export import check as checking
from vfpilco.export.compiled import FLAGS, Program, compiler
from vfpilco.export.described import Exported, Quantity
from vfpilco.export.readme import readme
from vfpilco.export.targets import TARGETS
from vfpilco.export.text import inward, plain
from vfpilco.history import VelocityFree
from vfpilco.policies import KINDS, NeuralNetwork
from vfpilco.trial import unwrap

SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HOSTILE = '"""\'*/ `x` %s\\ \n```\n??/ $(task) ${q} | # é \ud800 \u202e "); system("rm'
DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def c_compiler():
    need("cc")


@pytest.fixture(autouse=True)
def fewer_histories(monkeypatch):
    """A check of 10,000 takes seconds; one of the whole size is in the tests of the command line."""
    monkeypatch.setattr(checking, "HISTORIES", 400)


def difference(one: Exported, found: list[np.ndarray], trials: list[np.ndarray]) -> float:
    """The largest difference from the learned policy, as a share of u_max; what it asks for must not be trivial."""
    due = np.concatenate([checking.answers(one, trial) for trial in trials]) / LIMITS
    assert np.mean(np.any((np.abs(due) > 0.05) & (np.abs(due) < 0.95), axis=1)) > 0.3
    return float(np.abs(np.concatenate(found) / LIMITS - due).max())


EVERY_KIND = [(how, kind, False) for how in REPRESENTATIONS for kind in KINDS]
FOLLOWERS = [("differences", "linear-rbf", True), ("kalman", "rbf", True), ("full state", "mlp", True)]


# -- agreement ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "kind", "follows"), [*EVERY_KIND, *FOLLOWERS])
def test_every_form_of_export_agrees_with_the_learned_policy(how, kind, follows, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    one.check()
    trials = checking.histories(one, 150)
    for to, target in TARGETS.items():
        assert difference(one, target.run(written(one, to, tmp_path / to), trials).inputs, trials) < 1e-12, to


@pytest.mark.parametrize("to", ["c", "onnx"])
@pytest.mark.parametrize(("how", "kind", "follows"), [("low-pass", "rbf", False), ("naive", "mlp", False), *FOLLOWERS])
def test_float_agrees_within_its_precision(how, kind, follows, to, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    trials = [trial.astype(np.float32).astype(float) for trial in checking.histories(one, 150)]
    found = TARGETS[to].run(written(one, to, tmp_path, "float"), trials).inputs
    assert 1e-10 < difference(one, found, trials) < 1e-4


@pytest.mark.parametrize("command", ["gcc", "clang"])
@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize(("how", "kind", "follows"), FOLLOWERS)
def test_c_is_clean_under_sanitizers(how, kind, follows, precision, command, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    program = Program(written(one, "c", tmp_path, precision), tmp_path, need(command), SANITIZERS)
    trial = checking.histories(one, 40)[0].astype(np.float32).astype(float)
    assert difference(one, program.answers([trial]), [trial]) < 1e-4
    wild = trial.copy()
    wild[::3], wild[1::6], wild[2::6] = np.nan, -np.inf, 1e300
    wild[5::6] = 9.9e8
    assert np.all(np.abs(program.answers([wild])[0]) <= LIMITS)


def test_the_checks_own_report_is_what_was_found(tmp_path):
    one = exported(learned("differences", "rbf"))
    folder, target = written(one, "numpy", tmp_path), TARGETS["numpy"]
    report = checking.check(one, target, folder, "double")
    assert report.histories == 400
    assert report.trial_samples == 40
    assert 0 < report.error < 1e-12
    assert 0.3 < report.telling <= report.active <= 1
    source = (folder / "policy.py").read_text()
    (folder / "policy.py").write_text(source.replace("np.tanh(y / LIMITS)", "np.tanh(y / LIMITS + 2e-6)"))
    with pytest.raises(UserError, match=r"differs from the learned policy by 2\.0e-06 of u_max"):
        checking.check(one, target, folder, "double")


def test_a_check_on_small_inputs_says_that_it_proves_little(tmp_path):
    policy = learned("differences", "rbf")
    timid = {**policy.params, "weights": policy.params["weights"] / 1e4}
    one = exported(LearnedPolicy(policy.representation, policy.policy, timid))
    report = checking.check(one, TARGETS["numpy"], written(one, "numpy", tmp_path), "double")
    assert report.active == 0
    assert "agreement proves little" in " ".join(report.sentences())


# -- promises ----------------------------------------------------------------------------------------------------


class Library:
    """An export in C, loaded into this process; each holds one state."""

    def __init__(self, folder: Path, precision: str = "double", flags: tuple[str, ...] = ()) -> None:
        path = folder / "policy.so"
        if not path.exists():
            command = [*compiler(), *FLAGS, *flags, "-shared", "-fPIC", "-o", path, folder / "policy.c", "-lm"]
            subprocess.run(command, check=True, timeout=100)
        self.code, self.real = ctypes.CDLL(str(path)), ctypes.c_double if precision == "double" else ctypes.c_float
        self.state = ctypes.create_string_buffer(10_000)
        self.followed = None
        self.code.vfpilco_reset(self.state)

    def __call__(self, measured: Any) -> np.ndarray:
        q, u = (self.real * len(measured))(*measured), (self.real * 8)()
        self.followed = self.code.vfpilco_step(self.state, q, u)
        return np.array(u[:])


def test_two_instances_do_not_disturb_each_other(tmp_path):
    one = exported(learned("low-pass", "rbf"))
    folder = written(one, "c", tmp_path)
    first, second = Library(folder), Library(folder)
    pairs = [(first(a)[:2], second(b)[:2]) for a, b in zip(motion(0), motion(1), strict=True)]
    found = [np.array(column) for column in zip(*pairs, strict=True)]
    assert difference(one, found, [motion(0), motion(1)]) < 1e-12


class Beginning:
    """What an export has to do with bad measurements, by a learned policy that is begun anew after them."""

    def __init__(self, policy: LearnedPolicy) -> None:
        self.policy, self.last, self.anew, self.sample = policy, None, True, 0

    def __call__(self, measured: np.ndarray) -> np.ndarray:
        bad = not np.all(np.abs(measured) <= 1e9)
        if not bad:
            turning = (*ANGLES, False, False)[: len(measured)]
            self.last = measured if self.last is None else unwrap(measured, self.last, turning)
            if self.anew:
                self.policy.reset()
        self.policy._samples = self.sample
        self.anew, self.sample = bad, self.sample + 1
        return np.zeros(2) if bad else self.policy(self.last)


@pytest.mark.parametrize(("how", "kind", "follows"), [*FOLLOWERS, ("naive", "rbf", False)])
def test_what_is_no_measurement_gives_the_safe_input_and_a_new_beginning(how, kind, follows, tmp_path):
    one = exported(learned(how, kind, follows=follows))
    trial = one.trials[-1].copy()
    trial[:, 1] -= 2 + 2 * np.pi * np.round((trial[:, 1] - 2) / (2 * np.pi))
    assert np.abs(np.diff(trial[:7, 1])).max() > np.pi  # It wraps around before the first bad measurement.
    bad = [0, 7, 8, 20, 30]
    trial[bad, [1, 0, 1, 0, 1]] = np.nan, np.inf, -np.inf, 1.1e9, -1e300
    due = np.array(list(map(Beginning(one.policy), trial)))
    assert np.all(due[bad] == 0)
    assert np.all(due[[1, 9, 21, 31]] != 0)
    for to, target in TARGETS.items():
        found = target.run(written(one, to, tmp_path / to), [trial]).inputs[0]
        assert np.all(found[bad] == 0)
        np.testing.assert_allclose(found / LIMITS, due / LIMITS, atol=1e-12, err_msg=to)


@pytest.mark.parametrize("flags", [(), ("-O3", "-ffast-math")])
@pytest.mark.parametrize("precision", ["double", "float"])
def test_no_input_is_ever_beyond_its_limit(precision, flags, tmp_path):
    limits = (10.0, 0.06981317007977318, 0.1, 1 / 3, 1e-3, np.pi, 7.7, 1e5)
    policy = NeuralNetwork((1.0,) * 4, limits, 3)
    params = {name: 50 * np.abs(value) for name, value in policy.init(jax.random.key(0)).items()}
    params["weight_3"] = params["weight_3"] * np.where(np.arange(8) % 2, 1.0, -1.0)
    seen = VelocityFree((False, False), 8, m_q=1, m_u=0)
    inputs = tuple(Quantity(f"u{i}", "N") for i in range(8))
    one = exported(LearnedPolicy(seen, policy, params), inputs=inputs)
    one.check()
    run = Library(written(one, "c", tmp_path, precision), precision, flags)
    hit = False
    for q in ([1.0, 1.0], [-1.0, -1.0], [9e8, -9e8], [0.1, 0.3]):
        u = run(q)
        assert run.followed == 1
        assert np.all(np.abs(u) <= limits)
        hit = hit or np.all(np.abs(u) >= 0.9999999 * np.array(limits))
    assert hit
    for q in ([np.nan, 0.0], [0.0, np.inf], [-np.inf, np.nan]):
        assert np.all(run(q) == 0)
        assert run.followed == 0


def test_limits_are_rounded_inward():
    for limit in np.random.default_rng(0).uniform(1e-3, 100, 200):
        (found,) = inward(np.array([limit]), "float")
        assert limit * (1 - 2e-7) < float(found) <= limit
    with pytest.raises(UserError, match="too small for float"):
        inward(np.array([1e-60]), "float")


def test_values_too_large_for_float_are_refused():
    policy = learned("differences", "rbf")
    huge = LearnedPolicy(policy.representation, policy.policy, {**policy.params, "weights": np.full((30, 2), 1e200)})
    assert "1e+200" in TARGETS["c"].files(exported(huge), "double")["policy.c"]
    with pytest.raises(UserError, match="too large for float"):
        TARGETS["c"].files(exported(huge), "float")


def test_the_c_policy_swings_the_pole_up(task, tmp_path):
    policy = LearnedPolicy.load(DATA / "cartpole-policy.safetensors")
    names = {"positions": (Quantity("p", "m"), Quantity("alpha", "rad")), "inputs": (Quantity("force", "N"),)}
    run = Library(written(exported(policy, **names), "c", tmp_path))
    successes = []
    for seed in range(5):
        run.code.vfpilco_reset(run.state)
        trial = execute(task, task.plant(), lambda q: run(q)[:1], seed)
        successes.append(task.judge(trial.judged)["success"])
    assert sum(successes) >= 4


# -- names -------------------------------------------------------------------------------------------------------


def test_plain_names_stay_and_hostile_ones_lose_their_teeth():
    for name in ("force", "motor x", "shoulder_pan", "N·m", "m/s²", "°C", "α̇"[:1], "velocity of p"):
        assert plain(name) == name
    assert not set(plain(HOSTILE)) & set("\"'*`%\\\n$?|#;<>&[]{}\ud800\u202e")
    assert plain("\n") == "_"
    assert len(plain("x" * 1000)) == 80


def test_hostile_names_put_nothing_into_source_or_readme(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "gcc")
    one = exported(learned("full state", "rbf"))
    clean = {to: TARGETS[to].files(one, "double") for to in TARGETS}
    names = (Quantity(HOSTILE, HOSTILE), Quantity(HOSTILE + "2", "*/"))
    about = {**one.learned, "task": HOSTILE, "run": HOSTILE, "settings": {HOSTILE: HOSTILE}}
    hostile = dataclasses.replace(one, positions=names, inputs=names, learned=about)
    trials = [one.trials[0]]
    for to, target in TARGETS.items():
        folder = written(hostile, to, tmp_path / to)
        assert difference(one, target.run(folder, trials).inputs, trials) < 1e-12
        for name, content in clean[to].items() if to != "onnx" else []:
            assert without_text((folder / name).read_text("utf-8")) == without_text(str(content))
        said, expected = readme(hostile, target, "double", None), readme(one, target, "double", None)
        assert said.count("\n```") == expected.count("\n```")
        assert json.loads(said.rpartition("```json\n")[2].rpartition("```")[0]) == about


def without_text(source: str) -> str:
    """A program without its comments and strings."""
    return re.sub(r'/\*.*?\*/|""".*?"""|"[^"\n]*"', "", source, flags=re.S)


def test_onnx_metadata_tells_all_there_is_to_know(tmp_path):
    import onnx

    model = onnx.load(written(exported(learned("low-pass", "rbf")), "onnx", tmp_path) / "policy.onnx")
    told = {entry.key: json.loads(entry.value) for entry in model.metadata_props}
    assert told["measured"][1] == {"name": "alpha", "unit": "rad", "angle": True}
    assert told["inputs"][1] == {"name": "turn", "unit": "rad", "limit": 0.07}
    assert told["rate_hz"] == pytest.approx(30)
    assert told["memory"] == {"last_measurements": 1, "filters": 3}
    assert told["learned"]["run"] == "runs/drawn"


def test_onnx_takes_a_window_of_positions_and_a_batch(tmp_path):
    import onnxruntime

    one = exported(learned("differences", "linear-rbf"))
    session = onnxruntime.InferenceSession(str(written(one, "onnx", tmp_path) / "policy.onnx"))
    trial = motion(4)
    windows = np.array([trial[t - 3 : t][::-1] for t in range(3, 40)])
    inputs, memory = session.run(None, {"measured": trial[3:], "memory": windows})
    np.testing.assert_allclose(inputs / LIMITS, checking.answers(one, trial)[3:] / LIMITS, atol=1e-12)
    np.testing.assert_array_equal(memory[:, 1:], windows[:, :-1])
