"""The command line as a program: what it imports, and which words mean what."""

import json
import subprocess
import sys

import pytest

import vfpilco
from vfpilco.cli.commands import learn as command
from vfpilco.cli.main import main
from vfpilco.cli.options import given_options, without_options
from vfpilco.model.kernels import SE
from vfpilco.policy.rbf import RBF
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_import_no_large_package(flag):
    command = [sys.executable, "-X", "importtime", "-m", "vfpilco", flag]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "vfpilco" in done.stdout
    imported = {line.split("|")[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "vfpilco" in imported
    assert not imported & {"jax", "jaxlib", "numpy", "scipy", "rich", "tyro"}


def test_importing_the_package_installs_no_signal_handler():
    code = (
        "import signal; before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]\n"
        "import vfpilco, vfpilco.cli.main, vfpilco.cli.signals, vfpilco.__main__\n"
        "assert before == [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


@pytest.mark.parametrize(
    "argv",
    [
        ["--out", "cartpole", "furuta"],
        ["furuta", "--out", "cartpole"],
        ["--out=cartpole", "--m-q", "3", "furuta"],
        ["--kernel", "se", "furuta", "--out", "cartpole", "--seed", "2"],
        ["--quiet", "furuta", "--particles=100", "--out", "cartpole"],
    ],
)
def test_the_order_of_arguments_does_not_matter(argv):
    request = command.understand(argv)
    assert request.args.task == request.task.name == "furuta"
    assert request.args.trials == vfpilco.task("furuta").trials == 6
    assert str(request.args.out) == "cartpole"


def test_help_shows_the_defaults_of_the_task_wherever_it_is_named(capsys):
    for argv in (["--out", "cartpole", "furuta", "--help"], ["--help", "furuta"], ["furuta", "-h", "--m-q", "3"]):
        with pytest.raises(SystemExit) as stopped:
            main(["learn", *argv])
        assert stopped.value.code == 0
        text = " ".join(capsys.readouterr().out.replace("│", " ").split())
        assert "(default: 6)" in text  # its trials
        assert "[OPTIONS] TASK" in text


@pytest.mark.parametrize(
    "argv", [["learn", "--help"], ["learn", "-h", "--steps", "3"], ["tell", "--help"], ["ask", "-h"]]
)
def test_help_needs_no_other_argument(argv, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 0
    assert f"usage: vfpilco {argv[0]}" in capsys.readouterr().out


def test_options_are_separated_from_other_arguments():
    argv = ["--m-q", "2", "a.py", "--m_u=3", "--out", "x", "--slew", "--json", "--clip", "-1", "b"]
    assert given_options(argv) == ["m_q", "m_u", "slew", "clip"]
    assert without_options(argv) == ["a.py", "--out", "x", "--json", "b"]


# -- components of a task's own ----------------------------------------------------------------------------------

OWN = '''
import dataclasses

import vfpilco
from vfpilco.policy.rbf import RBF
from vfpilco.state.window import VelocityFree


@dataclasses.dataclass(frozen=True)
class MyKernel(vfpilco.SE):
    """Like SE, but of another class."""


@dataclasses.dataclass(frozen=True)
class MyPolicy(RBF):
    """Like RBF, but of another class."""


@dataclasses.dataclass(frozen=True)
class MyState(VelocityFree):
    """Like VelocityFree, but of another class."""


base = vfpilco.task("cartpole")
settings = {"kernel": MyKernel(), "policy": MyPolicy(5), "state": MyState(m_q=2), "steps": 11}
task = dataclasses.replace(base, name="own", settings=settings)
'''


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return str(file)


def test_components_of_a_task_stay_unless_their_flag_is_given(own):
    settings = command.understand([own, "--particles", "50"]).settings
    parts = (settings.model.kernel, settings.policy, settings.state)
    assert [type(part).__name__ for part in parts] == ["MyKernel", "MyPolicy", "MyState"]
    assert (settings.optimiser.particles, settings.optimiser.steps) == (50, 11)
    settings = command.understand([own, "--kernel", "se", "--policy", "rbf", "--method", "vf", "--m-q", "3"]).settings
    assert type(settings.model.kernel) is SE
    assert type(settings.policy) is RBF
    assert settings.state == VelocityFree(m_q=3)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--basis-functions", "30"], "--basis-functions can only be given for a built-in policy"),
        (["--m-q", "2", "--m-u", "0"], "--m-q and --m-u can only be given for a built-in state"),
    ],
)
def test_options_of_built_in_components_are_refused_for_others(own, flags, words, capsys):
    assert main(["learn", own, *flags]) == 2
    assert words in capsys.readouterr().err


def test_a_run_with_components_of_its_own_is_resumed_evaluated_and_exported(own, tmp_path, capsys):
    run = str(tmp_path / "run")
    flags = ["--trials", "1", "--steps", "12", "--particles", "4", "--inducing", "32", "--noise", "white"]
    assert main(["learn", own, "--out", run, "--quiet", *flags]) == 0
    assert main(["learn", own, "--out", run, "--resume", "--quiet"]) == 0
    assert main(["evaluate", run, "--episodes", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 1
    described = RunFolder(run).header().settings
    assert described["policy"]["type"] == "MyPolicy"
    assert described["model"]["kernel"]["type"] == "MyKernel"
    assert main(["export", run, "--to", "numpy", "--out", str(tmp_path / "a")]) == 2
    assert "use the task file that defines it (--task)" in capsys.readouterr().err
    assert main(["export", run, "--to", "numpy", "--out", str(tmp_path / "b"), "--task", own]) == 0
