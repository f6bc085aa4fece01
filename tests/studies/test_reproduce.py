"""Making the runs of a study: in processes, on Ray, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from folders import one_sentence

from vfpilco.cli.main import main
from vfpilco.model.kernels import SE
from vfpilco.model.noise import WhiteNoise
from vfpilco.state.window import VelocityFree
from vfpilco.storage import lock
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import PREDICTION
from vfpilco.studies import ballplate, cartpole, furuta
from vfpilco.studies.base import Configuration, Study, jobs
from vfpilco.studies.engines import Outcome
from vfpilco.studies.records import read
from vfpilco.studies.reproduce import StudyWatcher, reproduce
from vfpilco.studies.statistics import success_table
from vfpilco.studies.worker import Order
from vfpilco.studies.worker import main as main_of_worker
from vfpilco.trials.settings import Settings

TINY = {"steps": 4, "particles": 4, "basis_functions": 5, "inducing": 32}
GIVEN = {"state": VelocityFree(2, 1), "kernel": SE(), "noise": WhiteNoise()}
"""What is otherwise chosen from the data, which takes most of the time of a tiny run."""


def tiny(*names: str, **settings: object) -> Study:
    configurations = tuple(Configuration(name, {**TINY, **GIVEN, **settings}, (0.0, 0.2)) for name in names)
    return dataclasses.replace(cartpole.MEMORY, trials=2, configurations=configurations)


class Recorder(StudyWatcher):
    def __init__(self):
        self.begun, self.outcomes, self.left = None, [], []

    def begin(self, total, finished, missing):
        self.begun = (total, finished, missing)

    def run_finished(self, outcome, done, missing, left):
        self.outcomes.append(outcome)
        self.left.append(left)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Study, Path, Recorder]:
    """A study of two runs, made once."""
    folder = tmp_path_factory.mktemp("study")
    study, recorder = tiny("default"), Recorder()
    reproduce(study, seeds=2, out=folder / "runs", results=folder, watch=recorder)
    return study, folder, recorder


def test_every_run_is_kept_with_table_and_figure(made):
    study, folder, recorder = made
    assert recorder.begun == (2, 0, 2)
    assert recorder.left[-1] == 0
    records = read(folder / "cartpole-memory.jsonl")
    assert sorted(record.seed for record in records) == [0, 1]
    for record in records:
        run = RunFolder(folder / "runs" / f"default-seed{record.seed}")
        assert record.results == run.results()
        assert record.settings == run.header().settings
        assert (record.versions, record.machine) == (run.header().versions, run.header().machine)
        assert record.seconds == pytest.approx(sum(timing.seconds for timing in run.timings()), abs=0.05)
        assert np.array(record.one_step_errors).shape == (2, 88)
        last = run.trial(2, 2).u[-31:]
        assert record.chatter[1] == pytest.approx(np.abs(np.diff(last, axis=0)).mean() / 10.0, rel=1e-3)
        rms = np.sqrt(np.mean(np.array(record.one_step_errors) ** 2, axis=1))
        np.testing.assert_allclose(rms, record.results[-1].model.one_step_error, rtol=1e-2)
    page = (folder / "cartpole-memory.md").read_text()
    assert success_table(study, records) in page
    assert "\n    vfpilco reproduce cartpole-memory --seeds 2\n" in page
    assert (folder / "cartpole-memory.png").read_bytes()[:4] == b"\x89PNG"


def test_runs_in_the_results_are_not_made_again(made):
    study, folder, _ = made
    before = (folder / "cartpole-memory.jsonl").read_bytes()
    again = Recorder()
    done = reproduce(study, seeds=2, out=folder / "elsewhere", results=folder, watch=again)
    assert again.begun == (2, 2, 0)
    assert len(done.records) == 2
    assert not (folder / "elsewhere").exists()
    assert (folder / "cartpole-memory.jsonl").read_bytes() == before


def test_a_run_from_before_a_setting_existed_counts_as_one_with_its_default(made, tmp_path):
    study, folder, _ = made
    lines = [json.loads(line) for line in (folder / "cartpole-memory.jsonl").read_text().splitlines()]
    for line, clip in zip(lines, (None, 2.0), strict=True):
        del line["settings"]["optimiser"]["clip"]
        line["settings"]["optimiser"] |= {} if clip is None else {"clip": clip}
    (tmp_path / "cartpole-memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    old = read(tmp_path / "cartpole-memory.jsonl")
    assert [any(job.is_of(record) for record in old) for job in jobs(study, 2)] == [
        record.settings["optimiser"].get("clip", 0.0) == 0.0 for record in sorted(old, key=lambda record: record.seed)
    ]


def test_a_run_is_identified_by_its_settings_and_seed(made):
    study, folder, _ = made
    records = read(folder / "cartpole-memory.jsonl")
    same, other = jobs(study, 1)[0], jobs(tiny("default", m_u=0), 1)[0]
    assert any(same.is_of(record) for record in records)
    assert not any(other.is_of(record) for record in records)
    longer = dataclasses.replace(study, trials=3)
    assert not any(dataclasses.replace(same, study=longer).is_of(record) for record in records)


def test_a_failed_run_is_reported_and_stops_no_other(tmp_path):
    study = dataclasses.replace(
        tiny("default"),
        configurations=(
            Configuration("long", {**TINY, "m_q": 100}),
            Configuration("default", {**TINY, **GIVEN}),
        ),
        trials=1,
    )
    recorder = Recorder()
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path, watch=recorder)
    assert [outcome.job.configuration.name for outcome in done.failed] == ["long"]
    assert "does not fit in a trial of 90 samples" in done.failed[0].problem
    assert {outcome.job.name: outcome.problem for outcome in recorder.outcomes} == {
        "long-seed0": done.failed[0].problem,
        "default-seed0": "",
    }
    assert [record.configuration for record in done.records] == ["default"]
    assert "long" not in done.table


ON_RAY = """
import os, sys, time
from pathlib import Path
import ray
sys.path.insert(0, {tests!r})
from test_reproduce import tiny
from vfpilco.studies.reproduce import reproduce

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

