"""The examples of components of one's own: each learns, resumes, and can be exported or is refused."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from folders import SIZE_FLAGS, SIZES

import vfpilco
from vfpilco.cli.main import main
from vfpilco.exports import check as checking
from vfpilco.policy.base import BoundPolicy
from vfpilco.state.base import Signals
from vfpilco.storage.runfolder import RunFolder

EXAMPLES = Path(__file__).parent.parent / "examples" / "extending"
NAMES = ["camera_with_lag", "encoder_with_backlash", "exploration", "kernel", "policy", "state"]
TINY = {"steps": 2, **SIZES}


@pytest.fixture(scope="module", params=NAMES)
def run(request, tmp_path_factory) -> tuple[str, vfpilco.Task, Path, vfpilco.Result]:
    """A run of an example."""
    task = vfpilco.task(str(EXAMPLES / f"{request.param}.py"))
    out = tmp_path_factory.mktemp("extending") / request.param
    return request.param, task, out, vfpilco.learn(task, trials=1, out=out, **{**TINY, **task.settings})


def test_there_is_an_example_file_for_every_kind_of_component():
    assert sorted(file.stem for file in EXAMPLES.glob("*.py")) == NAMES
    for file in EXAMPLES.glob("*.py"):
        assert len(file.read_text().splitlines()) <= 40, file


def test_an_example_learns_with_its_own_component(run):
    name, task, _, result = run
    components = {
        "kernel": result.model.kernel.factors[0] if name == "kernel" else None,
        "policy": result.policy.policy,
        "state": result.policy.state,
        "exploration": task.exploration,
    }
    own = components.get(name, task.machine.sensor)
    assert type(own).__module__.startswith("vfpilco_task_")
    assert np.isfinite([row.cost for row in result.rows]).all()


def test_an_example_resumes_with_its_own_component(run):
    _, task, out, result = run
    again = vfpilco.learn(task, trials=1, out=out, resume=True)
    assert again.settings == result.settings
    q = result.trials[-1].q[:3]
    policies = result.policy, again.policy
    for policy in policies:
        policy.reset()
    assert [policies[0](x).tolist() for x in q] == [policies[1](x).tolist() for x in q]


def test_an_example_is_exported(run, tmp_path, monkeypatch):
    _, task, out, _ = run
    monkeypatch.setattr(checking, "HISTORIES", 400)  # 10,000 take seconds
    made = vfpilco.export(out, "numpy", tmp_path / "exported", check=True, components=(task.settings,))
    assert made.report.error < 1e-9


def test_a_policy_file_that_names_a_class_of_its_own_needs_the_task_file(run):
    name, _, out, _ = run
    if name not in ("policy", "state"):  # its policy file names built-in classes only
        assert RunFolder(out).policy() is not None
        return
    with pytest.raises(vfpilco.UserError, match="is not a component of vfpilco: use the task file that defines it"):
        RunFolder(out).policy()


@dataclasses.dataclass(frozen=True)
class Bang(BoundPolicy):
    """A policy without `layers`."""

    def init(self, key):
        return {"gain": np.ones(1)}

    def __call__(self, params, x, keep=None):
        return x[..., :1] * params["gain"]


@dataclasses.dataclass(frozen=True)
class Odd(vfpilco.VelocityFree):
    """A state whose policy input is not exported."""

    def policy_input(self, window):
        return super().policy_input(window) ** 2


def test_what_cannot_be_exported_is_refused_in_one_sentence():
    with pytest.raises(vfpilco.UserError, match="A policy of class Bang cannot be exported"):
        Bang().layers({})
    with pytest.raises(vfpilco.UserError, match="A policy on a state of class Odd cannot be exported"):
        Odd().bind(Signals((False,), 1)).exported_memory()


def test_an_example_learns_on_the_command_line(tmp_path):
    flags = ["--trials", "1", "--steps", "2", *SIZE_FLAGS, "--quiet", "--no-report"]
    assert main(["learn", str(EXAMPLES / "exploration.py"), "--out", str(tmp_path / "run"), *flags]) == 0
    assert main(["learn", str(EXAMPLES / "exploration.py"), "--out", str(tmp_path / "run"), "--resume", "--quiet"]) == 0
