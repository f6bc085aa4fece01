"""The UR5, a six-joint arm, in MuJoCo; its kinematics and masses as its maker publishes them."""

from __future__ import annotations

import os
import sys
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from vfpilco.common.errors import UserError
from vfpilco.plants.simulation import Sensed
from vfpilco.tasks.sensors import Sensor


class Link(NamedTuple):
    """A link: where the next joint is (Denavit-Hartenberg), its mass, and the shape it is drawn and weighed by."""

    name: str
    a: float
    d: float
    alpha: float
    mass: float
    centre: tuple[float, float, float]
    """Centre of mass in the frame at the link's end."""
    inertia: tuple[float, float, str]
    """Radius and length of the solid cylinder that its inertia is that of, and the joint frame's axis it lies along."""
    damping: float
    """Of the joint that moves it, N·m·s/rad."""


RIGHT = np.pi / 2
LINKS = (
    Link("shoulder", 0.0, 0.089159, RIGHT, 3.7, (0.0, -0.02561, 0.00193), (0.06, 0.15, "z"), 65.0),
    Link("upper arm", -0.425, 0.0, 0.0, 8.393, (0.2125, 0.0, 0.11336), (0.054, 0.52, "x"), 65.0),
    Link("forearm", -0.39225, 0.0, 0.0, 2.33, (0.15, 0.0, 0.0265), (0.045, 0.47, "x"), 65.0),
    Link("wrist 1", 0.0, 0.10915, RIGHT, 1.219, (0.0, -0.0018, 0.01634), (0.045, 0.12, "z"), 45.0),
    Link("wrist 2", 0.0, 0.09465, -RIGHT, 1.219, (0.0, 0.0018, 0.01634), (0.045, 0.12, "z"), 45.0),
    Link("wrist 3", 0.0, 0.0823, 0.0, 0.1879, (0.0, 0.0, -0.001159), (0.0375, 0.04, "z"), 45.0),
)
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
START = (0.0, -1.48, 1.85, -0.47, 1.48, 0.0)
"""The posture a trial starts in, rad."""
GEAR = 101.0
ARMATURE = 0.01
STEP = 1e-3
"""Seconds of one simulation step."""


# -- kinematics, on their own ------------------------------------------------------------------------------------


def frames(q: Float[np.ndarray, "*N 6"]) -> Float[np.ndarray, "*N 7 4 4"]:
    """The frames of base, every link's end and the flange (the last one), as homogeneous transformations."""
    pose = np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
    found = [pose]
    for i, link in enumerate(LINKS):
        c, s = np.cos(q[..., i]), np.sin(q[..., i])
        ca, sa = np.cos(link.alpha), np.sin(link.alpha)
        zero, one = np.zeros_like(c), np.ones_like(c)
        rows = [
            [c, -s * ca, s * sa, link.a * c],
            [s, c * ca, -c * sa, link.a * s],
            [zero, zero + sa, zero + ca, zero + link.d],
            [zero, zero, zero, one],
        ]
        pose = pose @ np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        found.append(pose)
    return np.stack(found, axis=-3)


def flange(q: Float[np.ndarray, "*N 6"]) -> Float[np.ndarray, "*N 3"]:
    """Where the end-effector is, m."""
    return frames(q)[..., -1, :3, 3]


def jacobian(q: Float[np.ndarray, "6"]) -> Float[np.ndarray, "6 6"]:
    """How the flange moves and turns with every joint."""
    poses = frames(q)
    axes, places = poses[:-1, :3, 2], poses[:-1, :3, 3]
    return np.concatenate([np.cross(axes, poses[-1, :3, 3] - places).T, axes.T])


def reach(pose: Float[np.ndarray, "4 4"], near: Float[np.ndarray, "6"]) -> Float[np.ndarray, "6"]:
    """The joint angles near `near` that bring the flange to a pose (Newton's method)."""
    q = np.array(near, dtype=float)
    for _ in range(50):
        now = frames(q)[-1]
        turn = now[:3, :3].T @ pose[:3, :3]
        skew = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        missing = np.concatenate([pose[:3, 3] - now[:3, 3], now[:3, :3] @ skew])
        if np.abs(missing).max() < 1e-12:
            return q
        q = q + np.linalg.solve(jacobian(q), missing)
    raise UserError(
        f"The arm cannot reach {np.round(pose[:3, 3], 3).tolist()} m in this orientation: choose another path."
    )


