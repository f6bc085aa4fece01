"""The equations of the machines in examples/machines, against derivations that do not use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from feedback import jacobians

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole

FOLDER = Path(__file__).parents[2] / "examples/machines"


@cache
def maker(name: str) -> Callable[[], Any]:
    return vfpilco.task(str(FOLDER / f"{name}.py")).machine.plant


def machine(name: str, **changed: float) -> Any:
    """The plant of an example, with other parameters."""
    plant = maker(name)()
    for parameter, value in changed.items():
        assert hasattr(plant, parameter)
        setattr(plant, parameter, value)
    return plant


def lagrange(lagrangian: Callable, q: np.ndarray, dq: np.ndarray, forces: np.ndarray) -> np.ndarray:
    """Accelerations from d/dt ∂L/∂q' - ∂L/∂q = forces, by differences; those by q' are exact, for L is quadratic."""
    units, h = np.eye(len(q)), 1e-6

    def momentum(q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return np.array([lagrangian(q, dq + e) - lagrangian(q, dq - e) for e in units]) / 2

    inertia = np.array([momentum(q, e) for e in units])
    coriolis = (momentum(q + h * dq, dq) - momentum(q - h * dq, dq)) / (2 * h)
    slope = np.array([lagrangian(q + h * e, dq) - lagrangian(q - h * e, dq) for e in units]) / (2 * h)
    return np.linalg.solve(inertia, forces + slope - coriolis)


def states(count: int, scale: list[float]) -> np.ndarray:
    return np.array(scale) * np.random.default_rng(0).uniform(-1, 1, (count, len(scale)))


def kinetic(mass: float, place: Callable, q: np.ndarray, dq: np.ndarray) -> float:
    """The kinetic energy of a point whose place depends on the positions; its velocity by a complex step."""
    velocity = np.imag(place(q + 1e-30j * dq)) / 1e-30
    return 0.5 * mass * float(velocity @ velocity)


# -- against Lagrange's equations --------------------------------------------------------------------------------


def test_reaction_wheel_pendulum():
    """Two bodies: the pendulum with the wheel's mass at its end, and the wheel turning about its own axis."""
    plant = machine("reaction_wheel_pendulum")
    pendulum, wheel, arms = 0.2164, 0.0850, (0.1173, 0.1270)  # kg, kg, m to their centres of mass
    assert pytest.approx(plant.inertia, rel=5e-3) == 2.333e-4 + pendulum * arms[0] ** 2 + wheel * arms[1] ** 2
    assert pytest.approx(plant.moment, rel=1e-3) == 9.81 * (pendulum * arms[0] + wheel * arms[1])

    def lagrangian(q, dq):
        turning = 0.5 * 2.495e-5 * (dq[0] + dq[1]) ** 2
        return 0.5 * plant.inertia * dq[0] ** 2 + turning - plant.moment * np.cos(q[0])

    for x, u in zip(states(5, [3, 50, 5, 300]), states(5, [24]), strict=True):
        volts = u[0] - 27.4e-3 * x[3]
        torque = 27.4e-3 * volts / 12.1 - plant.bearing * x[3]
        expected = lagrange(lagrangian, x[:2], x[2:], np.array([0.0, torque]))
        np.testing.assert_allclose(plant.derivative(x, u), [*x[2:], *expected], rtol=1e-6, atol=1e-6)


def test_ball_and_beam():
    """A ball that rolls on a beam whose angle follows from the gear's."""
    plant = machine("ball_and_beam")

    def beam(theta):
        return np.arcsin(0.03 / 1.0 * np.sin(theta))

    def lagrangian(q, dq):
        def centre(q):
            return q[0] * np.array([np.cos(q[1]), np.sin(q[1])])

        rolling = 0.5 * 9.99e-6 * (dq[0] / 0.015) ** 2
        return kinetic(0.11, centre, q, dq) + rolling - 0.11 * 9.8 * centre(q)[1]

    for x, u in zip(states(5, [0.4, 3, 1, 8]), states(5, [5]), strict=True):
        angle, rate = beam(x[1]), np.imag(beam(x[1] + 1e-30j * x[3])) / 1e-30
        on_the_ball = lagrange(lagrangian, np.array([x[0], angle]), np.array([x[2], rate]), np.zeros(2))
        assert plant.derivative(x, u)[2] == pytest.approx(on_the_ball[0], rel=1e-6)


