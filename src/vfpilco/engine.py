"""How JAX is set up: float64 available, one CPU device per core, compiled code kept between runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import warnings
from pathlib import Path

import jax

CACHE_BYTES = 256 * 2**20
"""Size of the compilation cache from which on what was not used for longest is removed."""


def spread_over_cores() -> None:
    """One CPU device per core, so that shards run side by side."""
    with contextlib.suppress(RuntimeError):  # JAX was used before this import: its devices stay as they are.
        if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
            jax.config.update("jax_num_cpu_devices", max(2, os.cpu_count() or 1))


def keep_compiled() -> None:
    """Keep compiled code in the user's cache folder, unless JAX was told of another one or that one is read-only."""
    if jax.config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
        return
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "vfpilco" / f"compiled-{_instruction_set()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_compilation_cache_max_size", CACHE_BYTES)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        # Code that cannot be read from the cache is compiled as if it were not there.
        warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")


def _instruction_set() -> str:
    """A name for what this processor can do: code compiled for another one may not run on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:12]


jax.config.update("jax_enable_x64", True)
spread_over_cores()
keep_compiled()
