"""Scenes: machines as shapes in the plane."""

import numpy as np
import pytest

import vfpilco
from vfpilco.drawing.instruments import instruments
from vfpilco.drawing.perspective import project
from vfpilco.machines.furuta.drawing import VIEW
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.machines.load import names


@pytest.mark.parametrize("name", names())
def test_every_built_in_machine_has_a_scene_that_moves_inside_its_frame(name):
    task = vfpilco.task(name)
    rng, d_q = np.random.default_rng(0), len(task.machine.positions)
    start = task.reference[0] if task.reference is not None else np.zeros(d_q)
    q = start + 0.1 * rng.standard_normal((7, d_q))
    assert task.machine.drawing.scene is not None
    scene = task.machine.drawing.scene(q)
    moving = [shape for shape in scene.shapes if shape.moves]
    assert {shape.role for shape in moving} >= {"body"}
    for shape in moving:
        assert shape.points.shape[0] == 7
        assert shape.points.shape[2] == 2
        assert np.all(shape.points >= np.array(scene.low) - 0.02)
        assert np.all(shape.points <= np.array(scene.high) + 0.02)


def test_the_pole_of_the_scene_is_up_at_half_a_turn(task):
    scene = task.machine.drawing.scene(np.array([[0.0, 0.0], [0.2, np.pi]]))
    pole = next(shape for shape in scene.shapes if shape.kind == "line" and shape.moves)
    np.testing.assert_allclose(pole.points, [[[0, 0], [0, -0.5]], [[0.2, 0], [0.2, 0.5]]], atol=1e-12)


def test_the_furuta_pendulum_hangs_below_the_end_of_its_arm_and_keeps_its_length():
    down, up = np.array([0, 0, -Furuta.pendulum_length]), np.array([0, 0, Furuta.pendulum_length])
    end = np.array([0, Furuta.arm_length, 0])
    scene = vfpilco.task("furuta").machine.drawing.scene(np.array([[np.pi / 2, 0.0], [np.pi / 2, -np.pi]]))
    pendulum = [shape for shape in scene.shapes if shape.kind == "line" and shape.moves][1]
    np.testing.assert_allclose(pendulum.points[:, 0], project(np.stack([end, end]), *VIEW), atol=1e-12)
    np.testing.assert_allclose(pendulum.points[:, 1], project(np.stack([end + down, end + up]), *VIEW), atol=1e-12)


def test_a_machine_without_a_scene_has_dials_and_sliders():
    positions = (vfpilco.Position("turn", "rad", angle=True), vfpilco.Position("way", "m"))
    scene = instruments(positions, np.array([[0, 0], [-2.0, 2.0]]))(np.array([[0.0, -2.0], [np.pi / 2, 2.0]]))
    hand = next(shape for shape in scene.shapes if shape.kind == "line" and shape.moves)
    bead = next(shape for shape in scene.shapes if shape.kind == "disc" and shape.moves)
    np.testing.assert_allclose(hand.points[:, 1], [[0, 0.9], [0.9, 0]], atol=1e-12)
    np.testing.assert_allclose(np.diff(bead.points[:, 0], axis=0), [[2, 0]])
    assert [shape.text for shape in scene.shapes if shape.kind == "label"] == ["turn [rad]", "-2", "2", "way [m]"]
