"""Sensors: one description each, used on a simulated plant (NumPy) and as fictitious noise in the particles (JAX)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Float

from vfpilco.errors import UserError, numbers_of


@runtime_checkable
class Sensor(Protocol):
    """What stands between the true positions and the measured ones."""

    def measure(self, rng: np.random.Generator, q: np.ndarray) -> np.ndarray:
        """Measure the true positions `q` of a simulated plant."""
        ...

    def fictitious(self, key: Array, shape: tuple[int, ...], dtype: jax.typing.DTypeLike) -> Float[Array, "..."]:
        """Draw noise e_t of the same kind for particles: the simulated measurement is q_t + e_t."""
        ...


@runtime_checkable
class Spreading(Protocol):
    """A sensor that tells how large its error is."""

    def spread(self) -> tuple[float, ...]:
        """The standard deviation of the error at every position."""
        ...


def described(text: str, positions: int) -> Sensor:
    """The sensor that a setting describes: `noise:STD,…` or `step:STEP,…`, with a number for every position."""
    kind, _, numbers = text.partition(":")
    try:
        values = tuple(float(number) for number in numbers.split(","))
        cls = {"noise": GaussianNoise, "step": Quantised}[kind]
    except (ValueError, KeyError):
        raise UserError(f"sensor must be task, noise:STD,… or step:STEP,…, got {text[:100]!r}.") from None
    if len(values) != positions:
        raise UserError(f"sensor must have {positions} numbers, one for every position, got {text[:100]!r}.")
    return cls(values)


def description(sensor: Sensor) -> str:
    """A sensor as a setting describes it."""
    if isinstance(sensor, GaussianNoise):
        return "noise:" + ",".join(f"{std:.6g}" for std in sensor.std)
    if isinstance(sensor, Quantised):
        return "step:" + ",".join(f"{step:.9g}" for step in sensor.step)
    raise UserError(f"A {type(sensor).__name__} cannot be told in a setting: give it in the task.")


@dataclass(frozen=True)
class GaussianNoise:
    """Independent Gaussian noise with one standard deviation per position."""

    std: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "std", numbers_of(self.std, "The standard deviations of a sensor"))
        if not all(np.isfinite(s) and s >= 0 for s in self.std):
            raise UserError(f"A sensor's noise must be zero or positive, got {self.std}: give standard deviations.")

    def measure(self, rng: np.random.Generator, q: np.ndarray) -> np.ndarray:
        return q + np.asarray(self.std) * rng.standard_normal(len(self.std))

    def fictitious(self, key: Array, shape: tuple[int, ...], dtype: jax.typing.DTypeLike) -> Float[Array, "..."]:
        if shape[-1] != len(self.std):
            raise UserError(f"The sensor has {len(self.std)} standard deviations for {shape[-1]} positions.")
        return jax.random.normal(key, shape, dtype) * np.asarray(self.std, dtype)

    def spread(self) -> tuple[float, ...]:
        """The standard deviation of the error at every position, as a Kalman filter wants to know it."""
        return tuple(self.std)


@dataclass(frozen=True)
class Quantised:
    """Positions in whole steps, one step size per position: encoders, cameras; a step of 0 measures exactly."""

    step: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", numbers_of(self.step, "The steps of a sensor"))
        if not all(np.isfinite(s) and s >= 0 for s in self.step):
            raise UserError(
                f"A sensor's step must be zero or positive, got {self.step}: give it in the position's unit."
            )

    def measure(self, rng: np.random.Generator, q: np.ndarray) -> np.ndarray:
        step = np.asarray(self.step)
        return np.where(step > 0, np.round(q / np.where(step > 0, step, 1)) * step, q)

    def fictitious(self, key: Array, shape: tuple[int, ...], dtype: jax.typing.DTypeLike) -> Float[Array, "..."]:
        """Uniform within a step, as the error of a quantised position is when it moves."""
        if shape[-1] != len(self.step):
            raise UserError(f"The sensor has {len(self.step)} steps for {shape[-1]} positions.")
        return jax.random.uniform(key, shape, dtype, -0.5, 0.5) * np.asarray(self.step, dtype)

    def spread(self) -> tuple[float, ...]:
        """The standard deviation of the error at every position, as a Kalman filter wants to know it."""
        return tuple(s / float(np.sqrt(12)) for s in self.step)