@ray.remote(num_cpus=1)
def who():
    time.sleep(1)
    return os.getpid()

assert len(set(ray.get([who.remote(), who.remote()]))) == 2
folder = Path({folder!r})
done = reproduce(tiny("default"), seeds=2, out=folder / "runs", results=folder, engine="ray")
assert not done.failed, done.failed
"""


@pytest.mark.long
def test_ray_gives_the_same_numbers_on_more_than_one_worker(made, tmp_path):
    _, folder, _ = made
    program = ON_RAY.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        {record.seed: record.results for record in read(place / "cartpole-memory.jsonl")}
        for place in (folder, tmp_path)
    )
    assert ours == theirs
    for seed in (0, 1):
        for name in ("trials/002.csv", "policies/002.safetensors"):
            run = Path("runs") / f"default-seed{seed}" / name
            assert (tmp_path / run).read_bytes() == (folder / run).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cartpole-memry"], "did you mean 'cartpole-memory'?"),
        (["cartpole-memory", "--seeds", "0"], "seeds must be an integer of at least 1"),
        (["cartpole-memory", "--only", "pmss"], "did you mean 'pms'?"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, words, capsys, tmp_path):
    assert main(["reproduce", *arguments, "--results", str(tmp_path), "--out", str(tmp_path / "runs")]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_damaged_results_file_is_named(tmp_path, capsys):
    (tmp_path / "cartpole-memory.jsonl").write_text(json.dumps({"seed": 1}) + "\n")
    assert main(["reproduce", "cartpole-memory", "--results", str(tmp_path), "--out", str(tmp_path / "runs")]) == 2
    assert "cartpole-memory.jsonl is damaged in line 1" in capsys.readouterr().err


def test_an_outcome_names_its_run():
    job = jobs(tiny("default"), 1)[0]
    assert job.name == "default-seed0"
    assert Outcome(job, None, "broken").problem == "broken"


# -- the worker --------------------------------------------------------------------------------------------------


def worker(order: Order) -> list[str]:
    return [sys.executable, "-m", "vfpilco.studies.worker", order.to_json()]


def test_an_order_says_everything_about_a_run():
    job = jobs(tiny("default"), 2)[1]
    order = Order.from_json(Order.of(job, Path("x")).to_json())
    assert (order.task, order.trials, order.seed, order.out) == ("cartpole", 2, 1, "x")
    assert Settings.from_description(order.settings) == job.settings


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("{}", "missing required field `task`"),
        ("no JSON", "Expecting value"),
        (Order("cartpol", 1, 0, {}, "run").to_json(), "did you mean 'cartpole'?"),
        (Order("cartpole", 1, 0, {}, "run").to_json(), "These are not settings of this version."),
        (Order("cartpole", 0, 0, Settings().described(), "run").to_json(), "trials must be an integer of at least 1"),
    ],
)
def test_a_worker_refuses_a_wrong_order_in_one_sentence(order, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main_of_worker([order]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert words in printed.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_a_stopped_worker_can_be_resumed(number, made, tmp_path):
    study, folder, _ = made
    order = Order.of(jobs(study, 1)[0], tmp_path / "run")
    process = subprocess.Popen(worker(order), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run/trials/000.csv").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    out, error = process.communicate(timeout=100)
    assert (process.returncode, out, error) == (130, "", "The run was interrupted: it can be resumed.\n")
    assert not (tmp_path / "run/policies/002.safetensors").exists()
    done = subprocess.run(worker(order), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for name in ("results.jsonl", "trials/002.csv", "policies/002.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (folder / "runs/default-seed0" / name).read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
def test_a_stopped_study_ends_its_workers(number, tmp_path):
    command = [sys.executable, "-m", "vfpilco", "reproduce", "cartpole-memory", "--seeds", "1", "--workers", "1"]
    command += ["--out", str(tmp_path / "runs"), "--results", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 300
    while not list(tmp_path.glob("runs/*/trials/000.csv")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(number)
    _, error = process.communicate(timeout=120)
    assert (process.returncode, one_sentence(error)) == (130, "vfpilco: stopped.\n")
    assert [folder.name for folder in tmp_path.glob("runs/*") if lock.is_held(folder)] == []
    assert not list(tmp_path.glob("*.jsonl"))  # No run has finished.


# -- what studies keep of their runs -----------------------------------------------------------------------------


@pytest.mark.long
def test_ball_study_tries_every_policy_from_ten_starts(tmp_path):
    pms = next(c for c in ballplate.BALL.configurations if c.name == "pms")
    quick = (Configuration("default", TINY), Configuration("pms", {**pms.settings, **TINY}))
    study = dataclasses.replace(ballplate.BALL, trials=2, configurations=quick)
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path)
    assert not done.failed
    for record in done.records:
        tests = np.array([tests.measures["final distance"] for tests in record.tests])
        assert tests.shape == (2, 10)
        np.testing.assert_allclose(ballplate.distances([record]), [tests.mean(1)])
        for path, distance in zip(record.test_paths, tests[1], strict=True):
            expected = 150 if len(path) < 91 else 1e3 * np.hypot(*path[-1][:2])
            assert distance == pytest.approx(expected, abs=0.02)
    starts = [[path[0] for path in record.test_paths] for record in done.records]
    np.testing.assert_array_equal(*starts)  # the same for both methods
    assert "at most 13.4 mm" in done.table
    assert (tmp_path / "ballplate.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.long
def test_furuta_study_keeps_the_particles_that_predicted_the_last_trial(tmp_path):
    study = dataclasses.replace(
        furuta.SWING_UP, trials=1, configurations=(Configuration("default", TINY),), particles=3
    )
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path)
    assert not done.failed
    (record,) = done.records
    predicted = RunFolder(tmp_path / "runs/default-seed0").artifact(PREDICTION, 1)[0].q
    np.testing.assert_allclose(record.particles, predicted[:, :3], atol=1e-3)
    assert np.shape(record.executed) == (91, 2)
    assert (tmp_path / "furuta.png").read_bytes()[:4] == b"\x89PNG"
