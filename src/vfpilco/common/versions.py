"""What a result depends on apart from the code: versions and computer."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version

PACKAGES = ("vfpilco", "jax", "jaxlib", "numpy", "scipy", "optax")


@dataclass(frozen=True)
class Computer:
    """The computer that made a result, as far as its numbers or its speed depend on it."""

    processor: str
    cores: int | None
    devices: int
    blas_threads: int = 1


def computer() -> Computer:
    """This computer."""
    import jax

    return Computer(platform.machine(), os.cpu_count(), len(jax.devices()))


def versions() -> dict[str, str]:
    """The versions of Python and of every package that the numbers depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
