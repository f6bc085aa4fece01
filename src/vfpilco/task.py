"""A task: the plant, what is known about it, and what it should do."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vfpilco.errors import UserError, told
from vfpilco.exploration import Exploration, Feedback, FilteredNoise
from vfpilco.plants.base import Plant
from vfpilco.realtime import Punctuality, RealTime
from vfpilco.representation import Command, Features
from vfpilco.scenes.base import Scene
from vfpilco.sensors import Sensor, Spreading
from vfpilco.settings import Settings, whole
from vfpilco.start import Start


@dataclass(frozen=True)
class Position:
    """A measured position: a name for the columns, its unit, and whether it is an angle in radians."""

    name: str
    unit: str
    angle: bool = False
    scale: float = 1.0
    """How far from zero it usually goes, if it is no angle: basis functions start within twice that."""
    commanded: str | None = None
    """The input that moves it, if it does so without fail: q' = q + u. No GP is needed to predict it."""
    bounds: tuple[float, float] | None = None
    """Where a commanded position stops, and between which angles it stays."""
    safe: tuple[float, float] | None = None
    """Where it may go: a measurement outside stops the plant and ends the trial."""
    entry: int | tuple[int, int] | None = None
    """Its entry in a Gymnasium observation, or those of its sine and cosine; in the order of the positions if None."""


@dataclass(frozen=True)
class Input:
    """An input of the plant: a name for the columns, its unit, and the largest magnitude allowed."""

    name: str
    unit: str
    limit: float


@dataclass(frozen=True)
class Measure:
    """A number that tells how good a trial was: a name, its unit, and how it follows from positions (T+1, d_q)."""

    name: str
    unit: str
    of: Callable[[np.ndarray], float]


LONGEST = 10.0
"""A sampling time beyond this, in seconds, was meant in another unit."""


def never(q: np.ndarray) -> bool:
    """The success test of a task that has none."""
    return False