def circle(
    steps: int, sampling_time: float, radius: float = 0.1, period: float = 4.0, ramp: float = 1.0
) -> Float[np.ndarray, "samples 6"]:
    """Joint angles that make the flange draw a circle in the X-Y plane, from rest in the start posture.

    One turn takes `period` seconds; the speed grows smoothly during the first `ramp` seconds of it. The flange keeps
    its orientation and its height.
    """
    if not (radius > 0 and period > 0 and 0 <= ramp <= period):
        raise UserError(
            f"A circle needs a positive radius and period and a ramp within it, got {radius}, {period}, {ramp}."
        )
    t = np.arange(steps + 1) * sampling_time
    # The speed is that of a smooth step: 3 s² - 2 s³, whose integral over the ramp is half of it.
    s = np.clip(t / ramp, 0, 1) if ramp else np.ones_like(t)
    travelled = ramp * (s**3 - s**4 / 2) + np.maximum(t - ramp, 0)
    phase = 2 * np.pi * travelled / (period - ramp / 2)
    q = [np.array(START)]
    pose = frames(q[0])[-1]
    centre = pose[:3, 3] - [radius, 0.0, 0.0]
    for angle in phase[1:]:
        goal = pose.copy()
        goal[:3, 3] = centre + radius * np.array([np.cos(angle), np.sin(angle), 0.0])
        q.append(reach(goal, q[-1]))
    return np.array(q)


# -- the plant ---------------------------------------------------------------------------------------------------


class UR5(Sensed):
    """The arm under motor torques, measured by a sensor; it starts every trial at rest in the start posture."""

    def __init__(self, sampling_time: float, sensor: Sensor) -> None:
        self.mujoco = load_mujoco()
        self.model = self.mujoco.MjModel.from_xml_string(description())
        self.data = self.mujoco.MjData(self.model)
        self.sensor, self.substeps = sensor, round(sampling_time / STEP)
        self.rng = np.random.default_rng(0)

    def reset(self, seed: int) -> np.ndarray:
        self.rng = np.random.default_rng(seed)
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = START
        self.mujoco.mj_forward(self.model, self.data)
        return self.first_measurement()

    def step(self, u: np.ndarray) -> np.ndarray:
        self.data.ctrl[:] = u
        self.mujoco.mj_step(self.model, self.data, self.substeps)
        return self.measurement()

    def stop(self) -> None:
        self.data.ctrl[:] = 0

    @property
    def true_positions(self) -> np.ndarray:
        """The joint angles without the sensor's error."""
        return self.data.qpos.copy()

    @property
    def true_velocities(self) -> np.ndarray:
        """The joint velocities, rad/s."""
        return self.data.qvel.copy()


def load_mujoco() -> Any:
    """MuJoCo, if it is installed; configured to render without a display where there is none."""
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    try:
        import mujoco
    except ImportError as error:
        raise UserError(
            "The UR5 is simulated in MuJoCo, which is not installed: pip install 'vfpilco[mujoco]'."
        ) from error
    return mujoco


