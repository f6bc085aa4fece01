"""Many trials and episodes over TCP: memory, open files and threads stay the same on both sides."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign import Run, campaign, flat, handles, memory, sample, threads
from folders import SIZES
from ledger import EPISODES
from peers import Program
from variants import variant

import vfpilco
from vfpilco.common import compiled
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.tasks.task import Task

ROOT = Path(__file__).parents[2]
POLICY = ROOT / "tests/samples/run-format4/policy.safetensors"
FEW, MORE = 3, 20
"""Evaluations: in `make test` (with short episodes), and in `make test-long`."""
TRIALS = 40
"""Trials after which it shows whether memory grows; `make test-long` learns so many."""


def soak(run: Run, use: Callable[[str, int], None], after: int, more: float) -> None:
    """Use a plant, a separate program, again and again.

    Args:
        run: Which cases to try.
        use: Does something with the plant of this address; the seed is that of the case.
        after: Cases after which memory, open files and threads have reached their number; twice as many are compared.
        more: How many MB of memory may be used later on.
    """
    program = Program([sys.executable, str(ROOT / "examples/plant.py"), "--patience", "60"])
    used = []

    def case(seed: int) -> None:
        use(program.url, seed)
        used.extend((memory(pid), handles(pid), threads(pid)) for pid in ("self", program.process.pid))

    def check() -> None:
        for side in (used[::2], used[1::2]):
            if len(side) > after:
                for numbers, slack in zip(zip(*side, strict=True), (more, 2, 1), strict=True):
                    flat(numbers, max(after, len(side) // 4), slack)

    try:
        run(case, check)
    finally:
        assert program.end()[0] == 0


# -- episodes ------------------------------------------------------------------------------------------------------


def evaluate(run: Run, task: Task) -> None:
    policy = LearnedPolicy.load(POLICY)

    def use(url: str, seed: int) -> None:
        found = vfpilco.evaluate(variant(task, plant=url), policy, episodes=EPISODES, seed=seed)
        assert len(found.results) == EPISODES

    soak(run, use, after=2, more=8)


def test_episodes_over_tcp_leave_nothing_behind(task):
    evaluate(sample(FEW), variant(task, horizon=10))


@pytest.mark.long
def test_many_episodes_over_tcp_leave_nothing_behind(task):
    evaluate(sample(MORE), task)


@pytest.mark.campaign
def test_episodes_over_tcp(task):
    evaluate(campaign("evaluations over TCP"), task)


# -- trials --------------------------------------------------------------------------------------------------------


def learn(run: Run, task: Task) -> None:
    """Every trial has a task with a cost function of its own, for which everything is compiled again."""

    def use(url: str, seed: int) -> None:
        own = variant(task, plant=url, horizon=12, cost=lambda q, cost=task.cost: cost(q))
        found = vfpilco.learn(dataclasses.replace(own, name=f"task{seed}"), seed=seed, trials=1, steps=12, **SIZES)
        assert len(found.rows) == 2  # after an exploration

    soak(run, use, after=TRIALS // 2, more=60)


@pytest.mark.long
def test_many_trials_over_tcp_leave_nothing_behind(task, monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    learn(sample(TRIALS), task)


@pytest.mark.campaign
def test_trials_over_tcp(task, monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    learn(campaign("trials over TCP"), task)
