"""Writes motor.mat, as the MATLAB script of a motor rig would: two swings of a second, with a pause between them.

A geared DC motor turns an arm; an encoder measures its angle in degrees, 50 times per second.
"""

import numpy as np
from scipy.io import savemat

H, GAIN, TIME_CONSTANT, COUNTS = 0.02, 1.2, 0.08, 4096


def swing(rng: np.random.Generator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Angles in radians, and voltages that change every few samples."""
    voltages = np.repeat(rng.uniform(-6, 6, samples // 4 + 1), 4)[:samples]
    angle, speed, angles = 0.0, 0.0, []
    for voltage in voltages:
        angles.append(angle)
        for _ in range(20):
            speed += H / 20 * (GAIN * voltage - speed) / TIME_CONSTANT
            angle += H / 20 * speed
    step = 2 * np.pi / COUNTS
    return step * np.round(np.array(angles) / step), voltages


def main() -> None:
    """Write the file."""
    rng = np.random.default_rng(0)
    swings = [swing(rng, 51) for _ in range(2)]
    times = [H * np.arange(51), 7.5 + H * np.arange(51)]
    log = {
        "t": np.concatenate(times),
        "theta": np.rad2deg(np.concatenate([angles for angles, _ in swings])),
        "u": np.concatenate([voltages for _, voltages in swings]),
        "operator": "bench 3",
    }
    savemat("motor.mat", {"log": log})


if __name__ == "__main__":
    main()
