from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.storage.runfolder import RunFolder
from vfpilco.studies import STUDIES, cartpole, figures, rigs, ur5
from vfpilco.studies.base import Configuration, Study, jobs, settings_of
from vfpilco.studies.engines import Outcome
from vfpilco.studies.reproduce import Audience, commands, read, reproduce
from vfpilco.studies.statistics import chance_of_fewer, interval, success_table

TINY = {"steps": 4, "particles": 8, "basis_functions": 5, "inducing": 16}


def tiny(*names: str, **settings: object) -> Study:
    configurations = tuple(Configuration(name, {**TINY, **settings}, (0.0, 0.2)) for name in names)
    return dataclasses.replace(cartpole.MEMORY, trials=2, configurations=configurations)


class Listener(Audience):
    def __init__(self):
        self.begun, self.outcomes, self.left = None, [], []

    def begin(self, total, standing, missing):
        self.begun = (total, standing, missing)

    def finished(self, outcome, done, missing, left):
        self.outcomes.append(outcome)
        self.left.append(left)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Study, Path, Listener]:
    """A study of two runs, made once."""
    folder = tmp_path_factory.mktemp("study")
    study, listener = tiny("default"), Listener()
    reproduce(study, seeds=2, out=folder / "runs", results=folder, audience=listener)
    return study, folder, listener


def test_every_run_is_kept_with_table_and_figure(made):
    study, folder, listener = made
    assert listener.begun == (2, 0, 2)
    assert listener.left[-1] == 0
    records = read(folder / "cartpole-memory.jsonl")
    assert sorted(record["seed"] for record in records) == [0, 1]
    for record in records:
        run = RunFolder(folder / "runs" / f"default-seed{record['seed']}")
        assert record["results"] == run.results()
        assert record["settings"] == run.header()["settings"]
        assert np.array(record["one_step_errors"]).shape == (2, 88)
        rms = np.sqrt(np.mean(np.array(record["one_step_errors"]) ** 2, axis=1))
        np.testing.assert_allclose(rms, record["results"][-1]["model"]["one_step_error"], rtol=1e-2)
    page = (folder / "cartpole-memory.md").read_text()
    assert success_table(study, records) in page
    assert "\n    vfpilco reproduce cartpole-memory --seeds 2\n" in page
    assert (folder / "cartpole-memory.png").read_bytes()[:4] == b"\x89PNG"


def test_the_page_holds_the_commands_that_make_its_runs():
    runs = [("a", 2), ("b", 1), ("c", 2)]
    records = [{"configuration": name, "seed": seed} for name, seeds in runs for seed in range(seeds)]
    reproducing = "vfpilco reproduce cartpole-memory --seeds"
    assert commands(tiny("a", "b", "c", "d"), records) == [f"{reproducing} 2 --only a c", f"{reproducing} 1 --only b"]
    assert commands(tiny("b"), records) == [f"{reproducing} 1"]


def test_what_stands_in_the_results_is_not_run_again(made):
    study, folder, _ = made
    before = (folder / "cartpole-memory.jsonl").read_bytes()
    again = Listener()
    done = reproduce(study, seeds=2, out=folder / "elsewhere", results=folder, audience=again)
    assert again.begun == (2, 2, 0)
    assert len(done.records) == 2
    assert not (folder / "elsewhere").exists()
    assert (folder / "cartpole-memory.jsonl").read_bytes() == before


