"""From space to the plane of a scene."""

from __future__ import annotations

import numpy as np


def project(points: np.ndarray, azimuth: float, elevation: float) -> np.ndarray:
    """Points (…, 3) as someone far away sees them, (…, 2); degrees around the vertical and above the horizon."""
    a, e = np.deg2rad([azimuth, elevation])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    return np.asarray(points, dtype=float) @ np.stack([right, up], axis=-1)


def ring(radius: float, height: float = 0.0, points: int = 49) -> np.ndarray:
    """A circle about the vertical, (points, 3)."""
    phase = np.linspace(0, 2 * np.pi, points)
    return np.column_stack([radius * np.cos(phase), radius * np.sin(phase), np.full(points, height)])
