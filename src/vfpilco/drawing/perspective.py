"""Projection of points in space onto the plane of a scene."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def project(points: Float[np.ndarray, "*rows 3"], azimuth: float, elevation: float) -> Float[np.ndarray, "*rows 2"]:
    """Project points in space onto a plane, in parallel perspective.

    Args:
        points: Points (…, 3); the third coordinate points up.
        azimuth: Where the viewer is, in degrees around the vertical.
        elevation: Where the viewer is, in degrees above the horizon.

    Returns:
        The projected points (…, 2): to the right, and up.

    Example:
        >>> project(np.array([[0.0, 1.0, 2.0]]), azimuth=0.0, elevation=0.0)
        array([[1., 2.]])
    """
    a, e = np.deg2rad([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    return np.asarray(points, dtype=float) @ np.stack([right, up], axis=-1)


def ring(radius: float, height: float = 0.0, points: int = 49) -> Float[np.ndarray, "points 3"]:
    """A horizontal circle around the vertical axis."""
    phase = np.linspace(0, 2 * np.pi, points)
    return np.column_stack([radius * np.cos(phase), radius * np.sin(phase), np.full(points, height)])
