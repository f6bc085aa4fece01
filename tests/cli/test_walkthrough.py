"""The walk-through of the page your-machine.md, exactly as it is written there."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from peers import Program

import vfpilco
from vfpilco.cli.main import main
from vfpilco.storage.trialfile import trial_to_csv
from vfpilco.tasks.realtime import RealTime
from vfpilco.tasks.sensors import std_at_rest
from vfpilco.trials.execute import Conditions, connect, execute
from vfpilco.trials.punctuality import Punctuality

ROOT = Path(__file__).parents[2]
TEXT = next((ROOT / "docs").rglob("your-machine.md")).read_text()
SHELL = [block.strip().splitlines() for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.S)]
QUICK = "--trials 1 --steps 4 --particles 4 --basis-functions 5 --inducing 32"
GIVEN = "--m-q 2 --m-u 1 --kernel se --noise white"
"""What is otherwise chosen from the data, which takes most of the time of a quick run."""


def command(line: str, more: str = "") -> list[str]:
    program, *words = f"{line} {more}".split()
    return [sys.executable, "-m", "vfpilco", *words] if program == "vfpilco" else [program, *words]


@pytest.fixture
def bench(tmp_path):
    """The folder of a new user: the examples, the task of the walk-through, the plant built and running."""
    build, start = SHELL[0]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run(command(build), cwd=tmp_path, check=True, timeout=120)
    assert start == "./plant --address 127.0.0.1:5555"
    task = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)[0]
    assert "tcp://127.0.0.1:5555" in task
    plant = Program([str(tmp_path / "plant")])
    (tmp_path / "my_rig.py").write_text(task.replace("tcp://127.0.0.1:5555", plant.url))
    yield tmp_path
    assert plant.end() == (0, b"")


def run(bench: Path, line: str, more: str = "", seconds: float = 300) -> str:
    done = subprocess.run(command(line, more), cwd=bench, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_command_of_the_walkthrough_works(bench, monkeypatch, capsys):
    def said(line: str, more: str = "") -> str:
        program, *words = f"{line} {more}".split()
        assert program == "vfpilco"
        assert main(words) == 0
        return capsys.readouterr().out

    monkeypatch.chdir(bench)
    (dry,), (learn, evaluate) = SHELL[1], SHELL[2]
    assert "90 samples" in said(dry)
    assert not (bench / "runs").exists()
    assert "trial" in said(learn, f"{QUICK} {GIVEN}")
    assert "of 5 episodes succeeded" in said(evaluate)
    rows = [json.loads(line) for line in (bench / "runs/first/results.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["explore", "policy"]


@pytest.mark.long
def test_logged_trials_are_added_and_the_next_policy_is_computed(bench):
    task = vfpilco.task("cartpole")
    columns = ["p", "alpha", "force"]
    for seed, name in enumerate(("first.csv", "second.csv")):
        trial = execute(task, connect(task), task.explorer(seed, 0), seed)
        (bench / name).write_text(trial_to_csv(trial.q, trial.u, trial.sampling_time, columns))
    (tell, ask), (exporting,) = SHELL[3], SHELL[4]
    assert exporting.startswith(f"{ask} --to c")
    said = run(bench, tell, QUICK.replace("--trials 1 ", ""))
    assert "first.csv: exploration" in said
    asked = json.loads(run(bench, exporting, "--json --inspected first.csv second.csv"))
    assert asked["trial"] == 1
    assert (bench / asked["export"] / "policy.c").exists()
    settings = json.loads((bench / "runs/bench/run.json").read_text())["settings"]
    assert settings["state"]["m_u"] == 1
    assert settings["sensor"]["type"] == "GaussianNoise"
    np.testing.assert_allclose(settings["sensor"]["std"], std_at_rest(task.machine.sensor, 2), rtol=0.4)
    # A log with a gap is refused, the message names its line, and nothing is added.
    rows = (bench / "first.csv").read_text().splitlines(keepends=True)
    (bench / "bad.csv").write_text("".join(rows[:40] + rows[45:]))
    refused = subprocess.run(
        command(f"vfpilco tell runs/bench {bench / 'bad.csv'}"), cwd=bench, capture_output=True, text=True, timeout=100
    )
    assert refused.returncode == 2
    assert "line 4" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert len((bench / "runs/bench/results.jsonl").read_text().splitlines()) == 2


@pytest.mark.long
def test_the_walkthrough_ends_in_success(bench):
    learn, evaluate = SHELL[2]
    run(bench, learn, "--json", seconds=3000)
    rows = [json.loads(line) for line in (bench / "runs/first/results.jsonl").read_text().splitlines()]
    assert any(row["success"] for row in rows)
    found = json.loads(run(bench, evaluate, "--json"))
    assert found["success_rate"] >= 0.8


def real_time_allowed() -> bool:
    """Whether programs may have real-time priority on this computer."""
    return (
        bool(shutil.which("chrt")) and subprocess.run(["chrt", "-f", "10", "true"], capture_output=True).returncode == 0
    )


@pytest.mark.long
def test_thirty_hertz_are_held_over_tcp(bench):
    priority = ["chrt", "-f", "10"] if real_time_allowed() else []
    plant, task = Program([*priority, str(bench / "plant"), "--realtime"]), vfpilco.task("cartpole")
    punctuality = [Punctuality(RealTime(missed=100.0), task.machine.sampling_time) for _ in range(10)]
    with vfpilco.RemotePlant.connect(plant.url, task) as remote:
        for seed, watch in enumerate(punctuality):
            execute(task, remote, task.explorer(seed, 0), seed, Conditions(punctuality=watch))
    plant.end()
    late = np.concatenate([watch.late[1:] for watch in punctuality])
    print(f"{np.mean(late > 0.1 / 30):.2%} late, worst {1e3 * late.max():.2f} ms")
    assert np.mean(late > 0.1 / 30) < 0.01
