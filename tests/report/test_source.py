"""What a report knows about a run: with its task, without it, and with classes of the user's own."""

import dataclasses
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from vfpilco.common.errors import UserError
from vfpilco.data.results import CostBand
from vfpilco.data.risk import RangeRisk, Risk
from vfpilco.model.kernels import SE, Poly
from vfpilco.policy.rbf import RBF
from vfpilco.report import sentences, write_comparison, write_report
from vfpilco.report.comparison import study_data
from vfpilco.report.picture import policy_row
from vfpilco.report.settings import settings_text
from vfpilco.report.source import Source, task_if_any
from vfpilco.state.filtered import Filtered
from vfpilco.state.window import VelocityFree
from vfpilco.storage.runfolder import RunFolder
from vfpilco.trials.settings import Settings

SAMPLE = Path(__file__).parents[1] / "samples" / "run-format3"
THEN = Settings().replace(
    **{"state": VelocityFree(2, 1), "kernel": SE() * Poly(1, on=("rates", "inputs")), "inducing": 128},
    **{"policy": RBF(30), "particles": 40, "steps": 20, "tolerance": 0.002, "gradient_decay": 0.97, "clip": 0.0},
    input_change_penalty=0.0,
)
"""The settings of the sample; most of them were defaults once."""
COMMAND = (
    "vfpilco learn cartpole --seed 0 --trials 2 --particles 40 --steps 20 --tolerance 0.002 --gradient-decay 0.97 "
    "--clip 0.0 --input-change-penalty 0.0 "
    "--kernel 'se * poly1(rates, inputs)' --inducing 128 --policy rbf --basis-functions 30 --m-q 2 --m-u 1"
)


@dataclass(frozen=True)
class Threshold:
    """A policy of the user's own, as far as a header names it."""

    level: float = 0.5
    names: tuple[str, ...] = ("a", "b")


@pytest.fixture
def folder(tmp_path):
    return RunFolder(shutil.copytree(SAMPLE, tmp_path / "run"))


def page_data(file):
    return json.loads(re.search(r'id="data">(.*?)</script>', file.read_text(encoding="utf-8"), re.DOTALL)[1])


def rewrite(folder, **changes):
    """Change the header of a run."""
    header = dataclasses.replace(folder.header(), **changes)
    folder.write_header(header)
    return header


def test_a_run_of_format_3_is_read_like_a_new_one(folder, task):
    source = Source(folder, task)
    assert [result.kind for result in source.results] == ["explore", "policy", "policy"]
    assert [(i, result.trial) for i, result in source.policies] == [(1, 1), (2, 2)]
    assert source.command == COMMAND
    assert source.settings == THEN
    assert source.predicted(source.results[0]) is None
    assert source.predicted(source.results[2]).q.shape == (91, 40, 2)
    assert len(source.optimisation_costs(source.results[2])) == 20
    assert policy_row(folder, 1)[1].trial == 1


def test_without_its_task_a_run_has_dials_and_the_same_command(folder):
    rewrite(folder, task=dataclasses.replace(folder.header().task, name="mine"))
    assert task_if_any(folder) is None
    source = Source(folder)
    assert source.command == COMMAND.replace("cartpole", "mine")
    assert {shape.kind for shape in source.scenes(0).real.shapes} >= {"label", "disc", "line"}
    data = page_data(write_report(folder))
    assert data["about"]["settings"][1] == ["kernel", "SE() * Poly(1, on=('rates', 'inputs'))", False]
    assert data["velocities"] is False


def test_a_task_that_is_not_that_of_the_run_is_refused(folder):
    with pytest.raises(UserError, match="is a run of task 'cartpole', not of 'furuta'"):
        task_if_any(folder, "furuta")


