"""What a result depends on beside the code: versions and machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

import jax

PACKAGES = ("vfpilco", "jax", "jaxlib", "numpy", "scipy", "optax")


def machine() -> dict[str, Any]:
    """The machine a result was made on, as far as its numbers or its speed depend on it."""
    return {"processor": platform.machine(), "cores": os.cpu_count(), "devices": len(jax.devices()), "blas_threads": 1}


def versions() -> dict[str, str]:
    """The versions of Python and of every package that takes part in the numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
