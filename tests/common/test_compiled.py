from __future__ import annotations

import dataclasses

import pytest
from campaign import Run, campaign, flat, memory, sample
from folders import SIZES
from variants import variant

import vfpilco
from vfpilco.common import compiled

LEAST = 40
"""Tasks after which it shows whether memory grows; `make test-long` learns so many."""


def test_compiled_code_is_kept_until_there_is_much_of_it(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    monkeypatch.setattr(compiled, "MOST", 3)
    scaled = compiled.compiled(static_argnames="by")(lambda x, by: by * x)
    for by in range(1, 5):
        assert scaled(2.0, by=by) == 2 * by
        compiled.release()
        assert compiled._functions[0]._cache_size() == by % 4
    assert scaled(2.0, by=1) == 2


def test_compiling_is_announced_once_and_only_when_it_happens(monkeypatch):
    monkeypatch.setattr(compiled, "_functions", [])
    inner = compiled.compiled()(lambda x: x + 1)
    outer = compiled.compiled()(lambda x: 2 * inner(x))
    heard: list[bool] = []
    with compiled.announced(heard.append):
        assert outer(1.0) == 4
        assert heard == [True, True, False]
        outer(2.0)
        assert len(heard) == 3
    inner(1)
    assert len(heard) == 3


def learn_tasks(run: Run) -> None:
    """Every task has a cost function of its own, for which everything is compiled again."""
    used = []

    def learn(seed: int) -> None:
        task = vfpilco.task("cartpole")
        own = variant(task, horizon=12, cost=lambda q, cost=task.cost: cost(q))
        vfpilco.learn(dataclasses.replace(own, name=f"task{seed}"), seed=seed, trials=1, steps=12, **SIZES)
        used.append(memory())

    run(learn, lambda: len(used) < LEAST or flat(used, after=max(LEAST // 2, len(used) // 4), more=60))


@pytest.mark.long
def test_memory_stays_flat_over_many_tasks(monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    learn_tasks(sample(LEAST))


@pytest.mark.campaign
def test_tiny_tasks(monkeypatch):
    monkeypatch.setattr(compiled, "MOST", 32)
    learn_tasks(campaign("tiny tasks"))
