"""No content of a run folder, a policy file or a log gives a traceback, or a control sequence on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from campaign import Run, campaign, nothing, sample
from fuzzing import SAMPLES, extreme_policies, folders, fuzz_policy, fuzz_run, uneven_policies, without_learning

from vfpilco.common import compiled

RUNS, POLICIES = 60, 300
"""Cases of `make test`."""
MORE = 1500
"""Cases of each kind in `make test-long`."""


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> dict[str, Path]:
    return folders(tmp_path_factory.mktemp("base"))


@pytest.fixture
def mutate_runs(base, tmp_path, monkeypatch, as_users_run_it):
    def mutate(run: Run) -> None:
        with without_learning(monkeypatch):
            run(lambda seed: fuzz_run(base, tmp_path, seed), nothing)

    return mutate


@pytest.fixture
def mutate_policies(tmp_path, as_users_run_it):
    return lambda run: run(lambda seed: fuzz_policy(tmp_path, seed), nothing)


def test_mutated_runs_and_logs_are_reported_in_one_sentence(mutate_runs):
    mutate_runs(sample(RUNS))


def test_mutated_policies_are_reported_in_one_sentence(mutate_policies):
    mutate_policies(sample(POLICIES))


@pytest.mark.parametrize("name", ["linear-rbf-reference", "pms-kalman"])
def test_extreme_numbers_in_a_policy_are_reported_or_computed_with(tmp_path, name):
    file = SAMPLES / "policies-format3" / f"{name}.safetensors"
    assert not list(extreme_policies(file, tmp_path, (1e-320, 1e39, 1.7e308)))


@pytest.mark.parametrize("file", sorted((SAMPLES / "policies-format3").iterdir()), ids=lambda file: file.stem)
def test_lists_of_other_lengths_in_a_policy_are_reported_or_computed_with(tmp_path, file):
    assert not list(uneven_policies(file, tmp_path))


@pytest.mark.long
def test_many_mutated_runs_and_logs_are_reported_in_one_sentence(mutate_runs, monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    mutate_runs(sample(MORE))


@pytest.mark.long
def test_many_mutated_policies_are_reported_in_one_sentence(mutate_policies):
    mutate_policies(sample(MORE))


@pytest.mark.campaign
def test_mutated_runs_and_logs(mutate_runs, monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    mutate_runs(campaign("mutated runs and logs"))


@pytest.mark.campaign
def test_mutated_policies(mutate_policies):
    mutate_policies(campaign("mutated policies"))