def test_balancing_robot():
    """Two wheels that roll, a body on their axle, and two rotors that turn with the motors."""
    plant = machine("balancing_robot")
    m, body, radius, height = 0.03, 0.6, 0.04, 0.144

    def lagrangian(q, dq):
        def centre(q):
            return np.array([radius * (q[0] + q[1]) + height / 2 * np.sin(q[1]), height / 2 * np.cos(q[1])])

        rolling = dq[0] + dq[1]
        wheels = m * (radius * rolling) ** 2 + m * radius**2 / 2 * rolling**2
        rotors = 1e-5 * dq[0] ** 2
        moving = kinetic(body, centre, q, dq) + 0.5 * body * (height / 2) ** 2 / 3 * dq[1] ** 2
        return wheels + rotors + moving - body * 9.81 * centre(q)[1]

    for x, u in zip(states(5, [20, 1, 20, 5]), states(5, [8]), strict=True):
        current = (u[0] - 0.468 * x[2]) / 6.69
        torque = 2 * (0.317 * current - 0.0022 * x[2])
        expected = lagrange(lagrangian, x[:2], x[2:], np.array([torque, 0.0]))
        np.testing.assert_allclose(plant.derivative(x, u), [*x[2:], *expected], rtol=1e-6, atol=1e-6)