@dataclass(frozen=True, kw_only=True)
class Task:
    """Everything the learner is told: how the plant is reached, measured and judged."""

    name: str
    summary: str = ""
    """One line for `vfpilco tasks`."""
    plant: Callable[[], Plant] | str | None
    """Makes or connects to the plant; or where it is: `tcp://host:port`, `gym:ID`; None for one that runs elsewhere."""
    substitute: str | None = None
    """Where another plant is that takes its place, as with --plant."""
    positions: tuple[Position, ...]
    inputs: tuple[Input, ...]
    sampling_time: float
    """Seconds between samples."""
    horizon: int
    """Samples per trial, T."""
    sensor: Sensor
    """What the sensors do to the true positions; simulated in the particles."""
    cost: Callable[..., Any]
    """The cost of positions (…, d_q), one number each (…); written with jax.numpy. With a reference: cost(q, r)."""
    start: Start
    """Where particles start."""
    features: Features | None = None
    """What is known of the physics, for kernels such as `se + linear(features)`."""
    reference: Float[np.ndarray, "samples d_q"] | None = None
    """Positions to follow, r_0 … r_T; the policy then also sees the measured errors r_t - q̄_t."""
    exploration: Exploration | Feedback = field(default_factory=FilteredNoise)
    explorations: int = 1
    """Executions with exploring inputs before the first policy."""
    success: Callable[[np.ndarray], bool] = never
    """Whether a trial's positions (T+1, d_q) solve the task."""
    measures: tuple[Measure, ...] = ()
    """What else is told of a trial."""
    ends: Callable[[np.ndarray], bool] | None = None
    """Whether a trial is over before its time at measured positions (d_q,): that sample is not learned from."""
    path: Callable[[np.ndarray], np.ndarray] | None = None
    """Where the tool goes when the positions are (T+1, d_q): (T+1, 3), in metres."""
    photograph: Callable[[np.ndarray], np.ndarray] | None = None
    """A picture (height, width, 3) of the machine at the end of positions (T+1, d_q)."""
    draw: Callable[[Any, np.ndarray, float], None] | None = None
    """Draws positions (T+1, d_q) sampled at a given time on a Matplotlib axis."""
    scene: Callable[[np.ndarray], Scene] | None = None
    """The machine at positions (samples, d_q) as shapes in the plane, for pages and films; dials if there is none."""
    settings: Settings = field(default_factory=Settings)
    """The defaults of the method for this task, memories among them."""
    trials: int = 5
    """How many trials a run has if nothing else is asked for."""
    realtime: RealTime | None = None
    """For a machine that is driven in real time: how punctual its samples have to be."""
    file: str | None = None
    """The file it was read from."""
    tests: int = 0
    """Executions that a study tries every learned policy with, beside its trial."""

    @property
    def columns(self) -> list[str]:
        """The names of positions and inputs, as they stand in the CSV files."""
        return [p.name for p in self.positions] + [i.name for i in self.inputs]

    @property
    def limits(self) -> np.ndarray:
        """u_max of every input."""
        return np.array([i.limit for i in self.inputs])

    @property
    def angles(self) -> tuple[bool, ...]:
        """Which positions are angles."""
        return tuple(p.angle for p in self.positions)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The positions that follow an input."""
        names = [i.name for i in self.inputs]
        return tuple(
            Command(i, names.index(p.commanded), *(p.bounds or (-np.inf, np.inf)))
            for i, p in enumerate(self.positions)
            if p.commanded is not None
        )

    def timekeeper(self) -> Punctuality | None:
        """A fresh look at how punctual a trial is, if the machine is driven in real time."""
        return None if self.realtime is None else Punctuality(self.realtime, self.sampling_time)

    def over(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Why a trial is over before its time at measured positions `q`; None if it is not."""
        ended = self.ends is not None and bool(self.ends(q))
        return self.outside(q) or ("the task's end was reached" if ended else None)

    def outside(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Which position is outside of its safe range, in a few words; None if none is."""
        for p, value in zip(self.positions, q, strict=True):
            if p.safe is not None and not p.safe[0] <= value <= p.safe[1]:
                return (
                    f"{p.name} was {value:.4g} {p.unit}, outside of its safe range {p.safe[0]:.4g} to {p.safe[1]:.4g}"
                )
        return None

    def far_from_start(self, q: Float[np.ndarray, "d_q"]) -> str | None:
        """Which position a trial started at that particles never start near, in a few words; None if there is none."""
        drawn = np.asarray(self.start.sample(jax.random.key(0), 1000, np.float64))
        low, high = drawn.min(0), drawn.max(0)
        error = np.array(self.sensor.spread()) if isinstance(self.sensor, Spreading) else 0.0
        margin = (high - low) + 10 * error
        for p, value, least, most, far in zip(self.positions, q, low, high, margin + np.zeros(len(q)), strict=True):
            turns = 2 * np.pi * np.round((value - (least + most) / 2) / (2 * np.pi)) if p.angle else 0.0
            if not least - far <= value - turns <= most + far:
                return f"{p.name} at {value:.3g} {p.unit}, where the task has {least:.3g} to {most:.3g} {p.unit}"
        return None

    def total_cost(self, q: Float[np.ndarray, "samples d_q"]) -> float:
        """Σ c(q_t) over a trial; one that ended early is charged as if it had stayed where it ended."""
        against = () if self.reference is None else (jnp.asarray(self.reference),)
        q = np.concatenate([q, np.repeat(q[-1:], self.horizon + 1 - len(q), axis=0)])
        return float(np.sum(np.asarray(self.cost(jnp.asarray(q), *against), dtype=float)))

    def judge(self, q: Float[np.ndarray, "samples d_q"]) -> dict[str, Any]:
        """Cost and success of a trial, and what else is measured of it; one that ended early has no success."""
        try:
            whole = len(q) == self.horizon + 1
            judged: dict[str, Any] = {"cost": self.total_cost(q), "success": whole and bool(self.success(q))}
            if self.measures:
                judged["measures"] = {measure.name: float(measure.of(q)) for measure in self.measures}
            return judged
        except Exception as error:
            raise UserError(
                f"The cost, success test or a measure of task {self.name!r} failed on a trial ({told(error)}): the "
                "trial is kept; mend the task."
            ) from error

    def check(self) -> None:
        """Refuse what cannot be learned, with a sentence that says why."""
        for what, cls in (("positions", Position), ("inputs", Input)):
            listed = getattr(self, what)
            if not isinstance(listed, tuple | list) or not all(isinstance(each, cls) for each in listed):
                raise UserError(
                    f"The {what} of task {self.name!r} must be a tuple of vfpilco.{cls.__name__}, got a "
                    f"{type(listed).__name__}: mend it; one alone needs a comma after it, as in ({cls.__name__}(…),)."
                )
        if not (self.plant is None or isinstance(self.plant, str) or callable(self.plant)):
            kind = type(self.plant).__name__
            raise UserError(
                f"The plant of task {self.name!r} must be what makes it, got a {kind}: write plant={kind}, or "
                f"plant=lambda: {kind}(…) if it needs arguments."
            )
        names = self.columns
        if not self.positions or not self.inputs:
            raise UserError(f"Task {self.name!r} needs at least one position and one input, got {names}: name them.")
        if len({"t", *names}) != len(names) + 1 or any("," in n or not n.strip() or "\n" in n for n in names):
            raise UserError(
                f"The columns of task {self.name!r} must have different names without commas, other than 't', "
                f"got {names}: rename them."
            )
        for p in self.positions:
            if not (np.isfinite(p.scale) and p.scale > 0):
                raise UserError(f"The scale of {p.name!r} must be positive, got {p.scale}: give it in {p.unit}.")
            if p.angle and str(p.unit).lower() in ("deg", "degree", "degrees", "°"):
                raise UserError(f"The angle {p.name!r} must be in radians, got the unit {p.unit!r}: convert it to rad.")
            if p.commanded is not None and p.commanded not in {i.name for i in self.inputs}:
                raise UserError(
                    f"{p.name!r} is commanded by {p.commanded!r}, which is no input of task {self.name!r}: name one of "
                    f"{', '.join(i.name for i in self.inputs)}."
                )
            for what in ("bounds", "safe"):
                pair = getattr(p, what)
                if pair is not None and not (len(pair) == 2 and pair[0] < pair[1]):
                    raise UserError(f"{p.name!r} needs a lower and an upper value as {what}, got {pair}.")
        if len(self.commands) == len(self.positions):
            raise UserError(f"All positions of task {self.name!r} are commanded: there is nothing to be learned.")
        for i in self.inputs:
            if not (isinstance(i.limit, numbers.Real) and np.isfinite(i.limit) and i.limit > 0):
                raise UserError(f"The limit of input {i.name!r} must be positive, got {i.limit}: give it in {i.unit}.")
        if not (np.isfinite(self.sampling_time) and self.sampling_time > 0):
            raise UserError(f"The sampling time must be positive, got {self.sampling_time}: give it in seconds.")
        if self.sampling_time > LONGEST:
            raise UserError(
                f"The sampling time is in seconds, got {self.sampling_time:g}: no machine that is sampled so rarely "
                "can be learned."
            )
        whole("horizon", self.horizon, 2)
        whole("explorations", self.explorations, 1)
        if self.reference is not None:
            due = (self.horizon + 1, len(self.positions))
            if self.reference.shape != due or not np.all(np.isfinite(self.reference)):
                raise UserError(
                    f"The reference of task {self.name!r} must be finite positions of shape {due}, one row per sample "
                    f"and one more, got shape {self.reference.shape}: mend it."
                )
        self._check_cost()
        self._check_parts()

    def _check_cost(self) -> None:
        probe = jnp.zeros((3, 5, len(self.positions)))
        against = () if self.reference is None else (jnp.asarray(self.reference[:3, None]),)
        try:
            self._check_indices()
            cost = jax.jit(self.cost)(probe, *against)
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

    def _check_indices(self) -> None:
        """Use the cost with NumPy, which tells of a position that does not exist, where JAX takes the last one."""
        probe = np.zeros((3, 5, len(self.positions)))
        try:
            self.cost(probe, *(() if self.reference is None else (self.reference[:3, None],)))
        except IndexError:
            raise
        except Exception:
            pass  # a cost may do what only JAX can

    def _check_parts(self) -> None:
        """Use every other part once, so that what does not fit is found before the plant moves."""
        d_q, key = len(self.positions), jax.random.key(0)
        parts: dict[str, Callable[[], Any]] = {
            "start": lambda: _columns(self.start.sample(key, 3, np.float32), d_q),
            "sensor": lambda: _columns(self.sensor.fictitious(key, (3, d_q), np.float32), d_q),
            "success": lambda: self.success(np.zeros((self.horizon + 1, d_q))) in (True, False),
            "exploration": self._explores,
            "features": self._fit_features,
        }
        for name, fits in parts.items():
            try:
                problem = "" if fits() else "what it gives has another shape"
                hash(getattr(self, name))
            except UserError as error:
                problem = str(error)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}".splitlines()[0]
            if problem:
                raise UserError(
                    f"The {name} of task {self.name!r} does not fit {d_q} positions, {len(self.inputs)} inputs and "
                    f"{self.horizon} samples of {self.sampling_time:.3g} s ({problem}): mend it in the task."
                )

    def _fit_features(self) -> bool:
        if self.features is None:
            return True
        d_q, d_u = len(self.positions), len(self.inputs)
        found = (self.features.of(xp.zeros((3, d_q)), xp.zeros((3, d_q)), xp.zeros((3, d_u))) for xp in (np, jnp))
        return all(np.shape(known) == (3, self.features.count) for known in found)

    def _explores(self) -> bool:
        if isinstance(self.exploration, Feedback):
            return np.shape(self.exploring(0, 0)(np.zeros(len(self.positions)))) == (len(self.inputs),)
        return self.exploring_inputs(0, 0).shape == (self.horizon, len(self.inputs))

    def exploring(self, seed: int, i: int) -> Callable[[np.ndarray], np.ndarray]:
        """The controller of the i-th exploration; the seed alone decides, so every method explores alike."""
        if isinstance(self.exploration, Feedback):
            return self.exploration.controller(np.random.default_rng([seed, i]), self.sampling_time, self.limits)
        inputs = iter(self.exploring_inputs(seed, i))
        return lambda q: next(inputs)

    def exploring_inputs(self, seed: int, i: int) -> np.ndarray:
        """The inputs of the i-th exploration, if they do not depend on what is measured."""
        assert isinstance(self.exploration, Exploration)
        rng = np.random.default_rng([seed, i])
        inputs = np.asarray(self.exploration.inputs(rng, self.horizon, self.sampling_time, self.limits), dtype=float)
        if not np.all(np.isfinite(inputs)):
            raise UserError(f"The exploration of task {self.name!r} gave inputs that are not finite: mend it.")
        return inputs


def _columns(drawn: Any, due: int) -> bool:
    """Whether there is a column for every position."""
    if np.shape(drawn) != (3, due):
        raise UserError(f"it has {np.shape(drawn)[-1]} numbers for {due} positions")
    return True
