"""Resuming runs: their settings, their number of trials, and lists of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from folders import GIVEN_FLAGS, TINY_FLAGS, content, learn, one_sentence
from resuming import check_resumed, listed_runs, tiny_run

from vfpilco.cli.main import main


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--steps", "13"], "learned with steps 12, got 13: leave --steps out"),
        (["--basis-functions", "6"], "learned with basis_functions 5, got 6: leave --basis-functions out"),
        (["--learning-rate", "0.02"], "learned with learning_rate 0.01, got 0.02"),
        (["--policy", "mlp"], "learned with policy rbf, got mlp: leave --policy out"),
        (["--seed", "1"], "learned with seed 0, got 1"),
        (["--trials", "0"], "trials must be"),
    ],
)
def test_a_different_setting_is_refused_by_name(halfway, capsys, flags, words):
    before = content(halfway)
    assert learn(halfway, "--resume", *flags) == 2
    assert words in one_sentence(capsys.readouterr().err)
    assert {**before, ".running.json": b""} == {**content(halfway), ".running.json": b""}


def test_the_same_settings_may_be_given_again(halfway, tiny, capsys):
    check_resumed(halfway, tiny, capsys, *TINY_FLAGS, "--seed", "0")


def test_without_settings_those_of_the_run_are_used(halfway, tiny, capsys):
    check_resumed(halfway, tiny, capsys)
    check_resumed(halfway, tiny, capsys)


def test_what_was_chosen_from_the_data_is_chosen_again(tmp_path, capsys, hurry):
    flags = [*TINY_FLAGS[: -len(GIVEN_FLAGS)]]
    (tmp_path / "moments").mkdir()
    chosen = tiny_run(tmp_path / "run", tmp_path / "moments", flags)
    assert (chosen.run / "results.jsonl").read_text().count("Chosen: ") >= 3  # memory, kernel, jitter
    for name in ("trials/000.csv", "checkpoint.safetensors"):
        folder = Path(shutil.copytree(chosen.moment_with(name), tmp_path / Path(name).stem))
        check_resumed(folder, chosen, capsys)


def test_the_number_of_trials_may_be_raised_but_not_lowered(halfway, capsys):
    assert learn(halfway, "--resume", "--trials", "2") == 0
    rows = [json.loads(line) for line in (halfway / "results.jsonl").read_text().splitlines()]
    assert [row.get("trial") for row in rows] == [None, 1, 2]
    assert json.loads((halfway / "run.json").read_text())["trials"] == 2
    assert learn(halfway, "--resume", "--trials", "3") == 0
    assert len((halfway / "results.jsonl").read_text().splitlines()) == 4
    assert learn(halfway, "--resume", "--trials", "2") == 2
    assert "is a run of 3 trials, got 2" in one_sentence(capsys.readouterr().err)


def test_resuming_needs_a_folder(capsys):
    assert main(["learn", "cartpole", "--resume"]) == 2
    assert "--out" in one_sentence(capsys.readouterr().err)


def test_resuming_in_a_new_folder_starts_a_run(tiny, tmp_path, capsys, hurry):
    check_resumed(tmp_path / "new", tiny, capsys, *TINY_FLAGS)


def test_a_folder_with_other_files_is_left_alone(tmp_path, capsys, hurry):
    (tmp_path / "mine.txt").write_text("mine")
    assert learn(tmp_path, "--resume", *TINY_FLAGS) == 2
    assert "is not empty" in one_sentence(capsys.readouterr().err)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_copied_run_can_be_resumed(halfway, tiny, tmp_path, capsys):
    shutil.copytree(halfway, tmp_path / "some" / "where")
    shutil.rmtree(halfway)
    check_resumed(tmp_path / "some" / "where", tiny, capsys)


# -- runs --------------------------------------------------------------------------------------------------------


def test_runs_are_listed_with_their_status(tiny, halfway, tmp_path, capsys):
    shutil.copytree(tiny.run, tmp_path / "deep/finished")
    shutil.copytree(tiny.run, tmp_path / "damaged")
    (tmp_path / "damaged/trials/001.csv").write_text("t,p\n")
    runs = {Path(run["run"]).name: run for run in listed_runs(tmp_path, capsys)}
    assert {name: run["state"] for name, run in runs.items()} == {
        "damaged": "damaged",
        "finished": "finished",
        "run": "interrupted",
    }
    for name, done in (("finished", 1), ("run", 0)):
        run = runs[name]
        assert (run["task"], run["seed"], run["trials"], run["done"]) == ("cartpole", 0, 1, done)
        assert run["problem"] is None
    row = json.loads(tiny.content["results.jsonl"].splitlines()[1])
    assert runs["finished"]["best_cost"] == row["cost"]
    assert (runs["finished"]["first_success"] is not None) == row["success"]
    assert runs["run"]["best_cost"] is None
    assert "trials/001.csv" in runs["damaged"]["problem"]
    assert main(["runs", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    for word in ("finished", "interrupted", "damaged", "cartpole", "1 of 1", "0 of 1"):
        assert word in output


def test_a_folder_without_runs_is_reported(tmp_path, capsys):
    assert main(["runs", str(tmp_path)]) == 2
    assert "no run in" in one_sentence(capsys.readouterr().err)
    assert main(["runs", str(tmp_path / "none")]) == 2
    assert "There is no folder" in one_sentence(capsys.readouterr().err)
