from __future__ import annotations

import csv
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vfpilco
import vfpilco.cli
from exports import ANGLES, KALMAN, LIMITS, H, exported, learned, motion, small_check  # noqa: F401
from folders import one_sentence
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.common.errors import UserError
from vfpilco.exports.described import describe
from vfpilco.exports.targets import TARGETS
from vfpilco.state.filtered import Filtered
from vfpilco.storage.runfolder import RunFolder
from vfpilco.data.trial import Trial

pytestmark = pytest.mark.usefixtures("small_check")


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


@pytest.mark.parametrize("to", list(TARGETS))
def test_the_readme_tells_the_slew_limit_and_its_test_vector_keeps_it(to, tmp_path):
    folder = made_run(tmp_path / "run", learned("differences", "rbf", slew=0.01))
    made = vfpilco.export(folder, to, tmp_path / "a", check=True)
    q, u = vector(made.folder)
    np.testing.assert_allclose(TARGETS[to].run(made.folder, [q]).inputs[0] / LIMITS, u / LIMITS, atol=1e-12)
    assert np.abs(np.diff(u / LIMITS, axis=0, prepend=np.zeros((1, 2)))).max() == pytest.approx(0.01)
    text = (made.folder / "README.md").read_text("utf-8")
    for words in ("force by 0.1 N, turn by 0.0007", "count as zero", "the inputs that it gave last"):
        assert words in text
    assert {"c": "3 × 2 + 2 doubles", "onnx": "inputs, memory, applied =", "numpy": "policy.step"}[to] in text


@pytest.mark.parametrize("slew", [0.0, 0.01])
def test_the_onnx_example_of_the_readme_runs(slew, tmp_path, monkeypatch):
    folder = made_run(tmp_path / "run", learned("kalman", "rbf", follows=True, slew=slew))
    made = vfpilco.export(folder, "onnx", tmp_path / "a")
    code = re.findall(r"```python\n(.*?)```", (made.folder / "README.md").read_text("utf-8"), flags=re.S)[0]
    monkeypatch.chdir(made.folder)
    left: dict[str, np.ndarray] = {}
    exec(code, left)
    assert np.all(left["inputs"] != 0)
    assert ("applied" in left) == bool(slew)


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

    monkeypatch.setattr(sys.modules["vfpilco.export"], "write_file", write)
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