def test_helicopter():
    """A body whose centre of mass is in front of the pivot of both axes."""
    plant = machine("helicopter")

    def lagrangian(q, dq):
        def centre(q):
            return 0.186 * np.array([np.cos(q[0]) * np.cos(q[1]), np.cos(q[0]) * np.sin(q[1]), np.sin(q[0])])

        turning = 0.5 * (0.0384 * dq[0] ** 2 + 0.0432 * dq[1] ** 2)
        return kinetic(1.3872, centre, q, dq) + turning - 1.3872 * 9.81 * centre(q)[2]

    for x, u in zip(states(5, [0.7, 3, 3, 3]), states(5, [10, 10]), strict=True):
        volts = u + plant.hover
        torques = [0.204 * volts[0] + 0.0068 * volts[1], 0.0219 * volts[0] + 0.072 * volts[1]]
        expected = lagrange(lagrangian, x[:2], x[2:], np.array(torques) - [0.8, 0.318] * x[2:])
        np.testing.assert_allclose(plant.derivative(x, u), [*x[2:], *expected], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(plant.derivative(np.zeros(4), np.zeros(2)), np.zeros(4), atol=1e-12)  # it hovers


def test_flexible_link():
    """Servo and link with a spring between them; the link alone swings at its own frequency."""
    plant = machine("flexible_link")

    def lagrangian(q, dq):
        link = 0.5 * 0.065 * 0.419**2 / 3 * (dq[0] + dq[1]) ** 2
        return 0.5 * 2.087e-3 * dq[0] ** 2 + link - 0.5 * plant.stiffness * q[1] ** 2

    for x, u in zip(states(5, [2, 0.5, 8, 5]), states(5, [5]), strict=True):
        motor = 0.9 * 0.69 * 70 * 0.00767 * (u[0] - 70 * 0.00767 * x[2]) / 2.6
        expected = lagrange(lagrangian, x[:2], x[2:], np.array([motor - 0.015 * x[2], -plant.link_damping * x[3]]))
        np.testing.assert_allclose(plant.derivative(x, u), [*x[2:], *expected], rtol=1e-6, atol=1e-6)
    clamped = machine("flexible_link", servo_inertia=1e6)
    a, _ = jacobians(clamped, np.zeros(4), np.zeros(1))
    assert np.abs(np.linalg.eigvals(a)).max() / (2 * np.pi) == pytest.approx(3.0, rel=1e-3)


def test_cartpole_with_backlash():
    """Drive, cart and pole; a spring between the teeth where they touch, nothing within the play."""
    plant = machine("cartpole_with_backlash")

    def lagrangian(q, dq):
        def centre(q):
            return np.array([q[0] + 0.25 * np.sin(q[1]), -0.25 * np.cos(q[1])])

        pole = kinetic(0.5, centre, q, dq) + 0.5 * 0.5 * 0.5**2 / 12 * dq[1] ** 2
        drive, cart = 0.5 * 0.1 * dq[2] ** 2, 0.5 * 0.5 * dq[0] ** 2
        squeezed = np.maximum(np.abs(q[2] - q[0]) - 1e-3, 0.0)
        return drive + cart + pole - 0.5 * 9.81 * centre(q)[1] - 0.5 * 2e4 * squeezed**2

    for x, u in zip(states(12, [0, 3, 1, 5, 2e-3, 1]), states(12, [10]), strict=True):
        q, dq = x[[0, 1, 4]], x[[2, 3, 5]]
        touching = abs(q[2] - q[0]) > 1e-3
        push = 2e4 * (abs(q[2] - q[0]) - 1e-3) * np.sign(q[2] - q[0]) + 40 * (dq[2] - dq[0])
        if touching and push * (q[2] - q[0]) < 0:
            continue  # the teeth are parting: see the test of its energy
        damping = 40 * (dq[2] - dq[0]) * touching
        expected = lagrange(lagrangian, q, dq, np.array([damping - 0.1 * dq[0], 0.0, u[0] - damping]))
        np.testing.assert_allclose(plant.derivative(x, u)[[2, 3, 5]], expected, rtol=1e-6, atol=1e-5)


def test_the_drive_crosses_the_play_before_it_moves_the_cart():
    plant = machine("cartpole_with_backlash", latency=0.0, start_std=0.0)
    plant.reset(0)
    path = []
    for _ in range(4):
        plant.step(np.array([0.1]))
        path.append(plant.state[[0, 4]])
    crossed = np.array(path)
    assert crossed[0, 0] == pytest.approx(0.0, abs=1e-9)
    assert crossed[0, 1] == pytest.approx(0.5 * 0.1 / 0.1 / 30**2)
    assert crossed[-1, 0] > 1e-4
    assert abs(crossed[-1, 1] - crossed[-1, 0]) < 1.2e-3


def test_pushed_one_way_it_is_a_cart_with_the_mass_of_the_drive():
    plant = machine("cartpole_with_backlash", latency=0.0)
    ideal = CartPole(1 / 30, plant.sensor)
    ideal.cart_mass += plant.drive_mass
    ours = run(plant, [0, 0, 0, 0, 1e-3, 0], [3.0], 12, 40)
    theirs = run(ideal, [0, 0, 0, 0], [3.0], 12, 20)
    assert theirs[-1, 0] > 0.1
    np.testing.assert_allclose(ours[:, :2], theirs[:, :2], atol=2e-3)


# -- energy ------------------------------------------------------------------------------------------------------


def run(plant: Any, state: list[float], u: list[float], samples: int, substeps: int) -> np.ndarray:
    """The states from a given one on, finely integrated."""
    plant.reset(0)
    plant.state, plant.substeps = np.array(state, float), substeps
    found = [plant.state]
    for _ in range(samples):
        plant.step(np.array(u))
        found.append(plant.state)
    return np.array(found)


def test_without_losses_the_cart_bounces_in_the_play_for_ever():
    plant = machine("cartpole_with_backlash", friction=0.0, damping=0.0, latency=0.0)
    p, alpha, dp, dalpha, z, dz = run(plant, [0, 0.4, 0, 0, 0, 0.5], [0.0], 15, 400).T
    pole = 0.5 * 0.5 * ((dp + 0.25 * dalpha * np.cos(alpha)) ** 2 + (0.25 * dalpha * np.sin(alpha)) ** 2)
    turning = 0.5 * 0.5 * 0.5**2 / 12 * dalpha**2
    spring = 0.5 * 2e4 * np.maximum(np.abs(z - p) - 1e-3, 0) ** 2
    energy = pole + turning + 0.25 * dp**2 + 0.05 * dz**2 + spring - 0.5 * 9.81 * 0.25 * np.cos(alpha)
    assert np.ptp(dp) > 0.05  # pushed by the drive
    np.testing.assert_allclose(energy, energy[0], atol=1e-4)


def test_magnetic_levitation_is_as_unstable_as_published_and_conserves_energy():
    plant = machine("magnetic_levitation")
    a, b = jacobians(plant, np.array([0.0, 0.0, plant.hidden[0]]), np.zeros(1))
    published = np.array([[0, 1, 0], [980, 0, -2.8e3], [0, 0, -100]])  # per mm here, hence the factor of 1000
    np.testing.assert_allclose(a, published, rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(b[:, 0], [0, 0, 100], atol=1e-6)
    below, speed, current = run(plant, [0.3, 0.0, plant.hidden[0]], [0.0], 8, 50).T
    np.testing.assert_allclose(current, plant.hidden[0])
    gap = 0.01 + 1e-3 * below
    energy = 0.5 * 0.05 * (1e-3 * speed) ** 2 - 0.05 * 9.81 * gap + 1e-4 * current**2 * np.log(gap)
    assert gap[-1] > 0.011
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)


def test_the_servo_of_the_beam_has_a_plausible_gain_and_time_constant():
    plant = machine("ball_and_beam")
    a, b = jacobians(plant, np.zeros(4), np.zeros(1))
    assert -b[3, 0] / a[3, 3] == pytest.approx(1.53, rel=0.01)  # rad/s per V, and s: usual for this servo
    assert -1 / a[3, 3] == pytest.approx(0.0254, rel=0.03)


def test_the_slider_moves_as_published_until_it_meets_a_stop():
    plant = machine("end_stop_slider", coulomb=0.0)
    a, b = jacobians(plant, np.zeros(2), np.zeros(1))
    assert plant.mass == pytest.approx(0.94 + 0.133, rel=2e-3)
    torque = 3.71 * 0.00767 / 6.35e-3  # N per A at the rack
    assert b[1, 0] * plant.mass == pytest.approx(torque / 2.6)
    assert -a[1, 1] * plant.mass == pytest.approx(5.4 + torque**2 / 2.6)


def test_a_buffer_of_the_slider_takes_energy_and_gives_back_the_rest():
    free = {"gain": 0.0, "damping": 0.0, "coulomb": 0.0}
    elastic = machine("end_stop_slider", **free, loss=0.0)
    x, v = run(elastic, [0.19, 0.5], [0.0], 10, 200).T
    energy = 0.5 * elastic.mass * v**2 + 0.5 * 1e4 * np.maximum(np.abs(x) - 0.2, 0) ** 2
    assert v[-1] == pytest.approx(-0.5, abs=1e-3)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-3)
    for side in (1, -1):
        lossy = run(machine("end_stop_slider", **free), [0.19 * side, 0.5 * side], [0.0], 10, 200)
        rebound = -lossy[-1, 1] / (0.5 * side)
        # Hunt and Crossley: with loss · speed = 1 the integral of v dv / (1 + loss v) vanishes for this restitution.
        assert 1 + rebound == pytest.approx(np.log(2 / (1 - rebound)), rel=1e-3)


