from __future__ import annotations

import csv
import ctypes
import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import vfpilco
import vfpilco.cli
from folders import one_sentence
from vfpilco import files
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import UserError
from vfpilco.execute import execute
from vfpilco.export import check as checking
from vfpilco.export.compiled import FLAGS, Program, compiler
from vfpilco.export.described import Exported, Quantity, describe
from vfpilco.export.readme import readme
from vfpilco.export.targets import TARGETS
from vfpilco.export.text import inward, plain
from vfpilco.filtered import Filtered, FullState, kalman, low_pass
from vfpilco.history import VelocityFree
from vfpilco.policies import KINDS, NeuralNetwork
from vfpilco.runfolder import RunFolder
from vfpilco.trial import Trial, unwrap

H, ANGLES, LIMITS = 1 / 30, (False, True), (10.0, 0.07)
LOW_PASS, KALMAN = low_pass(2, H, 0.4), kalman((1e-3, 2e-3), H, 20.0)
REPRESENTATIONS: dict[str, Any] = {
    "differences": VelocityFree(ANGLES, 2, m_q=2, m_u=1),
    "one difference": VelocityFree(ANGLES, 2, m_q=1, m_u=3),
    "naive": VelocityFree(ANGLES, 2, m_q=4, m_u=0, differences=False),
    "low-pass": Filtered(ANGLES, 2, H, a=LOW_PASS.a, b=LOW_PASS.b),
    "kalman": Filtered(ANGLES, 2, H, a=KALMAN.a, b=KALMAN.b),
    "full state": FullState(ANGLES, 2, H),
}
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
HOSTILE = '"""\'*/ `x` %s\\ \n```\n??/ $(task) ${q} | # é \ud800 \u202e "); system("rm'
DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def fewer_histories(monkeypatch):
    """A check of 10,000 takes seconds; one of the whole size is in the tests of the command line."""
    monkeypatch.setattr(checking, "HISTORIES", 400)


def motion(seed: int, samples: int = 40) -> np.ndarray:
    """Measured positions; the angle turns round more than once."""
    t = H * np.arange(samples)
    q = np.column_stack([0.5 * np.sin(3 * t + seed), 5 * np.sin(2 * t) + 3 + 0.2 * seed])
    return q + 2e-3 * np.random.default_rng(seed).normal(size=q.shape)


def learned(how: str, kind: str, *, follows: bool = False) -> LearnedPolicy:
    """A policy that was not learned but drawn, as wide as the motions are."""
    seen, rng = REPRESENTATIONS[how], np.random.default_rng(1)
    x = policy_inputs(seen, follows)
    scale = tuple((x.std(axis=0) + 1e-3).tolist())
    fields: dict[str, Any] = {"scale": scale, "limits": LIMITS}
    fields |= {"units": 9} if kind == "mlp" else {"basis_functions": 30, "circle": (False,) * len(scale)}
    policy = KINDS[kind](**fields)
    drawn = policy.init(jax.random.key(0))
    params = {name: value + 0.3 * rng.normal(size=np.shape(value)) for name, value in drawn.items()}
    if kind != "mlp":
        params["centers"] = x[:30] / scale
        params["log_lengthscales"] = params["log_lengthscales"] + np.log(len(scale)) / 2
        params["weights"] = rng.normal(size=(30, 2)) * LIMITS
    if kind == "linear-rbf":
        params["gains"] = 0.3 * rng.normal(size=(len(scale), 2)) * LIMITS
    return LearnedPolicy(seen, policy, params, motion(9, 15) if follows else None)


def policy_inputs(seen: Any, follows: bool) -> np.ndarray:
    """x* along a motion."""
    measured = measurements(seen, motion(5))
    memory, rows = seen.begin(measured[0]), []
    for z in measured:
        memory = seen.push(memory, z, np.zeros(2))
        rows.append(np.concatenate([seen.policy_input(memory), 0.5 * z[:2] if follows else []]))
    return np.array(rows)


def measurements(seen: Any, q: np.ndarray) -> np.ndarray:
    """What a controller is given when these positions are measured."""
    return np.column_stack([q, np.gradient(q, H, axis=0)]) if seen.full_state else q


def exported(policy: LearnedPolicy, **changed: Any) -> Exported:
    """The policy as a run would describe it."""
    trials = [measurements(policy.representation, motion(seed)) for seed in range(3)]
    about = {"run": "runs/drawn", "trial": 1, "task": "drawn", "seed": 0, "versions": {}, "settings": {}}
    whole = Exported(
        policy,
        (Quantity("p", "m"), Quantity("alpha", "rad")),
        (Quantity("force", "N"), Quantity("turn", "rad")),
        H,
        about,
        tuple(trials),
    )
    return dataclasses.replace(whole, **changed)


