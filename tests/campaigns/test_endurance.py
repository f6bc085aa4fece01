"""Many episodes over TCP: memory, open files and threads stay the same on both sides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from campaign import Run, campaign, flat, handles, memory, sample, threads
from peers import Program
from variants import variant

import vfpilco
from vfpilco.policy.learned import LearnedPolicy

ROOT = Path(__file__).parents[2]
POLICY = ROOT / "tests/samples/run-format4/policy.safetensors"
AT_ONCE = 10
"""Episodes of one evaluation, which has a connection of its own."""
FEW, MORE = 3, 20
"""Evaluations: in `make test` (with short episodes), and in `make test-long`."""


def soak(run: Run, horizon: int, task) -> None:
    program = Program([sys.executable, str(ROOT / "examples/plant.py"), "--patience", "30"])
    policy, used = LearnedPolicy.load(POLICY), []
    own = variant(task, plant=program.url, horizon=horizon)

    def evaluate(seed: int) -> None:
        assert len(vfpilco.evaluate(own, policy, episodes=AT_ONCE, seed=seed).results) == AT_ONCE
        for pid in ("self", program.process.pid):
            used.append((memory(pid), handles(pid), threads(pid)))

    def check() -> None:
        if len(used) < 2 * 3:
            return
        for side in (used[::2], used[1::2]):
            for numbers, more in zip(zip(*side, strict=True), (8, 2, 1), strict=True):
                flat(numbers, max(2, len(side) // 4), more)

    try:
        run(evaluate, check)
    finally:
        assert program.end()[0] == 0


def test_episodes_over_tcp_leave_nothing_behind(task):
    soak(sample(FEW), 10, task)


@pytest.mark.long
def test_many_episodes_over_tcp_leave_nothing_behind(task):
    soak(sample(MORE), task.horizon, task)


@pytest.mark.campaign
def test_episodes_over_tcp(task):
    soak(campaign("evaluations over TCP"), task.horizon, task)
