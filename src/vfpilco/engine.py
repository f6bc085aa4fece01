"""How JAX is set up: float64 available, and one CPU device per core so that shards run side by side."""

from __future__ import annotations

import contextlib
import os

import jax

jax.config.update("jax_enable_x64", True)

with contextlib.suppress(RuntimeError):  # JAX was used before this import: its devices stay as they are.
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        jax.config.update("jax_num_cpu_devices", max(2, os.cpu_count() or 1))
