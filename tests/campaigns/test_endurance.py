"""Many episodes over TCP: memory, open files and threads stay the same on both sides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from campaign import Campaign, flat, handles, memory, threads
from peers import Program
from variants import variant

import vfpilco
from vfpilco.policy.learned import LearnedPolicy

ROOT = Path(__file__).parents[2]
POLICY = ROOT / "tests/samples/run-format4/policy.safetensors"
AT_ONCE = 10
"""Episodes of one evaluation, which has a connection of its own."""
SAMPLE, MANY = 3, 100
"""Evaluations: in `make test` (with short episodes), and in `make test-long`."""


def soak(campaign: Campaign, horizon: int, task) -> None:
    program = Program([sys.executable, str(ROOT / "examples/plant.py"), "--patience", "30"])
    policy, used = LearnedPolicy.load(POLICY), []
    own = variant(task, plant=program.url, horizon=horizon)
    try:
        for seed in campaign.seeds():
            done = vfpilco.evaluate(own, policy, episodes=AT_ONCE, seed=seed)
            campaign.counts["episodes"] += len(done.results)
            campaign.counts["samples"] += sum(trial.steps for trial in done.trials)
            del done
            for pid in ("self", program.process.pid):
                used.append((memory(pid), handles(pid), threads(pid)))
    finally:
        assert program.end()[0] == 0
    campaign.note(f"learner: MB, handles, threads {used[0]} at first, {used[-2]} at last")
    campaign.note(f"plant: MB, handles, threads {used[1]} at first, {used[-1]} at last")
    campaign.check()
    for side in (used[::2], used[1::2]):
        for numbers, more in zip(zip(*side, strict=True), (8, 2, 1), strict=True):
            flat(numbers, max(2, len(side) // 4), more)


def test_episodes_over_tcp_leave_nothing_behind(task):
    soak(Campaign("episodes, sample", SAMPLE, hours=0.1), 10, task)


@pytest.mark.long
def test_many_episodes_over_tcp_leave_nothing_behind(task):
    soak(Campaign("episodes", MANY, hours=2), task.horizon, task)