def test_the_slider_rests_against_a_stop_that_carries_the_force():
    plant = machine("end_stop_slider")
    x, v = run(plant, [0.19, 0.0], [6.0], 40, 40)[-1]
    assert v == pytest.approx(0.0, abs=1e-6)
    assert x - 0.2 == pytest.approx(plant.gain * 6.0 / 1e4, rel=1e-3)


# -- pneumatics --------------------------------------------------------------------------------------------------

SLIDING = {"coulomb": 1e-9, "stiction": 1e-9, "bristles": 0.0, "bristle_damping": 0.0, "viscous": 0.0}


def test_closed_chambers_are_an_adiabatic_spring():
    plant = machine("pneumatic_positioner", **SLIDING)
    pushed = [4e5 * (0.11 / room) ** 1.4 for room in (0.13, 0.09)]
    x, v, _, left, right, _ = run(plant, [0.02, 0, 0, *pushed, 0], [0.0], 20, 100).T
    rooms = [plant.area * (0.11 + x), plant.area * (0.11 - x)]
    for pressure, room in zip((left, right), rooms, strict=True):
        np.testing.assert_allclose(pressure * room**1.4, pressure[0] * room[0] ** 1.4, rtol=1e-6)
    energy = v**2 + left * rooms[0] / 0.4 + right * rooms[1] / 0.4
    assert np.abs(v).max() > 0.1
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    a, _ = jacobians(plant, np.array([0, 0, 0, 4e5, 4e5, 0.0]), np.zeros(1))
    stiffness = 2 * 1.4 * 4e5 * plant.area**2 / (plant.area * 0.11)
    assert np.abs(np.linalg.eigvals(a)).max() == pytest.approx(np.sqrt(stiffness / 2.0), rel=1e-3)


