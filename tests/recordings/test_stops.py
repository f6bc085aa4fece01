import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vfpilco
from vfpilco.data.trial import Trial
from vfpilco.recordings.stops import Stops, find_stops
from vfpilco.trials.execute import execute
from vfpilco.trials.exploring import explorer
from vfpilco.trials.plan import dynamics_of
from vfpilco.trials.settings import Settings


def explored(name: str, seed: int) -> tuple[vfpilco.Task, Trial]:
    task = vfpilco.task(name)
    plant = task.machine.plant()
    return task, execute(task, plant, explorer(task, seed, 0), seed)


SLIDER = "examples/machines/end_stop_slider.py"


def pushed_slider() -> tuple[vfpilco.Task, Trial]:
    """The slider, moved about and then driven into its upper stop."""
    task = vfpilco.task(SLIDER)
    inputs = iter([*np.random.default_rng(0).uniform(-2, 2, 40), *[4.0] * 35])
    return task, execute(task, task.machine.plant(), lambda q: np.array([next(inputs)]), 100)


def test_a_slider_that_is_pushed_against_its_end_stop_shows_where_it_is():
    task, trial = pushed_slider()
    stops = find_stops([trial], [], task.machine)
    assert stops is not None
    assert stops.high[0] == pytest.approx(0.2, abs=2e-3)
    assert stops.low[0] == -np.inf
    assert stops.sentence(task.machine).startswith("End stops: slider at 0.20")


@pytest.mark.parametrize("name", ["cartpole", "furuta", "examples/machines/helicopter.py", SLIDER])
def test_motions_that_only_turn_back_are_no_stops(name: str):
    for seed in (104, 105, 106):
        task, trial = explored(name, seed)
        if name != SLIDER or np.abs(trial.q).max() < 0.19:
            assert find_stops([trial], [], task.machine) is None


def test_a_stop_that_a_later_trial_went_through_is_none():
    task, trial = pushed_slider()
    beyond = dataclasses.replace(trial, q=trial.q + 0.05)
    assert find_stops([trial], [beyond], task.machine) is None


def test_samples_at_a_stop_are_not_learned_from_and_predictions_end_there():
    task, trial = pushed_slider()
    free = dynamics_of(Settings(), task.machine)
    limited = dataclasses.replace(free, stops=find_stops([trial], [], task.machine))
    everything, some = free.training_set(trial), limited.training_set(trial)
    assert 10 < len(everything.x) - len(some.x) < 40
    assert some.noise is not None
    assert some.noise.shape[-1] == len(some.x)
    state = limited.state.rest(np.array([[0.19]]))
    far = limited.state.positions(limited.advance(state, np.zeros((1, 1)), np.array([[0.5]])))
    back = limited.state.positions(limited.advance(state, np.zeros((1, 1)), np.array([[-0.1]])))
    assert far[0, 0] == pytest.approx(0.2, abs=2e-3)
    assert back[0, 0] == pytest.approx(0.09)


def test_the_gradient_at_a_stop_is_that_of_the_free_motion():
    task, trial = pushed_slider()
    dynamics = dataclasses.replace(dynamics_of(Settings(), task.machine), stops=find_stops([trial], [], task.machine))
    state = dynamics.state.rest(jnp.array([[0.19]]))

    def reached(change):
        return dynamics.state.positions(dynamics.advance(state, jnp.zeros((1, 1)), change))[0, 0]

    value, gradient = jax.value_and_grad(reached)(jnp.array([[0.5]]))
    assert value == pytest.approx(0.2, abs=2e-3)
    assert gradient.item() == 1


def test_a_position_beyond_its_stop_may_only_come_back():
    stops = Stops((-1.0, -np.inf), (1.0, np.inf), (0.1, 0.1))
    change = stops.limited(jnp.array([1.2, 7.0]), jnp.array([0.5, 9.0]))
    assert change.tolist() == [0.0, 9.0]
    assert stops.limited(jnp.array([1.2, 0.0]), jnp.array([-0.5, 0.0])).tolist() == [-0.5, 0.0]
