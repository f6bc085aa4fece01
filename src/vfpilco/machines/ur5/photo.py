"""Pictures of the UR5 and of what it drew, rendered by MuJoCo without a screen."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from vfpilco.common.errors import UserError
from vfpilco.machines.ur5.plant import description, flange, load_mujoco

DRAWN, REFERENCE = (0.85, 0.33, 0.1, 1.0), (0.35, 0.38, 0.42, 0.5)
"""Colours of a drawn path and of the one that should be drawn."""
THICK = 0.004
"""Radius of a drawn line, m."""


def photograph(
    q: Float[np.ndarray, "samples 6"], goal: Float[np.ndarray, "rows 3"], width: int = 800, height: int = 600
) -> UInt8[np.ndarray, "height width 3"]:
    """The arm in the last of these positions, the path it drew, and the one it should have drawn."""
    mujoco = load_mujoco()
    model = mujoco.MjModel.from_xml_string(description())
    data = mujoco.MjData(model)
    data.qpos[:] = q[-1]
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = (-0.35, -0.08, 0.25)
    camera.distance, camera.azimuth, camera.elevation = 1.4, 125.0, -28.0
    try:
        renderer = mujoco.Renderer(model, height, width, max_geom=2000)
    except Exception as error:
        raise UserError(
            f"MuJoCo cannot render here ({type(error).__name__}): install EGL (Debian: apt install libegl1 libgl1), or "
            "OSMesa (libosmesa6) and set MUJOCO_GL=osmesa."
        ) from error
    try:
        renderer.update_scene(data, camera)
        _line(mujoco, renderer.scene, goal, REFERENCE, 0.6 * THICK)
        _line(mujoco, renderer.scene, flange(q), DRAWN, THICK)
        return renderer.render()
    finally:
        renderer.close()


def _line(mujoco: Any, scene: Any, points: np.ndarray, colour: tuple[float, ...], radius: float) -> None:
    """A tube through the points."""
    for start, end in zip(points[:-1:2], points[2::2], strict=False):
        shape = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(
            shape, mujoco.mjtGeom.mjGEOM_CAPSULE, np.zeros(3), np.zeros(3), np.zeros(9), np.array(colour, np.float32)
        )
        mujoco.mjv_connector(shape, mujoco.mjtGeom.mjGEOM_CAPSULE, radius, start, end)
        scene.ngeom += 1
