from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import one_sentence

import vfpilco
from exports import LIMITS, STATES, H, exported, learned, motion, small_check  # noqa: F401
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.common.files import to_json
from vfpilco.data.results import TrialResult
from vfpilco.data.trial import Trial
from vfpilco.exports.exported import describe
from vfpilco.exports.targets import TARGETS
from vfpilco.policy.base import BoundPolicy
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.rbf import RBF
from vfpilco.state.window import VelocityFree
from vfpilco.storage.header import RunHeader, TaskDescription
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks.machine import Input, Position
from vfpilco.trials.settings import Settings

pytestmark = pytest.mark.usefixtures("small_check")
SAMPLES = Path(__file__).parent.parent / "samples"


def made_run(folder: Path, policy: LearnedPolicy, names: tuple[str, ...] = ("p", "alpha", "force", "turn")) -> Path:
    """A run folder of a policy with random parameters."""
    run, columns = RunFolder(folder), list(names)
    positions = tuple(Position(name, "m") for name in names[:2])
    inputs = tuple(Input(name, "N", 1.0) for name in names[2:])
    task = TaskDescription(names[0], positions, inputs, H, 39)
    settings = Settings().replace(steps=300, slew=0.25).described()
    run.write_header(RunHeader(task=task, settings=settings, seed=7, trials=1, versions={"vfpilco": "0.2.0"}))
    run.add_policy(1, policy)
    for i in range(2):
        q = motion(i)
        run.add_trial(i, Trial(q, np.zeros((len(q) - 1, 2)), H, q, np.gradient(q, H, axis=0)), columns)
        kind = "policy" if i else "explore"
        run.add_result(TrialResult(cost=1.0, success=False, kind=kind, trial=i or None, experience_s=i * 1.3))
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
def test_the_test_vector_in_the_readme_is_right(run, to, precision, tmp_path):
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
def test_the_readme_has_the_slew_limit_and_its_test_vector_keeps_it(to, tmp_path):
    folder = made_run(tmp_path / "run", learned("differences", "rbf", slew=0.01))
    made = vfpilco.export(folder, to, tmp_path / "a", precision="double", check=True)
    q, u = vector(made.folder)
    np.testing.assert_allclose(TARGETS[to].run(made.folder, [q]).inputs[0] / LIMITS, u / LIMITS, atol=1e-12)
    assert np.abs(np.diff(u / LIMITS, axis=0, prepend=np.zeros((1, 2)))).max() == pytest.approx(0.01)
    text = (made.folder / "README.md").read_text("utf-8")
    for words in ("force by 0.1 N, turn by 0.0007", "Before the first sample they are zero", "and the last inputs"):
        assert words in text
    assert {
        "c": "3 × 2 + 2 doubles",
        "arduino": "_step(&policy, q, u)",
        "fmu": "co-simulation FMU",
        "onnx": "inputs, memory, applied =",
        "numpy": "policy.step",
    }[to] in text


@pytest.mark.parametrize("to", list(TARGETS))
@pytest.mark.parametrize(("how", "past", "slew"), [("past input", 1, 0.0), ("past inputs", 2, 0.3)])
def test_the_readme_describes_past_inputs_and_its_test_vector_has_them(how, past, slew, to, tmp_path):
    folder = made_run(tmp_path / "run", learned(how, "rbf", slew=slew))
    made = vfpilco.export(folder, to, tmp_path / "a", precision="double", check=True)
    assert made.report is not None
    assert max(made.report.error, made.report.trial_error) < 1e-12
    q, u = vector(made.folder)
    np.testing.assert_allclose(TARGETS[to].run(made.folder, [q]).inputs[0] / LIMITS, u / LIMITS, atol=1e-9)
    text = (made.folder / "README.md").read_text("utf-8")
    assert ("and the last inputs" if past == 1 else "and the inputs of the last 2 samples") in text
    assert "zero is remembered as the input of that sample" in text
    assert {
        "c": f"+ {past} × 2 doubles",
        "arduino": "vfpilco_actual(&policy, u)",
        "fmu": "co-simulation FMU",
        "onnx": f"applied = np.zeros((1, {past}, 2))",
        "numpy": "policy.actual(u)",
    }[to] in text


@pytest.mark.parametrize(("how", "slew"), [("kalman", 0.0), ("kalman", 0.01), ("past inputs", 0.01)])
def test_the_onnx_example_of_the_readme_runs(how, slew, tmp_path, monkeypatch):
    folder = made_run(tmp_path / "run", learned(how, "rbf", follows=True, slew=slew))
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
        one, other = ([f.read_bytes() for f in sorted(each.rglob("*")) if f.is_file()] for each in (first, second))
        assert one == other


def test_the_numpy_file_needs_numpy_only(run, tmp_path):
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


# -- origin ------------------------------------------------------------------------------------------------------