def written(one: Exported, to: str, folder: Path, precision: Any = "double") -> Path:
    """The export's files in a folder."""
    for name, content in TARGETS[to].files(one, precision).items():
        files.write_whole(folder / name, content)
    return folder


def difference(one: Exported, found: list[np.ndarray], trials: list[np.ndarray]) -> float:
    """The largest difference from the learned policy, as a share of u_max; what it asks for must not be trivial."""
    due = np.concatenate([checking.answers(one, trial) for trial in trials]) / LIMITS
    assert np.mean(np.any((np.abs(due) > 0.05) & (np.abs(due) < 0.95), axis=1)) > 0.3
    return float(np.abs(np.concatenate(found) / LIMITS - due).max())


def compilers() -> list[str]:
    """gcc and clang; where one is missing its tests are skipped, but not in CI."""
    return ["gcc", "clang"]


def need(command: str) -> list[str]:
    if shutil.which(command) is None and not os.environ.get("VFPILCO_NO_SKIP"):
        pytest.skip(f"there is no {command}")
    return [command]


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


@pytest.mark.parametrize("command", compilers())
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
    trial[:, 1] -= 2 * np.pi * np.round(trial[:, 1] / (2 * np.pi))
    bad = [0, 7, 8, 20, 30]
    trial[bad, [1, 0, 1, 0, 1]] = np.nan, np.inf, -np.inf, 1.1e9, -1e300
    due = np.array([Beginning(one.policy)(q) for q in trial[:1]] + list(map(Beginning(one.policy), trial))[1:])
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


# -- from a run --------------------------------------------------------------------------------------------------


def made_run(folder: Path, policy: LearnedPolicy, names: tuple[str, ...] = ("p", "alpha", "force", "turn")) -> Path:
    """A run folder as learning leaves it, of a drawn policy."""
    run, columns = RunFolder(folder), list(names)
    positions = [{"name": name, "unit": "m"} for name in names[:2]]
    inputs = [{"name": name, "unit": "N", "limit": 1.0} for name in names[2:]]
    task = {"name": names[0], "positions": positions, "inputs": inputs, "sampling_time": H}
    run.write_header({"task": task, "seed": 7, "settings": {"m_q": 2}, "versions": {"vfpilco": "0.1.0"}, "trials": 1})
    for i, row in enumerate([{"kind": "explore"}, {"kind": "policy", "trial": 1}]):
        q = motion(i)
        run.add_trial(i, Trial(q, np.zeros((len(q) - 1, 2)), H, q, np.gradient(q, H, axis=0)), columns)
        run.add_result(row)
    run.add_policy(1, policy)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return made_run(tmp_path_factory.mktemp("export") / "run", learned("differences", "rbf"))


