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


PISTON = "examples/machines/pneumatic_positioner.py"


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
def test_every_longer_contact_of_a_slow_piston_with_its_end_is_found(seed: int):
    """It gains speed over several samples: from one sample to the next it would hardly move on."""
    task, trial = explored(PISTON, seed)
    stops = find_stops([trial], [], task.machine)
    low, high = (stops.low[0], stops.high[0]) if stops is not None else (-np.inf, np.inf)
    for side, place in ((-1, low), (1, high)):
        contact = np.count_nonzero(side * trial.q[:, 0] > 0.1)
        if contact > 4:
            assert side * place == pytest.approx(0.1, abs=5e-3)
        elif contact == 0:
            assert not np.isfinite(place)


def test_a_place_that_the_free_motion_might_not_reach_is_no_stop():
    """The model of the free motion errs elsewhere as much: the machine sticks here and there."""
    rng = np.random.default_rng(0)
    u, q, v = rng.uniform(-1, 1, (200, 1)), [0.0], 0.0
    for t in range(200):
        v = 0.0 if rng.random() < 0.3 else 0.9 * v + 0.1 * u[t, 0]
        q.append(q[-1] + v)
    machine = dataclasses.replace(vfpilco.task(SLIDER).machine, sensor=vfpilco.GaussianNoise((0.0,)))
    assert find_stops([Trial(np.array(q)[:, None], u, 0.04)], [], machine) is None


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