def origin(folder: Path) -> dict:
    """Where the policy was learned, from a README."""
    return json.loads((folder / "README.md").read_text("utf-8").rpartition("```json\n")[2].rpartition("```")[0])


def test_the_readme_lists_every_setting_by_name(run, tmp_path):
    known = origin(vfpilco.export(run, "numpy", tmp_path / "a").folder)
    assert {name: known[name] for name in ("run", "trial", "task", "seed")} == {
        "run": str(run),
        "trial": 1,
        "task": "p",
        "seed": 7,
    }
    settings = known["settings"]
    assert settings["policy"] == repr(Settings().policy)
    assert settings["prior_mean"] == "ConstantVelocity()"
    assert (settings["steps"], settings["slew"], settings["precision"]) == (300, 0.25, "float32")
    chosen = {"state", "kernel", "inducing", "sensor", "exploration"}  # which are not set
    assert settings.keys() == Settings().flat().keys() - chosen


def test_a_run_of_format_3_is_exported_with_its_settings(tmp_path):
    made = vfpilco.export(SAMPLES / "run-format3", "numpy", tmp_path / "a", check=True)
    assert made.report is not None
    assert max(made.report.error, made.report.trial_error) < 1e-12
    known = origin(made.folder)
    assert (known["task"], known["trial"], known["versions"]["vfpilco"]) == ("cartpole", 2, "0.1.0")
    assert known["settings"]["m_q"] == 2
    assert known["settings"]["kernel"] == "se * poly1(rates, inputs)"


# -- components of the user's own --------------------------------------------------------------------------------


class Renamed(RBF):
    """A policy of the user's own that computes what an RBF network computes."""


@dataclasses.dataclass(frozen=True)
class Halved(RBF):
    """One that computes something else, and inherits how an RBF network is exported."""

    def __call__(self, params, x, keep=None):
        return 0.5 * super().__call__(params, x, keep)


@dataclasses.dataclass(frozen=True)
class Linear(BoundPolicy):
    """One that cannot be exported."""

    def __call__(self, params, x, keep=None):
        return x[..., :2] @ params["gains"]


@dataclasses.dataclass(frozen=True)
class Doubled(VelocityFree):
    """A state with another policy input, which inherits how a window is exported."""

    def policy_input(self, window):
        return 2 * super().policy_input(window)


@dataclasses.dataclass(frozen=True)
class Scaled(VelocityFree):
    """A state with another memory, which inherits how a window is exported."""

    def push(self, window, q, u):
        return super().push(window, 2 * q, u)


@dataclasses.dataclass(frozen=True)
class Unexported(VelocityFree):
    """A state that cannot be expressed as a memory."""

    def exported_memory(self):
        raise UserError("Unexported cannot be exported: it has no memory.")


@dataclasses.dataclass(frozen=True)
class Forgotten(VelocityFree):
    """A state that leaves open how it is exported."""

    def exported_memory(self):
        return None


def own_policy(cls: type) -> LearnedPolicy:
    one = learned("differences", "rbf")
    fields = {} if cls is Linear else {"basis_functions": 30}
    params = {"gains": np.eye(2)} if cls is Linear else one.params
    return LearnedPolicy(one.state, cls(**fields, bound=one.policy.inputs), params)


def own_state(cls: type) -> LearnedPolicy:
    one = learned("differences", "rbf")
    return LearnedPolicy(cls(2, 1, bound=one.state.signals), one.policy, one.params)


def test_a_policy_of_the_users_own_class_is_exported(tmp_path):
    folder = made_run(tmp_path / "run", own_policy(Renamed))
    with pytest.raises(UserError, match="'Renamed' is not a component of vfpilco"):
        vfpilco.export(folder, "numpy", tmp_path / "a")
    made = vfpilco.export(folder, "numpy", tmp_path / "a", check=True, components=[Renamed(30)])
    assert made.report is not None
    assert made.report.error < 1e-12
    settings = {"policy": Renamed(30), "steps": 100}
    assert vfpilco.export(folder, "numpy", tmp_path / "b", components=[settings]).files == made.files


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (own_policy(Halved), r"would differ from it by .* of u_max: make `layers` of Halved return what"),
        (own_state(Scaled), r"would differ from it by .* of u_max: make `exported_memory` of Scaled return what"),
        (own_state(Doubled), "state of class Doubled cannot be exported"),
        (own_policy(Linear), "A policy of class Linear cannot be exported"),
        (own_state(Unexported), "Unexported cannot be exported: it has no memory"),
        (own_state(Forgotten), "Forgotten is a state that cannot be exported: give the class a method"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_sentence(policy, words, tmp_path):
    folder = made_run(tmp_path / "run", policy)
    components = [dataclasses.replace(part, bound=None) for part in (policy.state, policy.policy)]
    with pytest.raises(UserError, match=words) as error:
        vfpilco.export(folder, "numpy", tmp_path / "a", components=components)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "a").exists()


