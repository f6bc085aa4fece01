"""How JAX is configured: float64 available, one CPU device per core, compiled code cached between runs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import warnings
from pathlib import Path

from vfpilco.common.cache import prune
from vfpilco.common.compiled import release
from vfpilco.common.places import cache_folder

CACHE_BYTES = 256 * 2**20
"""Size of the compilation cache above which a program that starts removes the least recently used entries."""

_configured = False


def configure() -> None:
    """Configure JAX for this package: float64 arithmetic, one CPU device per core, a persistent compilation cache.

    `learn`, the other verbs and the command line call this; importing the package does not. Call it yourself before
    the first use of JAX if your program uses JAX before it calls `learn`: the number of devices cannot change later.
    What is already configured (devices by `XLA_FLAGS`, a cache folder) is left alone.

    Example:
        >>> import vfpilco
        >>> vfpilco.configure()
    """
    global _configured
    release()  # what earlier runs of this process have compiled, if it is much
    if _configured:
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    _one_device_per_core()
    _cache_compiled_code()
    _configured = True


def _one_device_per_core() -> None:
    """Let the shards of a rollout run side by side."""
    import jax

    with contextlib.suppress(RuntimeError):  # JAX is already in use: its devices stay as they are.
        if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
            jax.config.update("jax_num_cpu_devices", max(2, os.cpu_count() or 1))


def _cache_compiled_code() -> None:
    """Cache compiled code in the user's cache folder, unless JAX has another one or that one is read-only."""
    import jax

    if jax.config.jax_compilation_cache_dir is not None:  # pyright: ignore[reportAttributeAccessIssue]
        return
    caches = cache_folder()
    if caches is None:
        return
    folder = caches / f"compiled-{_instruction_set()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        prune(folder, CACHE_BYTES)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_compilation_cache_max_size", -1)  # with a limit it waits for a lock at every use
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
        # Code that cannot be read from the cache is compiled again.
        warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")


def _instruction_set() -> str:
    """A name for the processor's capabilities: code compiled for one processor may not run on another."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        features = platform.processor()
    return hashlib.sha256(f"{platform.machine()} {features}".encode()).hexdigest()[:12]