def test_air_flows_through_the_valve_after_iso_6358():
    plant = machine("pneumatic_positioner")
    choked = plant.conductance * 7e5
    assert plant.flow(1.0, 1e5) == plant.flow(1.0, 2e5) == pytest.approx(choked)
    assert plant.flow(0.5, 1e5) == pytest.approx(choked / 2)
    assert plant.flow(1.0, 7e5) == 0.0
    assert plant.flow(-1.0, 1e5) == 0.0
    assert plant.flow(-1.0, 7e5) == pytest.approx(-choked)
    half = (5e5 / 7e5 - 0.3) / 0.7
    assert plant.flow(1.0, 5e5) == pytest.approx(choked * np.sqrt(1 - half**2))
    litres = 60e3 * plant.flow(1.0, 6e5) / 1.185  # nominal: from 7 to 6 bar absolute, in litres of free air a minute
    assert litres == pytest.approx(100, rel=0.3)


def test_the_air_in_both_chambers_is_what_flowed_in():
    plant = machine("pneumatic_positioner", adiabatic=1.0)  # isothermal: p V = m R T
    path = run(plant, [-0.05, 0, 0, 4e5, 4e5, 0], [3.0], 12, 60)
    x, left = path[:, 0], path[:, 3]
    air = left * plant.area * (0.11 + x) / (287 * 293)
    flows = [plant.flow(row[2], row[3]) for row in path]
    assert np.ptp(x) > 0.03
    flowed = np.trapezoid(flows, dx=plant.sampling_time)
    assert air[-1] - air[0] == pytest.approx(flowed, rel=0.05)


def test_the_seals_hold_the_piston_until_the_force_exceeds_their_stiction():
    plant = machine("pneumatic_positioner", adiabatic=0.0)  # the pressures stay as they are
    for force, moves in ((35.0, False), (45.0, True)):
        end = run(plant, [0, 0, 0, 4e5 + force / plant.area, 4e5, 35 / 5e4], [0.0], 12, 60)[-1]
        assert (end[0] > 0.01) == moves
        assert moves or end[0] == pytest.approx(0.0, abs=1e-6)
    steady = run(plant, [-0.1, 0.3, 0, 4e5 + 45 / plant.area, 4e5, 25 / 5e4], [0.0], 12, 60)[-1]
    assert 25 + 40 * steady[1] == pytest.approx(45, rel=0.02)  # Coulomb and viscous friction balance the force


def test_the_valve_follows_its_command_slowly():
    plant = machine("pneumatic_positioner")
    valve = run(plant, [0, 0, 0, 4e5, 4e5, 0], [5.0], 4, 60)[:, 2]
    np.testing.assert_allclose(valve, 1 - np.exp(-np.arange(5) * 0.025 / 0.05), atol=1e-6)
