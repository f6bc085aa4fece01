"""The studies themselves: their configurations, tables and figures, and the runs that are committed."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.data.results import TrialResult
from vfpilco.machines.ur5.plant import flange
from vfpilco.model.kernels import SE, Poly
from vfpilco.model.noise import CorrelatedNoise, WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, ZeroMean
from vfpilco.policy.rbf import RBF
from vfpilco.state.filtered import Filtered
from vfpilco.state.window import VelocityFree
from vfpilco.studies import STUDIES, ballplate, cartpole, furuta, ur5
from vfpilco.studies.base import Configuration, Study, current, jobs, settings_of
from vfpilco.studies.groups import COLOURS, groups
from vfpilco.studies.page import commands
from vfpilco.studies.records import RunRecord, append, read
from vfpilco.studies.statistics import chance_of_fewer, interval, success_table
from vfpilco.trials.settings import Settings

RESULTS = Path(__file__).parents[2] / "docs/results"


def named(*names: str) -> Study:
    """The cart-pole study with other configurations."""
    configurations = tuple(Configuration(name, {}, (0.0, 0.2)) for name in names)
    return dataclasses.replace(cartpole.MEMORY, trials=2, configurations=configurations)


def record(configuration: str, seed: int = 0, *results: TrialResult, **more) -> RunRecord:
    fixed = {"task": "cartpole", "trials": 2, "settings": {}}
    return RunRecord(configuration=configuration, seed=seed, results=list(results), **{**fixed, **more})


def executed(trial: int, **more) -> TrialResult:
    """Trial 0 is an exploration."""
    kind = "policy" if trial else "explore"
    return TrialResult(**{"cost": 1.0, "success": False, "experience_s": 3.0 * trial, "kind": kind, **more})


# -- the runs that are committed ---------------------------------------------------------------------------------

VELOCITY_FREE = {
    "default": 20,
    "vf-mq2-mu1": 20,
    "constant-velocity": 20,
    "vf-mq1-mu1": 10,
    "vf-mq1-mu0": 10,
    "vf-mq2-mu0": 10,
}
COMMITTED = {
    "cartpole-memory": {**VELOCITY_FREE, "pms": 20},
    "cartpole-inputs": {"differences": 10, "naive": 10},
    "cartpole-model": VELOCITY_FREE,
    "ur5": {"default": 5},
    "furuta": {"default": 10, "pms": 10},
    "ballplate": {"default": 10, "linear": 10, "pms": 10},
}
"""The number of current runs of every configuration in docs/results."""


@pytest.mark.parametrize("name", COMMITTED)
def test_every_committed_run_counts(name):
    study = STUDIES[name]
    records = read(RESULTS / study.file)
    counted = current(study, records)
    assert Counter(record.configuration for record in counted) == COMMITTED[name]
    wanted = jobs(study, 1 + max(record.seed for record in counted))
    assert sum(any(job.is_of(record) for record in counted) for job in wanted) == len(counted)


@pytest.mark.parametrize("name", COMMITTED)
def test_the_committed_page_has_the_table_of_the_committed_runs(name):
    study = STUDIES[name]
    counted = current(study, read(RESULTS / study.file))
    page = (RESULTS / f"{name}.md").read_text()
    assert study.table(study, counted) in page
    assert all(f"\n    {command}\n" in page for command in commands(study, counted))


# -- records -----------------------------------------------------------------------------------------------------


def test_settings_that_a_record_does_not_have_had_no_effect(task):
    then = settings_of(record("default", settings={"steps": 7}), task)
    assert then is not None
    nothing_chosen = {"state": VelocityFree(2, 1), "kernel": SE(), "inducing": 128}
    without_effect = {"noise": WhiteNoise(), "gradient_decay": 1.0, "clip": 0.0, "input_change_penalty": 0.0}
    assert then == Settings().replace(steps=7, policy=RBF(200), **nothing_chosen, **without_effect)


def test_a_record_of_a_later_version_is_of_no_run_but_stays_in_its_file(task, tmp_path):
    later = record("default", settings={"steps": 7, "of a later version": 1})
    assert settings_of(later, task) is None
    line = json.dumps({**dataclasses.asdict(later), "also later": 1})
    (tmp_path / "some.jsonl").write_text(line)
    append(tmp_path / "some.jsonl", record("default", 1))
    assert (tmp_path / "some.jsonl").read_text().splitlines()[0] == line
    before, after = read(tmp_path / "some.jsonl")
    assert not any(job.is_of(before) for job in jobs(named("default"), 1))
    assert after == record("default", 1)


# -- figures and tables ------------------------------------------------------------------------------------------


def test_the_page_has_the_commands_that_make_its_runs():
    runs = [("a", 2), ("b", 1), ("c", 2)]
    records = [record(name, seed) for name, seeds in runs for seed in range(seeds)]
    reproducing = "vfpilco reproduce cartpole-memory --seeds"
    assert commands(named("a", "b", "c", "d"), records) == [f"{reproducing} 2 --only a c", f"{reproducing} 1 --only b"]
    assert commands(named("b"), records) == [f"{reproducing} 1"]


def test_every_configuration_is_drawn_however_many_there_are():
    names = [f"row {i}" for i in range(3 * len(COLOURS))]
    drawn = groups(named(*names), [record(name) for name in names])
    assert [group.name for group in drawn] == names


def test_models_and_successes_are_drawn_in_the_same_colours():
    both = [
        {group.name: group.colour for group in groups(study, [record(c.name) for c in study.configurations])}
        for study in (cartpole.MEMORY, cartpole.MODEL)
    ]
    assert both[1].items() <= both[0].items()


def test_published_rates_are_shown_with_a_test():
    assert interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
    assert interval(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-3)
    assert chance_of_fewer(10, 10, 1.0, 50) == 1.0
    assert chance_of_fewer(0, 20, 0.2, 50) == pytest.approx(0.0263, abs=5e-4)
    records = [
        record("default", 0, executed(0), *(executed(k, success=s) for k, s in enumerate(row, start=1)))
        for row in ((False, True), (False, False))
    ]
    lines = success_table(named("default"), records).splitlines()
    assert lines[2] == "| default | 2 | 0 (0 to 66) | 50 (9 to 91) |"
    assert lines[3].startswith("| … published | 50 | 0, p = 1.00 | 20, p = 0.9")


def arm_record(seed: int, errors: list[float]) -> RunRecord:
    goal = flange(vfpilco.task("ur5").reference)
    rows = [executed(k, measures={ur5.ERROR: e}) for k, e in enumerate(errors)]
    paths = [(goal * (1 + 0.001 * e)).tolist() for e in errors]
    return record("default", seed, *rows, task="ur5", seconds=600.0, paths=paths)


def test_the_arms_study_shows_errors_trial_by_trial(tmp_path):
    records = [arm_record(0, [200.0, 9.0, 2.5, 1.5]), arm_record(1, [150.0, 5.0, 1.9, 2.1])]
    table = ur5.CIRCLE.table(ur5.CIRCLE, records)
    assert "| default | 2 | 175.00 (largest 200.00) | 7.00 (largest 9.00) | 2.20 (largest 2.50) |" in table
    assert "| 1 of 2 | 10 |" in table
    assert "| default, seed 1 | 150.00 | 5.00 | 1.90 | 2.10 |" in table
    ur5.CIRCLE.figure(ur5.CIRCLE, records, tmp_path / "ur5.png")
    assert (tmp_path / "ur5.png").read_bytes()[:4] == b"\x89PNG"


# -- the paper's experiments -------------------------------------------------------------------------------------


def test_the_studies_are_those_of_the_paper_and_others(capsys):
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*STUDIES, "alternatives", "calibration", "draws"]
    defaults = {f"{machine}-default" for machine in ("cartpole", "furuta", "ballplate", "ur5")}
    others = {"cartpole-pms", "ballplate-rough", "shelf", "safety", "cartpole-delay", "chatter"}
    assert STUDIES.keys() == {*COMMITTED, *defaults, *others}


def test_the_rows_of_mc_pilco4pms_have_one_choice_of_its_authors_each_and_then_all():
    rows = {c.name: dict(c.settings) for c in cartpole.PMS_SETUP.configurations}
    memory = {c.name: cartpole.MEMORY.settings(c) for c in cartpole.MEMORY.configurations}
    assert cartpole.PMS_SETUP.settings(cartpole.PMS_SETUP.configurations[0]) == memory["pms"]
    assert list(rows) == ["pms", *cartpole.AUTHORS, "authors"]
    together = dict(rows["pms"])
    for name, choice in cartpole.AUTHORS.items():
        assert rows[name] == {**rows["pms"], **choice} != rows["pms"]
        together |= choice
    assert rows["authors"] == together
    assert len(together) == len(rows["pms"]) + sum(
        len(c.keys() - rows["pms"].keys()) for c in cartpole.AUTHORS.values()
    )


def test_the_configurations_are_those_of_the_paper():
    memory = {c.name: cartpole.MEMORY.settings(c) for c in cartpole.MEMORY.configurations}
    paper = [settings for name, settings in memory.items() if name.startswith("vf")]
    assert {settings.state for settings in paper} == {VelocityFree(m_q, m_u) for m_q in (1, 2) for m_u in (0, 1)}
    assert all((s.model.prior_mean, s.model.kernel) == (ZeroMean(), SE()) for s in paper)
    assert memory["constant-velocity"] == memory["vf-mq2-mu1"].replace(prior_mean=ConstantVelocity())
    assert isinstance(memory["pms"].state, Filtered)
    assert memory["default"] == memory["constant-velocity"].replace(
        kernel=SE() * Poly(1, on=("rates", "inputs")), noise=CorrelatedNoise()
    )
    inputs = {c.name: cartpole.INPUTS.settings(c) for c in cartpole.INPUTS.configurations}
    assert inputs["naive"] == inputs["differences"].replace(encoding="positions")
    assert cartpole.INPUTS.trials == 7
    assert (furuta.SWING_UP.particles, ballplate.BALL.tests) == (20, 10)


def test_the_path_of_the_arm_is_that_of_its_flange():
    assert ur5.CIRCLE.path is not None
    np.testing.assert_array_equal(ur5.CIRCLE.path(np.zeros((3, 6))), flange(np.zeros((3, 6))))
