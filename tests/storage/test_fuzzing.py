"""No content of a run folder, a policy file or a log gives a traceback, or a control sequence on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import Campaign
from fuzzing import folders, fuzz_policies, fuzz_runs, without_learning

from vfpilco.common import compiled

MANY, FIRST = 20_000, 1000
"""Folders and policies of `make test-long`, and their first seed: `make test` has smaller ones."""


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> dict[str, Path]:
    return folders(tmp_path_factory.mktemp("base"))


def check(problems: list[str]) -> None:
    assert not problems, "\n".join(problems)


def test_mutated_runs_and_logs_are_reported_in_one_sentence(base, tmp_path, monkeypatch, as_users_run_it):
    with without_learning(monkeypatch):
        check(fuzz_runs(base, tmp_path, range(150)))


def test_mutated_policies_are_reported_in_one_sentence(tmp_path, as_users_run_it):
    check(fuzz_policies(tmp_path, range(300)))


@pytest.mark.long
def test_many_mutated_runs_and_logs_are_reported_in_one_sentence(base, tmp_path, monkeypatch, as_users_run_it):
    monkeypatch.setattr(compiled, "MOST", 32)
    campaign = Campaign("mutated runs and logs", MANY, hours=8)
    with without_learning(monkeypatch):
        for seed in campaign.seeds():
            campaign.problems += fuzz_runs(base, tmp_path, range(FIRST + seed, FIRST + seed + 1))
    campaign.check()


@pytest.mark.long
def test_many_mutated_policies_are_reported_in_one_sentence(tmp_path, as_users_run_it):
    campaign = Campaign("mutated policies", MANY, hours=2)
    for seed in campaign.seeds():
        campaign.problems += fuzz_policies(tmp_path, range(FIRST + seed, FIRST + seed + 1))
    campaign.check()
