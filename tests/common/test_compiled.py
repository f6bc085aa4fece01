from __future__ import annotations

import dataclasses

import pytest
from campaign import Campaign, flat, memory
from folders import SIZES
from variants import variant

import vfpilco
from vfpilco.common import compiled

TRIALS = 200
"""Tiny trials of the soak, each of a task of its own."""


def test_compiled_code_is_kept_until_there_is_much_of_it(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    monkeypatch.setattr(compiled, "MOST", 3)
    scaled = compiled.compiled(static_argnames="by")(lambda x, by: by * x)
    for by in range(1, 5):
        assert scaled(2.0, by=by) == 2 * by
        compiled.release()
        assert scaled._cache_size() == by % 4
    assert scaled(2.0, by=1) == 2


@pytest.mark.long
def test_memory_stays_flat_over_many_tasks(monkeypatch):
    """Every task has a cost function of its own, for which everything is compiled again."""
    monkeypatch.setattr(compiled, "MOST", 32)
    campaign, used = Campaign("tiny trials", TRIALS, hours=2), []
    for seed in campaign.seeds():
        task = vfpilco.task("cartpole")
        own = variant(task, horizon=12, cost=lambda q, cost=task.cost: cost(q))
        vfpilco.learn(dataclasses.replace(own, name=f"task{seed}"), seed=seed, trials=1, steps=12, **SIZES)
        used.append(memory())
    campaign.note(f"MB after every 20 trials: {used[::20]}")
    campaign.check()
    flat(used, after=TRIALS // 4, more=60)