def description() -> str:
    """The arm in MuJoCo's language; every shape is a primitive, contacts are off."""
    bodies, ends = "", ""
    place, turn = "0 0 0", "1 0 0 0"
    for joint, link in zip(JOINTS, LINKS, strict=True):
        rotation = _about_x(link.alpha)
        centre = np.array([link.a, 0.0, link.d]) + rotation @ link.centre
        bodies += (
            f'<body name="{link.name}" pos="{place}" quat="{turn}">'
            f'<joint name="{joint}" axis="0 0 1" damping="{link.damping}" armature="{ARMATURE}"/>'
            f'<inertial mass="{link.mass}" pos="{_text(centre)}" diaginertia="{_text(_inertia(link))}"/>'
            f"{SHAPES[link.name]}"
        )
        ends += "</body>"
        place, turn = _text([link.a, 0.0, link.d]), _text([np.cos(link.alpha / 2), np.sin(link.alpha / 2), 0.0, 0.0])
    motors = "".join(
        f'<motor name="{joint}" joint="{joint}" gear="{GEAR}" ctrllimited="true" ctrlrange="-1 1"/>' for joint in JOINTS
    )
    return f"""
<mujoco model="ur5">
  <option timestep="{STEP}" integrator="implicitfast"><flag contact="disable"/></option>
  <visual>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.35 0.35 0.35" specular="0 0 0"/>
    <quality shadowsize="4096" offsamples="8"/>
    <global offwidth="1600" offheight="1200"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0.86 0.9 0.95" width="256" height="1536"/>
    <texture name="floor" type="2d" builtin="checker" rgb1="0.93 0.94 0.95" rgb2="0.88 0.89 0.91" width="512"
      height="512"/>
    <material name="floor" texture="floor" texrepeat="10 10"/>
    <material name="grey" rgba="0.72 0.74 0.77 1" specular="0.4" shininess="0.4"/>
    <material name="dark" rgba="0.25 0.27 0.3 1" specular="0.3" shininess="0.3"/>
    <material name="blue" rgba="0.36 0.6 0.8 1" specular="0.4" shininess="0.5"/>
  </asset>
  <default><geom contype="0" conaffinity="0" group="1" mass="0" material="grey"/></default>
  <worldbody>
    <light pos="1.5 -1.5 2.5" dir="-0.5 0.5 -1" diffuse="0.5 0.5 0.5" castshadow="true"/>
    <geom type="plane" size="3 3 0.1" material="floor" group="0"/>
    <geom type="cylinder" fromto="0 0 0 0 0 0.03" size="0.075" material="dark"/>
    {bodies}<site name="flange" pos="{place}" quat="{turn}" size="0.012" rgba="0.85 0.3 0.2 1"/>{ends}
  </worldbody>
  <actuator>{motors}</actuator>
</mujoco>"""


def _tube(start: str, end: str, radius: float, kind: str = "capsule", material: str = "grey") -> str:
    return f'<geom type="{kind}" fromto="{start} {end}" size="{radius}" material="{material}"/>'


SHAPES = {
    "shoulder": _tube("0 0 0.03", "0 0 0.15", 0.06, "cylinder")
    + _tube("0 0 0.089", "0 -0.075 0.089", 0.058, "cylinder")
    + _tube("0 0 0.15", "0 0 0.155", 0.055, "cylinder", "blue"),
    "upper arm": _tube("0 0 0.075", "0 0 0.195", 0.058, "cylinder")
    + _tube("0 0 0.195", "0 0 0.2", 0.052, "cylinder", "blue")
    + _tube("0 0 0.136", "-0.425 0 0.136", 0.045)
    + _tube("-0.425 0 0.075", "-0.425 0 0.19", 0.052, "cylinder")
    + _tube("-0.425 0 0.19", "-0.425 0 0.195", 0.047, "cylinder", "blue"),
    "forearm": _tube("0 0 -0.04", "0 0 0.075", 0.052, "cylinder")
    + _tube("0 0 0.0165", "-0.39225 0 0.0165", 0.038)
    + _tube("-0.39225 0 -0.04", "-0.39225 0 0.06", 0.043, "cylinder")
    + _tube("-0.39225 0 -0.045", "-0.39225 0 -0.04", 0.038, "cylinder", "blue"),
    "wrist 1": _tube("0 0 0.06", "0 0 0.155", 0.042, "cylinder")
    + _tube("0 0 0.155", "0 0 0.16", 0.038, "cylinder", "blue")
    + _tube("0 0 0.10915", "0 -0.05 0.10915", 0.042, "cylinder"),
    "wrist 2": _tube("0 0 0.05", "0 0 0.14", 0.042, "cylinder")
    + _tube("0 0 0.14", "0 0 0.145", 0.038, "cylinder", "blue")
    + _tube("0 0 0.09465", "0 0.05 0.09465", 0.042, "cylinder"),
    "wrist 3": _tube("0 0 0.05", "0 0 0.0823", 0.0375, "cylinder", "dark"),
}
"""What a link looks like, in the frame of the joint that moves it."""


def _inertia(link: Link) -> np.ndarray:
    """Of a solid cylinder about its centre, along the axes of the joint's frame."""
    radius, length, axis = link.inertia
    across = link.mass * (3 * radius**2 + length**2) / 12
    along = link.mass * radius**2 / 2
    return np.array([along if name == axis else across for name in "xyz"])


def _about_x(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def _text(numbers: Any) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)