def test_classes_of_the_users_own_are_known_with_the_task_and_described_without_it(folder, task):
    own = dataclasses.replace(task, settings={**task.settings, "policy": Threshold(0.7)})
    settings = Settings().replace(**own.settings, steps=20)
    rewrite(folder, settings=settings.described())
    assert Source(folder, own).settings == settings
    assert Source(folder, own).command.endswith("--trials 2 --steps 20")
    without = Source(folder)
    assert without.settings is None
    assert without.command == "vfpilco learn cartpole --seed 0 --trials 2"
    text = settings_text(without)
    assert text["policy"] == "Threshold(level=0.7, names=('a', 'b'))"
    assert text["steps"] == "20"
    assert text["inducing"] == "default"


def test_a_run_that_chose_its_state_has_the_default_one(folder, task):
    rewrite(folder, settings=Settings().described())
    assert "state VelocityFree" in page_data(write_report(folder, task=task))["details"]
    rewrite(folder, settings={**Settings().described(), "policy": {"type": "Unknown"}})
    assert "state VelocityFree" in page_data(write_report(folder, task=task))["details"]


def test_the_command_names_the_plant_that_was_driven(folder, task):
    rewrite(folder, plant="tcp://bench:5555")
    assert Source(folder, task).command == COMMAND.replace("cartpole", "cartpole --plant tcp://bench:5555")


def test_a_run_of_logged_trials_is_repeated_with_its_logs(folder, task):
    rewrite(folder, external=True, task_file="/home/me/mine.py")
    begin = f"vfpilco tell {folder.path}-again {folder.path}/trials/000.csv --task /home/me/mine.py --seed 0"
    assert Source(folder).command.startswith(begin)


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ([], "(20.0 to 40.0) with a probability of success of 50 %; the real"),
        ([RangeRisk("p", 0.0)], "of 50 % and none of 40 particles leaving a safe range; the real"),
        (
            [RangeRisk("p", 0.12, "above", 1.3)],
            "of 50 % and a risk of 12 % of leaving a safe range (p 12 % (above, at about 1.3 s)); the real",
        ),
    ],
)
def test_the_sentence_of_a_trial_has_its_predicted_risk(folder, monkeypatch, ranges, said):
    leaving = max((each.probability for each in ranges), default=0.0)
    risk, band = Risk(40, leaving, ranges), CostBand(30.0, 20.0, 40.0)
    source = Source(folder)
    row = dataclasses.replace(source.results[2], risk=risk, predicted_cost=band, success_chance=0.5)
    monkeypatch.setitem(vars(source), "results", [row])
    assert said in sentences.of_trials(source)[0]


def test_a_state_with_velocities_has_noise_of_velocity_changes(folder, task):
    rewrite(folder, settings=Settings().replace(state=Filtered()).described())
    data = page_data(write_report(folder, task=task))
    assert data["velocities"] is True
    assert "state Filtered" in data["details"]


def test_a_damaged_line_of_the_timings_does_not_prevent_a_report(folder, task):
    with (folder.path / "timings.jsonl").open("a") as file:
        file.write('{"trial": 2, "pha')
    data = page_data(write_report(folder, task=task))
    assert data["sentences"]["time"][0].startswith("The run took ")


def test_a_comparison_shows_the_settings_that_differ(folder, tmp_path, task):
    other = RunFolder(shutil.copytree(SAMPLE, tmp_path / "other"))
    rewrite(other, settings=THEN.replace(particles=80).described())
    data = page_data(write_comparison([folder.path, other.path], [], tmp_path / "a.html"))
    assert [run["differing"] for run in data["runs"]] == [{"particles": "40"}, {"particles": "80"}]
    assert [len(run["results"]) for run in data["runs"]] == [2, 2]


@pytest.mark.parametrize("name", ["cartpole-memory", "cartpole-zero", "ur5"])
def test_results_of_published_studies_are_compared(name):
    study = study_data(Path(__file__).parents[2] / "docs" / "results" / f"{name}.jsonl")
    assert study["configurations"]
    for configuration in study["configurations"]:
        assert configuration["trials"][0]["runs"] == configuration["runs"]
        assert all(trial["low"] <= trial["median"] <= trial["high"] for trial in configuration["trials"])
