"""A task: the plant, what is known about it, and what it should do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.errors import UserError
from vfpilco.exploration import Exploration, FilteredNoise
from vfpilco.particles import Start
from vfpilco.plants.base import Plant
from vfpilco.sensors import Sensor
from vfpilco.settings import Settings


@dataclass(frozen=True)
class Position:
    """A measured position: a name for the columns, its unit, and whether it is an angle in radians."""

    name: str
    unit: str
    angle: bool = False


@dataclass(frozen=True)
class Input:
    """An input of the plant: a name for the columns, its unit, and the largest magnitude allowed."""

    name: str
    unit: str
    limit: float


def never(q: np.ndarray) -> bool:
    """The success test of a task that has none."""
    return False


@dataclass(frozen=True)
class Task:
    """Everything the learner is told: how the plant is reached, measured and judged."""

    name: str
    summary: str
    """One line for `vfpilco tasks`."""
    plant: Callable[[], Plant]
    """Makes or connects to the plant."""
    positions: tuple[Position, ...]
    inputs: tuple[Input, ...]
    sampling_time: float
    """Seconds between samples."""
    horizon: int
    """Samples per trial, T."""
    sensor: Sensor
    """What the sensors do to the true positions; simulated in the particles."""
    cost: Callable[[Any], Any]
    """The cost of positions (…, d_q), one number each (…); written with jax.numpy."""
    start: Start
    """Where particles start."""
    exploration: Exploration = field(default_factory=FilteredNoise)
    explorations: int = 1
    """Executions with exploring inputs before the first policy."""
    success: Callable[[np.ndarray], bool] = never
    """Whether a trial's positions (T+1, d_q) solve the task."""
    draw: Callable[[Any, np.ndarray, float], None] | None = None
    """Draws positions (T+1, d_q) sampled at a given time on a Matplotlib axis."""
    settings: Settings = field(default_factory=Settings)
    """The defaults of the method for this task, memories among them."""

    @property
    def limits(self) -> np.ndarray:
        """u_max of every input."""
        return np.array([i.limit for i in self.inputs])

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles."""
        return tuple(p.angle for p in self.positions)

    def total_cost(self, q: Float[np.ndarray, "samples d_q"]) -> float:
        """Σ c(q_t) over a trial."""
        return float(np.sum(np.asarray(self.cost(jnp.asarray(q)), dtype=float)))

    def check(self) -> None:
        """Refuse what cannot be learned, with a sentence that says why."""
        names = [p.name for p in self.positions] + [i.name for i in self.inputs]
        if not self.positions or not self.inputs:
            raise UserError(f"Task {self.name!r} needs at least one position and one input, got {names}: name them.")
        if len({"t", *names}) != len(names) + 1 or any("," in n or not n.strip() or "\n" in n for n in names):
            raise UserError(
                f"The columns of task {self.name!r} must have different names without commas, other than 't', "
                f"got {names}: rename them."
            )
        for i in self.inputs:
            if not (np.isfinite(i.limit) and i.limit > 0):
                raise UserError(f"The limit of input {i.name!r} must be positive, got {i.limit}: give it in {i.unit}.")
        if not (np.isfinite(self.sampling_time) and self.sampling_time > 0):
            raise UserError(f"The sampling time must be positive, got {self.sampling_time}: give it in seconds.")
        if self.horizon < 2 or self.explorations < 1:
            raise UserError(
                f"A task needs a horizon of at least 2 samples and at least 1 exploration, got horizon "
                f"{self.horizon} and explorations {self.explorations}."
            )
        self._check_cost()
        self._check_shapes()

    def _check_cost(self) -> None:
        probe = jnp.zeros((3, 5, len(self.positions)))
        try:
            cost = jax.jit(self.cost)(probe)
            shape = jnp.shape(cost)
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else ""
            raise UserError(
                f"The cost of task {self.name!r} failed on positions of shape {probe.shape} "
                f"({type(error).__name__}: {reason}): index positions as q[..., i] and use jax.numpy."
            ) from error
        if shape != (3, 5):
            raise UserError(
                f"The cost of task {self.name!r} has the wrong shape: positions of shape {probe.shape} gave {shape} "
                "instead of (3, 5): return one number per row of positions, e.g. by indexing q[..., i]."
            )
        if not np.all(np.isfinite(np.asarray(cost))):
            raise UserError(f"The cost of task {self.name!r} is not finite at the origin: make it finite everywhere.")

    def _check_shapes(self) -> None:
        """Draw once from everything that has one entry per position."""
        d_q = len(self.positions)
        parts: dict[str, Callable[[], Any]] = {
            "start": lambda: self.start.sample(jax.random.key(0), 3, np.float32).shape == (3, d_q),
            "sensor": lambda: self.sensor.fictitious(jax.random.key(0), (3, d_q), np.float32).shape == (3, d_q),
            "success": lambda: self.success(np.zeros((self.horizon + 1, d_q))) in (True, False),
        }
        for name, fits in parts.items():
            try:
                problem = "" if fits() else "it gives something of another shape"
            except Exception as error:
                problem = f"{type(error).__name__}: {error}".splitlines()[0]
            if problem:
                raise UserError(
                    f"The {name} of task {self.name!r} does not fit its {d_q} positions "
                    f"{', '.join(p.name for p in self.positions)} ({problem}): give it one entry per position."
                )


@dataclass(frozen=True)
class GaussianStart:
    """Particles start from a Gaussian around `mean`."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def sample(self, key: Array, particles: int, dtype: Any) -> Float[Array, "M d_q"]:
        gauss = jax.random.normal(key, (particles, len(self.mean)), dtype)
        return jnp.asarray(self.mean, dtype) + gauss * jnp.asarray(self.std, dtype)