def test_a_run_from_before_a_setting_existed_counts_as_one_with_its_default(made, tmp_path):
    study, folder, _ = made
    lines = [json.loads(line) for line in (folder / "cartpole-memory.jsonl").read_text().splitlines()]
    for line, clip in zip(lines, (None, 2.0), strict=True):
        del line["settings"]["clip"]
        line["settings"] |= {} if clip is None else {"clip": clip}
    (tmp_path / "cartpole-memory.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    old = read(tmp_path / "cartpole-memory.jsonl")
    assert [any(job.is_of(record) for record in old) for job in jobs(study, 2)] == [
        record["settings"].get("clip", 0.0) == 0.0 for record in sorted(old, key=lambda record: record["seed"])
    ]


def test_a_run_is_known_by_its_settings_and_seed(made):
    study, folder, _ = made
    records = read(folder / "cartpole-memory.jsonl")
    same, other = jobs(study, 1)[0], jobs(tiny("default", m_u=0), 1)[0]
    assert any(same.is_of(record) for record in records)
    assert not any(other.is_of(record) for record in records)
    assert not any(dataclasses.replace(same, trials=3).is_of(record) for record in records)


def test_settings_that_a_record_does_not_know_had_no_effect_and_those_of_a_later_version_are_kept():
    then = settings_of({"settings": {"steps": 7, "of a later version": 1}})
    assert (then["steps"], then["noise"], then["credit"], then["jitter"]) == (7, "white", 1.0, 0.0)
    assert then["of a later version"] == 1


def test_every_configuration_is_drawn_however_many_there_are():
    names = [f"row {i}" for i in range(3 * len(figures.COLOURS))]
    drawn = figures.groups(tiny(*names), [{"configuration": name} for name in names])
    assert [name for name, _, _ in drawn] == names


def test_models_and_successes_are_drawn_in_the_same_colours():
    both = [
        {
            name: colour
            for name, colour, _ in figures.groups(study, [{"configuration": c.name} for c in study.configurations])
        }
        for study in (cartpole.MEMORY, cartpole.MODEL)
    ]
    assert both[1].items() <= both[0].items()


def test_a_failed_run_is_told_and_stops_no_other(tmp_path):
    study = dataclasses.replace(
        tiny("default"),
        configurations=(Configuration("odd", {**TINY, "particles": 7}), Configuration("default", TINY)),
    )
    listener = Listener()
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path, audience=listener)
    assert [outcome.job.configuration for outcome in done.failed] == ["odd"]
    assert "shards must divide particles" in done.failed[0].problem
    assert [record["configuration"] for record in done.records] == ["default"]
    assert "odd" not in done.table


