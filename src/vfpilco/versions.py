"""What a result depends on beside the code: versions and machine."""

from __future__ import annotations

import platform
from importlib.metadata import version

PACKAGES = ("vfpilco", "jax", "jaxlib", "numpy", "scipy", "optax")


def versions() -> dict[str, str]:
    """The versions of Python and of every package that takes part in the numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
