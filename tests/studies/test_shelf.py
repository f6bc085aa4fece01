"""The study of the machines in examples/machines."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from vfpilco.cli.main import main
from vfpilco.data.results import TrialResult
from vfpilco.storage.runfolder import RunFolder
from vfpilco.studies.base import Configuration, current, jobs
from vfpilco.studies.records import RunRecord
from vfpilco.studies.reproduce import reproduce
from vfpilco.studies.shelf import FOLDER, SHELF, first_successes
from vfpilco.studies.worker import Order
from vfpilco.trials.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def record(name: str, seed: int, *success: bool, **more) -> RunRecord:
    """A run that explored once and then executed policies with these successes."""
    rows = [TrialResult(cost=9.0, success=False, experience_s=3.0, kind="explore")]
    rows += [TrialResult(cost=5.0, success=s, experience_s=6.0, kind="policy") for s in success]
    task = f"{FOLDER}/{name.replace('-', '_')}.py"
    fixed = {"task": task, "trials": len(success), "settings": Settings().described(), "results": rows}
    return RunRecord(configuration=name, seed=seed, **{**fixed, **more})


RECORDS = [
    *(record("helicopter", seed, *[False] * seed, *[True] * (6 - seed)) for seed in range(5)),
    *(record("ball-and-beam", seed, *[seed == 3] * 6) for seed in range(4)),
]


def test_every_machine_is_run_with_default_settings_and_seeds_0_to_4():
    assert sorted(SHELF.task_of(c) for c in SHELF.configurations) == sorted(
        str(file.relative_to(ROOT)) for file in (ROOT / FOLDER).glob("*.py")
    )
    assert all(SHELF.settings(c) == Settings() for c in SHELF.configurations)
    assert (SHELF.trials, SHELF.published_runs) == (6, 5)
    order = Order.of(jobs(SHELF, 1)[1], Path("x"))
    assert (order.task, order.trials, order.seed) == (f"{FOLDER}/ball_and_beam.py", 6, 0)


def test_a_run_counts_for_its_own_machine_only():
    helicopter, wrong, other = (
        record("helicopter", 0, *[True] * 6),
        record("helicopter", 1, *[True] * 6, task=f"{FOLDER}/ball_and_beam.py"),
        record("helicopter", 2, *[True] * 6, settings=Settings().replace(steps=7).described()),
    )
    assert current(SHELF, [helicopter, wrong, other]) == [helicopter]
    finished = [job.name for job in jobs(SHELF, 1) if any(job.is_of(record) for record in RECORDS)]
    assert finished == ["ball-and-beam-seed0", "helicopter-seed0"]


def test_the_table_has_solved_runs_and_the_median_first_success():
    np.testing.assert_array_equal(first_successes(RECORDS), [1, 2, 3, 4, 5, *[np.inf] * 3, 1])
    assert SHELF.table(SHELF, RECORDS).splitlines() == [
        "| machine | solved within 6 trials | median first successful trial |",
        "|---|---|---|",
        "| ball-and-beam | 1 of 4 | none |",
        "| helicopter | 5 of 5 | 3 |",
        "| all | 6 of 9 | 4 |",
    ]


def test_the_figure_is_drawn(tmp_path):
    SHELF.figure(SHELF, RECORDS, tmp_path / "shelf.png")
    assert (tmp_path / "shelf.png").read_bytes()[:4] == b"\x89PNG"


def test_without_the_task_files_it_is_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "shelf"]) == 2
    printed = capsys.readouterr().err
    assert "needs the task files in examples/machines" in printed
    assert "run it in the folder of the repository" in printed
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_machine_of_the_shelf_is_learned_and_resumed(tmp_path):
    tiny = {"steps": 4, "particles": 8, "basis_functions": 5, "inducing": 16}
    slider = next(c for c in SHELF.configurations if c.name == "end-stop-slider")
    study = dataclasses.replace(SHELF, trials=2, configurations=(Configuration(slider.name, tiny, task=slider.task),))
    done = reproduce(study, seeds=1, out=tmp_path / "runs", results=tmp_path)
    assert not done.failed
    assert done.records[0].task == slider.task
    assert done.records[0].results == RunFolder(tmp_path / "runs/end-stop-slider-seed0").results()
    assert "| end-stop-slider |" in (tmp_path / "shelf.md").read_text()
    again = reproduce(study, seeds=1, out=tmp_path / "elsewhere", results=tmp_path)
    assert (len(again.records), (tmp_path / "elsewhere").exists()) == (1, False)


def test_a_run_that_ended_early_counts_with_the_trials_it_made():
    assert first_successes([record("helicopter", 0, False, True, True, trials=6)]).tolist() == [2.0]
    assert Order.of(jobs(SHELF, 1)[0], Path("x")).until_successes == 2
