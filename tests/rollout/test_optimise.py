"""Which policy an optimisation keeps, and what it does when the cost collapses."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import numpy as np
import pytest

from vfpilco.data.watcher import Watcher
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.rbf import RBF
from vfpilco.rollout import optimise
from vfpilco.rollout.optimise import Best, Optimisation
from vfpilco.rollout.particles import Simulator
from vfpilco.rollout.settings import OptimiserSettings


class Notes(Watcher):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@dataclasses.dataclass(frozen=True)
class Scripted(Optimisation):
    """Evaluations come from a list; everything else is real."""

    script: tuple[float, ...] = ()
    seen: list = dataclasses.field(default_factory=list)

    def evaluate(self, params):
        self.seen.append(params)
        return self.script[min(len(self.seen), len(self.script)) - 1]


@pytest.fixture(scope="module")
def known(dynamics, task, model):
    """What a short optimisation needs."""
    policy = RBF(4).bind(PolicyInputs((1.0,) * 7, (10.0,), (False, True, True, False, False, False, False)))
    simulator = Simulator(dynamics=dynamics, policy=policy, start=task.start, cost=task.cost, horizon=6)
    settings = OptimiserSettings(particles=4, steps=12, tolerance=0.0, gradient_decay=1.0)
    return simulator, model.posterior.cast("float32"), settings, jax.random.key(0)


@pytest.fixture
def chunks_of_two(monkeypatch):
    monkeypatch.setattr(optimise, "chunk_size", lambda *_: 2)


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def test_the_best_policy_is_kept_and_not_the_last(known, chunks_of_two):
    optimisation = Scripted(*known, script=(9.0, 5.0, 6.0, 5.5, 6.1, 6.2, 6.2))
    found = optimisation.run(watch := Notes())
    assert found.expected_cost == 5.0
    assert same(found.params, optimisation.seen[1])
    assert not same(found.params, optimisation.seen[-1])
    assert len(found.costs) == 12
    assert watch.notes == []


def test_after_a_collapse_it_continues_from_the_best_policy_with_smaller_steps(known, chunks_of_two):
    optimisation = Scripted(*known, script=(9.0, 5.0, 6.4, 90.0, 4.9, 4.8))
    states = []
    found = optimisation.run(watch := Notes(), checkpoint=states.append)
    assert [state.halvings for state in states] == [0, 0, 0, 1, 1, 1, 1]
    assert same(states[3].adam.params, optimisation.seen[1])
    assert found.expected_cost == 4.8
    assert len(watch.notes) == 1
    assert "rose from 5 to 90" in watch.notes[0]


def test_one_bad_evaluation_is_no_collapse(known, chunks_of_two):
    states = []
    Scripted(*known, script=(5.0, 90.0, 6.0, 90.0, 6.0, 90.0, 6.0)).run(watch := Notes(), checkpoint=states.append)
    assert states[-1].halvings == 0
    assert watch.notes == []


def test_an_optimisation_that_collapses_again_and_again_ends_with_its_best_policy(known, chunks_of_two):
    optimisation = Scripted(*known, script=(5.0, *itertools.repeat(90.0, 40)))
    long = dataclasses.replace(optimisation, settings=dataclasses.replace(optimisation.settings, steps=60))
    found = long.run(watch := Notes())
    assert len(watch.notes) == optimise.MOST_HALVINGS + 1
    assert found.expected_cost == 5.0
    assert len(found.costs) < 60


def test_a_policy_is_always_evaluated_on_the_same_particles(known):
    optimisation = Optimisation(*known)
    params = optimisation.start().adam.params
    assert optimisation.evaluate(params) == optimisation.evaluate(params)
    louder = {**params, "weights": 3 * params["weights"]}
    assert optimisation.evaluate(louder) != optimisation.evaluate(params)


def test_costs_that_are_not_finite_are_never_the_best():
    best = Best({"a": 1}, np.inf).after({"a": 2}, 3.0).after({"a": 3}, np.inf)
    assert (best.params, best.cost, best.worse) == ({"a": 2}, 3.0, 1)


def test_a_measured_gradient_decay_is_measured_once_in_a_while(known, chunks_of_two, monkeypatch):
    asked = []
    monkeypatch.setattr(optimise.Agreement, "longest", lambda self, params, phase, key: asked.append(1) or 0.88)
    monkeypatch.setattr(optimise, "MEASURE_EVERY", 6)
    simulator, posterior, settings, key = known
    states = []
    free = dataclasses.replace(settings, gradient_decay=0.0)
    Optimisation(simulator, posterior, free, key).run(Notes(), checkpoint=states.append)
    assert len(asked) == 1  # only in the first phase, every six steps
    assert {state.decay for state in states} == {0.88}


def test_gradients_agree_better_with_more_particles(known):
    simulator, posterior, settings, key = known
    found = []
    for particles in (4, 400):
        chosen = dataclasses.replace(settings, particles=particles)
        optimisation = Optimisation(simulator, posterior, chosen, key)
        params = optimisation.start().adam.params
        objective = optimise.Objective.of(simulator, posterior, params, None, 2)
        agreement = optimise.Agreement(simulator, objective, optimisation._sampling)
        found.append(agreement(params, optimise.Phase(1, 0.01, 0.25, 1.0), key))
    assert -1 <= found[0] < found[1] <= 1
