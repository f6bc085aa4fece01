"""A ball on a plate with the faults of a rig that was built by hand."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from vfpilco.common.checks import check_integer, check_number
from vfpilco.machines.ballplate.plant import BallPlate
from vfpilco.tasks.sensors import Sensor

WAVE = 0.2
"""The distance over which the rolling friction repeats itself, m."""
DOWNHILL = math.radians(30)
"""Where a plate that is off level rolls the ball, as an angle from the x axis."""


class RoughBallPlate(BallPlate):
    """The ball-and-plate with a late camera, a crooked plate, loose motors, uneven friction and lost images.

    Inputs, positions and start are those of `BallPlate`. The commanded angles of the motors are known at once.

    ## Faults
    Those of `BallPlate`, and each of these, which 0 switches off:

    | setting            | default | what happens                                                                    |
    |--------------------|---------|---------------------------------------------------------------------------------|
    | late               | 1       | an image of the camera arrives so many samples after it was taken               |
    | off_level          | 0.5°    | the plate is tilted by that when both motors are at zero                        |
    | backlash           | 0.3°    | so far a motor turns, after a change of direction, before the plate follows     |
    | friction_variation | 0.3     | rolling friction differs by up to this fraction from its mean, over the plate   |
    | dropped            | 0.02    | the probability that an image is lost: the last position is reported once more  |
    """

    def __init__(
        self,
        sampling_time: float,
        sensor: Sensor,
        *,
        late: int = 1,
        off_level: float = math.radians(0.5),
        backlash: float = math.radians(0.3),
        friction_variation: float = 0.3,
        dropped: float = 0.02,
        **faults: float,
    ) -> None:
        super().__init__(sampling_time, sensor, **faults)
        check_integer("late", late, 0, 30)
        check_number("off_level", off_level, 0, 0.5, "it is an angle in rad")
        check_number("backlash", backlash, 0, 0.5, "it is an angle in rad")
        check_number("friction_variation", friction_variation, 0, 1)
        check_number("dropped", dropped, 0, 1)
        self.late_images, self.play, self.friction_variation, self.dropped = (
            late,
            backlash / 2,
            friction_variation,
            dropped,
        )
        self.level = (off_level * math.cos(DOWNHILL), off_level * math.sin(DOWNHILL))
        self.link = np.zeros(2)
        self.images: deque[np.ndarray | None] = deque()
        self.shown = np.zeros(2)

    def reset(self, seed: int) -> np.ndarray:
        self.link = np.zeros(2)
        return super().reset(seed)

    # -- the plate -------------------------------------------------------------------------------------------------

    def linked(self) -> None:
        """The links between motors and plate move when the play is used up."""
        self.link = np.clip(self.link, self.state[2:4] - self.play, self.state[2:4] + self.play)

    def tilt(self, motor: float, turn: float, axis: int) -> tuple[float, float]:
        """The tilt of the plate and its rate: the plate turns only while the motor pushes its link."""
        ahead = motor - float(self.link[axis])
        pushed = abs(ahead) >= self.play and ahead * turn >= 0
        angle = motor - math.copysign(self.play, ahead) if pushed else float(self.link[axis])
        return self.gear * angle + self.level[axis], self.gear * turn if pushed else 0.0

    def friction_at(self, x: float, y: float) -> float:
        """The rolling friction where the ball is: smooth and rough places, in a pattern like that of a chessboard."""
        pattern = math.sin(2 * math.pi * x / WAVE) * math.sin(2 * math.pi * y / WAVE)
        return self.friction * (1 + self.friction_variation * pattern)

    # -- the camera ------------------------------------------------------------------------------------------------

    def first_measurement(self) -> np.ndarray:
        """Before a trial the ball lies still, and the camera has seen it for a while."""
        self.images.clear()
        self.sensing = self.sensor.begin(self.true_positions)
        measured = super().measurement()
        self.shown = measured[:2]
        self.images.extend([measured[:2]] * self.late_images)
        return measured

    def measurement(self) -> np.ndarray:
        """The image that arrives now, or the last one if it was lost; the commanded angles of the motors."""
        measured = super().measurement()
        lost = self.dropped > 0 and self.rng.random() < self.dropped
        self.images.append(None if lost else measured[:2])
        image = self.images.popleft()
        self.shown = self.shown if image is None else image
        return np.concatenate([self.shown, measured[2:]])
