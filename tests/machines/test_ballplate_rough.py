from __future__ import annotations

import numpy as np
import pytest

import vfpilco
from vfpilco.common.errors import UserError
from vfpilco.machines.ballplate.plant import BallPlate
from vfpilco.machines.ballplate.task import CAMERA, LIMIT, SAMPLING_TIME
from vfpilco.machines.ballplate_rough.plant import WAVE, RoughBallPlate
from vfpilco.tasks.sensors import Quantised

EXACT = Quantised((0.0,) * 4)
NONE = {"late": 0, "off_level": 0.0, "backlash": 0.0, "friction_variation": 0.0, "dropped": 0.0}
REST = np.zeros(2)


def plant_with(sensor=EXACT, **faults) -> RoughBallPlate:
    """The plant with these faults alone."""
    return RoughBallPlate(SAMPLING_TIME, sensor, **{**NONE, **faults})


def path_of(plant: BallPlate, steps: int = 40, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Measured and true positions while the plate wobbles."""
    measured, true = [plant.reset(seed)], [plant.true_positions]
    for k in range(steps):
        measured.append(plant.step(LIMIT * np.array([np.cos(0.4 * k), np.sin(0.5 * k)])))
        true.append(plant.true_positions)
    return np.array(measured), np.array(true)


def test_without_its_faults_it_is_the_smooth_plate():
    for ours, smooth in zip(path_of(plant_with(CAMERA)), path_of(BallPlate(SAMPLING_TIME, CAMERA)), strict=True):
        np.testing.assert_array_equal(ours, smooth)


@pytest.mark.parametrize("late", [1, 3])
def test_images_arrive_late_but_commands_are_known_at_once(late):
    measured, true = path_of(plant_with(late=late))
    assert np.abs(np.diff(true[:, :2], axis=0)).max() > 1e-3
    np.testing.assert_array_equal(measured[late:, :2], true[:-late, :2])
    np.testing.assert_array_equal(measured[:late, :2], np.tile(true[0, :2], (late, 1)))
    np.testing.assert_array_equal(measured[:, 2:], true[:, 2:])
    np.testing.assert_array_equal(true, path_of(plant_with())[1])  # the ball itself moves as before


def test_a_plate_off_level_rolls_the_ball_away_with_the_motors_at_zero():
    tilt, seconds = np.radians(0.5), 0.5
    plant = plant_with(off_level=tilt, friction=0.0)
    begin = plant.reset(0)[:2]
    for _ in range(round(seconds / SAMPLING_TIME)):
        plant.step(REST)
    moved = plant.true_positions[:2] - begin
    downhill = [np.cos(np.radians(30)), np.sin(np.radians(30))]
    np.testing.assert_allclose(moved, 5 / 14 * 9.81 * tilt * seconds**2 * np.array(downhill), rtol=1e-3)
    level = plant_with(friction=0.0)
    start = level.reset(0)
    np.testing.assert_array_equal(level.step(REST), start)


def test_backlash_swallows_the_first_part_of_every_change_of_direction():
    play = np.radians(0.3)
    plant = plant_with(backlash=play, lag=0.0)
    plant.reset(0)

    def turned(degrees: float) -> float:
        plant.step(np.array([np.radians(degrees), 0.0]))
        return float(np.degrees(plant.tilt(float(plant.state[2]), 0.0, 0)[0])) / plant.gear

    assert turned(0.1) == 0  # within half of the play
    assert turned(1.0) == pytest.approx(1.1 - 0.15)
    assert turned(-0.2) == pytest.approx(0.95)  # the plate stays
    assert turned(-1.0) == pytest.approx(-0.1 + 0.15)
    assert turned(-0.5) == pytest.approx(-0.6 + 0.15)


def test_the_plate_does_not_turn_within_the_play():
    plant = plant_with(backlash=np.radians(0.3))
    plant.reset(0)
    assert plant.tilt(np.radians(0.1), 1.0, 0) == (0.0, 0.0)
    assert plant.tilt(np.radians(0.2), 1.0, 0) == pytest.approx((plant.gear * np.radians(0.05), plant.gear))
    assert plant.tilt(np.radians(0.15), -1.0, 0)[1] == 0.0


def test_friction_differs_from_place_to_place_by_the_given_fraction():
    plant = plant_with(friction=2e-3, friction_variation=0.3)
    grid = np.linspace(-0.15, 0.15, 61)
    found = np.array([[plant.friction_at(x, y) for x in grid] for y in grid])
    assert found.max() == pytest.approx(1.3 * 2e-3, rel=1e-3)
    assert found.min() == pytest.approx(0.7 * 2e-3, rel=1e-3)
    rolled = []
    for sign in (1, -1):  # a rough place and a smooth one
        plant.reset(0)
        plant.state[:2], plant.state[4:6] = [WAVE / 4, sign * WAVE / 4], [0.03, 0.0]
        plant.step(REST)
        rolled.append(0.03 - plant.true_velocities[0])
    assert rolled[0] / rolled[1] == pytest.approx(1.3 / 0.7, rel=0.02)


def test_a_dropped_image_repeats_the_last_position():
    measured, true = path_of(plant_with(dropped=0.3), steps=80)
    repeated = np.all(measured[1:, :2] == measured[:-1, :2], axis=1)
    correct = np.all(measured[:, :2] == true[:, :2], axis=1)
    moving = np.any(true[1:, :2] != true[:-1, :2], axis=1)
    assert correct[0]
    assert 0.15 < repeated[moving].mean() < 0.45
    assert np.all(correct[1:][moving] == ~repeated[moving])
    np.testing.assert_array_equal(measured[:, 2:], true[:, 2:])


@pytest.mark.parametrize("wrong", [{"late": -1}, {"late": 0.5}, {"dropped": 1.5}, {"off_level": 30.0}])
@pytest.mark.usefixtures("as_users_run_it")
def test_impossible_faults_are_refused(wrong):
    with pytest.raises(UserError, match=f"{next(iter(wrong))} must be"):
        plant_with(**wrong)


def test_the_task_has_all_faults_and_no_settings_of_the_method():
    task = vfpilco.task("ballplate-rough")
    assert task.settings == {}
    plant = task.machine.plant()
    assert (plant.late_images, plant.friction_variation, plant.dropped) == (1, 0.3, 0.02)
    assert np.degrees([2 * plant.play, np.hypot(*plant.level)]) == pytest.approx([0.3, 0.5])
    task.check()
