"""The devices that particles are spread over: the cores of a processor, or GPUs."""

from __future__ import annotations

from typing import TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Tree = TypeVar("Tree")


def replicate(tree: Tree, shards: int) -> Tree:
    """The same arrays on every device that takes part, as `gradient_steps` returns them, so that it compiles once."""
    return jax.device_put(tree, NamedSharding(mesh(shards), PartitionSpec()))


def mesh(shards: int) -> Mesh:
    """As many devices as the shards can be distributed over evenly."""
    devices = jax.devices()
    used = max(n for n in range(1, min(shards, len(devices)) + 1) if shards % n == 0)
    return Mesh(np.array(devices[:used]), ("particles",))