# -- what is refused ---------------------------------------------------------------------------------------------


def refuse(capsys, run: Path, *flags: object) -> str:
    """The message about an export that must be refused."""
    assert main(["export", str(run), *map(str, flags)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return one_sentence(printed.err)


def test_bad_arguments_are_refused_in_one_sentence_and_nothing_is_written(run, capsys, tmp_path, monkeypatch):
    out = ("--out", tmp_path / "a")
    assert "Missing from vfpilco export: --to" in refuse(capsys, run, *out)
    assert "--out" in refuse(capsys, run, "--to", "c")
    assert "rust" in refuse(capsys, run, "--to", "rust", *out)
    assert "computes in double" in refuse(capsys, run, "--to", "numpy", "--precision", "float", *out)
    assert "no policy of trial 9: it has [1]" in refuse(capsys, run, "--to", "c", "--trial", 9, *out)
    assert "holds no run" in refuse(capsys, tmp_path, "--to", "c", *out)
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no-such-compiler was not found" in refuse(capsys, run, "--to", "c", "--check", *out)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    assert "needs a compiler" in refuse(capsys, run, "--to", "c", "--check", *out)
    for name in ("onnxruntime", "onnx"):
        monkeypatch.setitem(sys.modules, name, None)
        assert f"needs the package {name}: pip install" in refuse(capsys, run, "--to", "onnx", "--check", *out)
        monkeypatch.delitem(sys.modules, name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="did you mean 'onnx'"):
        vfpilco.export(run, "onx", tmp_path / "a")


def test_a_folder_in_use_is_refused_and_an_empty_one_is_filled(run, capsys, tmp_path):
    (tmp_path / "mine").write_text("mine")
    assert "is not empty" in refuse(capsys, run, "--to", "numpy", "--out", tmp_path)
    assert "is a file" in refuse(capsys, run, "--to", "numpy", "--out", tmp_path / "mine")
    (tmp_path / "empty").mkdir()
    assert main(["export", str(run), "--to", "numpy", "--out", str(tmp_path / "empty")]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["README.md", "empty", "mine", "policy.py"]
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_export_that_fails_half_way_leaves_nothing(run, tmp_path, monkeypatch):
    files = itertools.count()

    def write(path: Path, content: str) -> None:
        if next(files) == 1:
            raise OSError(28, "No space left on device")
        path.write_text(content)

    monkeypatch.setattr(sys.modules["vfpilco.exports"], "write_file", write)
    with pytest.raises(OSError, match="No space"):
        vfpilco.export(run, "c", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_not_finite_are_refused(tmp_path, capsys):
    for name, index in [("weights", 3), ("centers", 5), ("log_lengthscales", 1)]:
        policy = learned("differences", "rbf")
        policy.params[name].flat[index] = np.nan
        folder = made_run(tmp_path / name, policy)
        assert "not finite" in refuse(capsys, folder, "--to", "c", "--out", tmp_path / "a")
    with pytest.raises(UserError, match="not finite"):
        exported(learned("differences", "rbf"), sampling_time=float("inf")).check()
    a = np.array(STATES["kalman"].a)
    a[0, 1, 1] = np.inf
    with pytest.raises(UserError, match="need numbers below"):
        dataclasses.replace(STATES["kalman"], a=tuple(tuple(map(tuple, rows)) for rows in a.tolist()))


def test_a_policy_that_does_not_fit_its_run_is_refused(tmp_path, capsys):
    folder = made_run(tmp_path / "run", learned("differences", "rbf"))
    content = json.loads((folder / "run.json").read_text())
    del content["checksum"]
    one = content["task"]["positions"][:1]
    for change, words in (
        ({"positions": one}, "belongs to another machine"),
        ({"inputs": []}, "different names of inputs"),
        ({"sampling_time": 0.0}, "the sampling time is 0.0"),
    ):
        (folder / "run.json").write_text(to_json({**content, "task": {**content["task"], **change}}) + "\n")
        with pytest.raises(UserError, match=words):
            describe(RunFolder(folder))
    (folder / "run.json").write_text(to_json({**content, "task": {"name": "x"}}) + "\n")
    message = refuse(capsys, folder, "--to", "c", "--out", tmp_path / "a")
    assert "run.json is damaged or was not written by vfpilco" in message


def test_a_hostile_run_is_exported_harmlessly(tmp_path):
    names = ('p"""*/', "al`pha", "%n%s", "\\")
    folder = made_run(tmp_path / "run", learned("full state", "linear-rbf"), names)
    for to in TARGETS:
        made = vfpilco.export(folder, to, tmp_path / to, precision="double", check=True)
        assert made.report is not None
        assert made.report.error < 1e-12
        assert '"task": "p\\"\\"\\"*/"' in (made.folder / "README.md").read_text("utf-8")