ON_RAY = """
import os, sys, time
from pathlib import Path
import ray
sys.path.insert(0, {tests!r})
from test_studies import tiny
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


def test_ray_gives_the_same_numbers_on_more_than_one_worker(made, tmp_path):
    _, folder, _ = made
    program = ON_RAY.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        {record["seed"]: record["results"] for record in read(place / "cartpole-memory.jsonl")}
        for place in (folder, tmp_path)
    )
    assert ours == theirs
    for seed in (0, 1):
        for name in ("trials/002.csv", "policies/002.safetensors"):
            run = Path("runs") / f"default-seed{seed}" / name
            assert (tmp_path / run).read_bytes() == (folder / run).read_bytes()


def test_published_rates_stand_beside_ours_with_a_test():
    assert interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
    assert interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-3)
    assert chance_of_fewer(10, 10, 1.0, 50) == 1.0
    assert chance_of_fewer(0, 20, 0.2, 50) == pytest.approx(0.0263, abs=5e-4)
    records = [
        {"configuration": "default", "results": [{"kind": "explore"}, *({"kind": "policy", "success": s} for s in row)]}
        for row in ((False, True), (False, False))
    ]
    lines = success_table(tiny("default"), records).splitlines()
    assert lines[2] == "| default | 2 | 0 (0 to 66) | 50 (9 to 91) |"
    assert lines[3].startswith("| … published | 50 | 0, p = 1.00 | 20, p = 0.9")


def test_the_studies_are_those_of_the_paper(capsys):
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert (
        [line.split()[0] for line in listed]
        == list(STUDIES)
        == ["cartpole-memory", "cartpole-inputs", "cartpole-model", "ur5", "furuta", "ballplate"]
    )
    memory = {c.name: cartpole.MEMORY.settings(c) for c in cartpole.MEMORY.configurations}
    assert {(s["m_q"], s["m_u"]) for name, s in memory.items() if name.startswith("vf")} == {
        (1, 0),
        (2, 0),
        (1, 1),
        (2, 1),
    }
    assert all((s["prior_mean"], s["kernel"]) == ("zero", "se") for name, s in memory.items() if name.startswith("vf"))
    assert memory["constant-velocity"] == {**memory["vf-mq2-mu1"], "prior_mean": "constant-velocity"}
    assert memory["pms"]["method"] == "pms"
    assert memory["default"] == dataclasses.asdict(vfpilco.task("cartpole").settings)
    inputs = {c.name: cartpole.INPUTS.settings(c) for c in cartpole.INPUTS.configurations}
    assert inputs["naive"] == {**inputs["differences"], "inputs": "naive"}
    assert cartpole.INPUTS.trials == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cartpole-memry"], "did you mean 'cartpole-memory'?"),
        (["cartpole-memory", "--seeds", "0"], "seeds must be a whole number of at least 1"),
        (["cartpole-memory", "--only", "pmss"], "did you mean 'pms'?"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(arguments, words, capsys, tmp_path):
    assert main(["reproduce", *arguments, "--results", str(tmp_path), "--out", str(tmp_path / "runs")]) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_damaged_results_file_is_named(tmp_path, capsys):
    (tmp_path / "cartpole-memory.jsonl").write_text(json.dumps({"seed": 1}) + "\n")
    assert main(["reproduce", "cartpole-memory", "--results", str(tmp_path), "--out", str(tmp_path / "runs")]) == 2
    assert "cartpole-memory.jsonl is damaged in line 1" in capsys.readouterr().err


def test_an_outcome_tells_its_run():
    job = jobs(tiny("default"), 1)[0]
    assert job.name == "default-seed0"
    assert Outcome(job, None, "broken").problem == "broken"
    assert job.arguments(Path("x"))[:2] == ["learn", "cartpole"]
    assert "--resume" in job.arguments(Path("x"))


def arm_record(seed: int, errors: list[float]) -> dict:
    goal = vfpilco.task("ur5").path(vfpilco.task("ur5").reference)
    rows = [{"kind": "explore" if k == 0 else "policy", "measures": {ur5.ERROR: e}} for k, e in enumerate(errors)]
    return {
        "configuration": "default",
        "seed": seed,
        "seconds": 600.0,
        "results": rows,
        "paths": [(goal * (1 + 0.001 * e)).tolist() for e in errors],
    }


def test_the_arms_study_tells_errors_trial_by_trial(tmp_path):
    records = [arm_record(0, [200.0, 9.0, 2.5, 1.5]), arm_record(1, [150.0, 5.0, 1.9, 2.1])]
    table = ur5.CIRCLE.table(ur5.CIRCLE, records)
    assert "| default | 2 | 175.00 (largest 200.00) | 7.00 (largest 9.00) | 2.20 (largest 2.50) |" in table
    assert "| 1 of 2 | 10 |" in table
    assert "| default, seed 1 | 150.00 | 5.00 | 1.90 | 2.10 |" in table
    ur5.CIRCLE.figure(ur5.CIRCLE, records, tmp_path / "ur5.png")
    assert (tmp_path / "ur5.png").read_bytes()[:4] == b"\x89PNG"


def test_ball_study_tries_every_policy_from_ten_starts(tmp_path):
    pms = next(c for c in rigs.BALL.configurations if c.name == "pms")
    quick = (Configuration("default", TINY), Configuration("pms", {**pms.settings, **TINY}))
    study = dataclasses.replace(rigs.BALL, trials=2, configurations=quick)
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path)
    assert not done.failed
    for record in done.records:
        tests = np.array([tests["measures"]["final distance"] for tests in record["tests"]])
        assert tests.shape == (2, 10)
        np.testing.assert_allclose(rigs.distances([record]), [tests.mean(1)])
        for path, distance in zip(record["test_paths"], tests[1], strict=True):
            expected = 150 if len(path) < 91 else 1e3 * np.hypot(*path[-1][:2])
            assert distance == pytest.approx(expected, abs=0.02)
    starts = [[path[0] for path in record["test_paths"]] for record in done.records]
    np.testing.assert_array_equal(*starts)  # the same for both methods
    assert "at most 13.4 mm" in done.table
    assert (tmp_path / "ballplate.png").read_bytes()[:4] == b"\x89PNG"


def test_furuta_study_keeps_the_particles_that_predicted_the_last_trial(tmp_path):
    study = dataclasses.replace(rigs.FURUTA, trials=1, configurations=(Configuration("default", TINY),), particles=3)
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path)
    assert not done.failed
    (record,) = done.records
    predicted = RunFolder(tmp_path / "runs/default-seed0").arrays("predictions", 1)[0]["q"]
    np.testing.assert_allclose(record["particles"], predicted[:, :3], atol=1e-3)
    assert np.shape(record["executed"]) == (91, 2)
    assert (tmp_path / "furuta.png").read_bytes()[:4] == b"\x89PNG"
