"""No content of a run folder, a policy file or a log gives a traceback, or a control sequence on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import folders, fuzz_policies, fuzz_runs, without_learning


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
@pytest.mark.parametrize("thousand", range(20))
def test_many_mutated_runs_and_logs_are_reported_in_one_sentence(
    base, tmp_path, monkeypatch, as_users_run_it, thousand
):
    first = 1000 * (1 + thousand)
    with without_learning(monkeypatch):
        check(fuzz_runs(base, tmp_path, range(first, first + 1000)))
    check(fuzz_policies(tmp_path, range(first, first + 1000)))