def vector(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The test vector of a README: measurements and inputs."""
    text = re.findall(r"```csv\n(.*?)```", (folder / "README.md").read_text("utf-8"), flags=re.S)[0]
    rows = list(csv.DictReader(text.splitlines()))
    return tuple(np.array([[float(row[k]) for k in row if k[0] == what] for row in rows]) for what in "qu")


@pytest.mark.parametrize(("to", "precision"), [("c", "double"), ("c", "float"), ("onnx", "float"), ("numpy", "double")])
def test_the_readmes_test_vector_is_true(run, to, precision, tmp_path):
    made = vfpilco.export(run, to, tmp_path / "a", precision=precision, check=True)
    assert made.report is not None
    q, u = vector(made.folder)
    assert len(q) == len(u) == 8
    assert np.all(np.abs(u).max(axis=0) > 0.05 * np.array(LIMITS))
    found = TARGETS[to].run(made.folder, [q]).inputs[0]
    np.testing.assert_allclose(found / LIMITS, u / LIMITS, atol=1e-6 if precision == "double" else 1e-4)
    text = (made.folder / "README.md").read_text("utf-8")
    for words in ("30 Hz", "| 1 | alpha | m | yes |", "| 1 | turn | N | ±0.07 |", "last 3 measurements", '"seed": 7'):
        assert words in text
    assert sorted(made.files) == sorted(path.name for path in made.folder.iterdir())


def test_the_same_export_has_the_same_bytes(run, tmp_path):
    for to in TARGETS:
        first, second = (vfpilco.export(run, to, tmp_path / name / to).folder for name in "ab")
        assert [f.read_bytes() for f in sorted(first.iterdir())] == [f.read_bytes() for f in sorted(second.iterdir())]


def test_the_numpy_file_needs_numpy_alone(run, tmp_path):
    folder = vfpilco.export(run, "numpy", tmp_path / "a").folder
    q, u = vector(folder)
    code = (
        "import sys; from policy import Policy; policy = Policy()\n"
        f"print([policy.step(q).tolist() for q in {q.tolist()}])\n"
        "assert not {'jax', 'vfpilco', 'scipy'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.append({str(Path(np.__file__).parent.parent)!r})\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    np.testing.assert_allclose(json.loads(done.stdout), u, atol=1e-12)


# -- what is refused ---------------------------------------------------------------------------------------------


def refuse(capsys, run: Path, *flags: object) -> str:
    """What is said of an export that must be refused."""
    assert vfpilco.cli.main(["export", str(run), *map(str, flags)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return one_sentence(said.err)


def test_bad_arguments_are_told_in_one_sentence_and_nothing_is_written(run, capsys, tmp_path, monkeypatch):
    out = ("--out", tmp_path / "a")
    assert "Missing from vfpilco export: --to" in refuse(capsys, run, *out)
    assert "--out" in refuse(capsys, run, "--to", "c")
    assert "rust" in refuse(capsys, run, "--to", "rust", *out)
    assert "computes in double" in refuse(capsys, run, "--to", "numpy", "--precision", "float", *out)
    assert "no policy of trial 9: it has [1]" in refuse(capsys, run, "--to", "c", "--trial", 9, *out)
    assert "holds no run" in refuse(capsys, tmp_path, "--to", "c", *out)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no-such-compiler is not there" in refuse(capsys, run, "--to", "c", "--check", *out)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    assert "a compiler is needed" in refuse(capsys, run, "--to", "c", "--check", *out)
    for name in ("onnxruntime", "onnx"):
        monkeypatch.setitem(sys.modules, name, None)
        assert f"{name} is needed: pip install" in refuse(capsys, run, "--to", "onnx", "--check", *out)
        monkeypatch.delitem(sys.modules, name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="did you mean 'onnx'"):
        vfpilco.export(run, "onx", tmp_path / "a")


def test_a_folder_in_use_is_refused_and_an_empty_one_is_filled(run, capsys, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "is not empty" in refuse(capsys, run, "--to", "numpy", "--out", tmp_path)
    assert "is a file" in refuse(capsys, run, "--to", "numpy", "--out", tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    assert vfpilco.cli.main(["export", str(run), "--to", "numpy", "--out", str(tmp_path / "empty")]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["README.md", "empty", "mine", "policy.py"]
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_export_that_fails_half_way_leaves_nothing(run, tmp_path, monkeypatch):
    whole = itertools.count()

    def write(path: Path, content: str) -> None:
        if next(whole) == 1:
            raise OSError(28, "No space left on device")
        path.write_text(content)

    monkeypatch.setattr("vfpilco.export.write_whole", write)
    with pytest.raises(OSError, match="No space"):
        vfpilco.export(run, "c", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_finite_are_refused(tmp_path, capsys):
    for name, index in [("weights", 3), ("centers", 5), ("log_lengthscales", 1)]:
        policy = learned("differences", "rbf")
        policy.params[name].flat[index] = np.nan
        folder = made_run(tmp_path / name, policy)
        said = refuse(capsys, folder, "--to", "c", "--out", tmp_path / "a")
        assert "not finite" in said
    with pytest.raises(UserError, match="not finite"):
        exported(learned("differences", "rbf"), sampling_time=float("inf")).check()
    a = np.array(KALMAN.a)
    a[0, 1, 1] = np.inf
    seen = Filtered(ANGLES, 2, H, a=tuple(map(tuple, a.tolist())), b=KALMAN.b)
    policy = learned("kalman", "rbf")
    with pytest.raises(UserError, match="not finite"):
        exported(LearnedPolicy(seen, policy.policy, policy.params)).check()


def test_a_policy_that_does_not_fit_its_run_is_refused(tmp_path, capsys):
    policy = learned("differences", "rbf")
    folder = made_run(tmp_path / "run", policy)
    header = json.loads((folder / "run.json").read_text())
    del header["checksum"]
    for change in ({"positions": header["task"]["positions"][:1]}, {"inputs": []}, {"sampling_time": 0}):
        RunFolder(folder).write_header({**header, "task": {**header["task"], **change}})
        with pytest.raises(UserError):
            describe(RunFolder(folder))
    RunFolder(folder).write_header({**header, "task": {"name": "x"}})
    assert "does not describe a run of this version" in refuse(capsys, folder, "--to", "c", "--out", tmp_path / "a")


def test_a_hostile_run_is_exported_harmlessly(tmp_path):
    names = ('p"""*/', "al`pha", "%n%s", "\\")
    folder = made_run(tmp_path / "run", learned("full state", "linear-rbf"), names)
    for to in TARGETS:
        made = vfpilco.export(folder, to, tmp_path / to, check=True)
        assert made.report is not None
        assert made.report.error < 1e-12
        assert '"task": "p\\"\\"\\"*/"' in (made.folder / "README.md").read_text("utf-8")
