"""Checks of a task before the plant moves, each with a sentence that says what is wrong."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vfpilco.common.checks import check_integer
from vfpilco.common.errors import UserError
from vfpilco.common.random import NumpyRandom
from vfpilco.common.text import is_printable
from vfpilco.tasks.exploration import Feedback
from vfpilco.tasks.machine import Input, Position
from vfpilco.tasks.start import Moving

if TYPE_CHECKING:
    from vfpilco.tasks.task import Task

LONGEST = 2.0
"""A sampling time above this, in seconds, was given in another unit."""
DEGREES = ("deg", "degree", "degrees", "°")


def check_task(task: Task) -> None:
    """Raise a `UserError` if `task` cannot be learned."""
    _check_types(task)
    _check_columns(task)
    for position in task.machine.positions:
        _check_position(task, position)
    if len(task.machine.commands) == len(task.machine.positions):
        raise UserError(f"All positions of task {task.name!r} are commanded: there is nothing to learn.")
    for i in task.machine.inputs:
        if not (isinstance(i.limit, numbers.Real) and np.isfinite(i.limit) and i.limit > 0):
            raise UserError(f"The limit of input {i.name!r} must be positive, got {i.limit}: give it in {i.unit}.")
    _check_times(task)
    _check_reference(task)
    _check_cost(task)
    _check_parts(task)


def _check_types(task: Task) -> None:
    for what, cls in (("positions", Position), ("inputs", Input)):
        listed = getattr(task.machine, what)
        if not isinstance(listed, tuple | list) or not all(isinstance(each, cls) for each in listed):
            raise UserError(
                f"The {what} of task {task.name!r} must be a tuple of vfpilco.{cls.__name__}, got a "
                f"{type(listed).__name__}: a single one needs a comma after it, as in ({cls.__name__}(…),)."
            )
    plant = task.machine.plant
    if not (plant is None or isinstance(plant, str) or callable(plant)):
        kind = type(plant).__name__
        raise UserError(
            f"The plant of task {task.name!r} must be a class or function that makes it, got a {kind}: write "
            f"plant={kind}, or plant=lambda: {kind}(…) if it needs arguments."
        )
    if not isinstance(task.settings, Mapping):
        raise UserError(
            f"The settings of task {task.name!r} must be a dictionary of keyword arguments of learn, got a "
            f'{type(task.settings).__name__}: write for example settings={{"steps": 1000}}.'
        )


def _check_columns(task: Task) -> None:
    names = task.machine.columns
    if not task.machine.positions or not task.machine.inputs:
        raise UserError(f"Task {task.name!r} needs at least one position and one input, got {names}: name them.")
    if len({"t", *names}) != len(names) + 1 or any("," in n or not n.strip() or not is_printable(n) for n in names):
        raise UserError(
            f"The columns of task {task.name!r} must have different names without commas, other than 't', "
            f"got {names}: rename them."
        )


def _check_position(task: Task, p: Position) -> None:
    inputs = [i.name for i in task.machine.inputs]
    if not (np.isfinite(p.scale) and p.scale > 0):
        raise UserError(f"The scale of {p.name!r} must be positive, got {p.scale}: give it in {p.unit}.")
    if p.angle and str(p.unit).lower() in DEGREES:
        raise UserError(f"The angle {p.name!r} must be in radians, got the unit {p.unit!r}: convert it to rad.")
    if p.commanded is not None and p.commanded not in inputs:
        raise UserError(
            f"{p.name!r} is commanded by {p.commanded!r}, which is not an input of task {task.name!r}: name one of "
            f"{', '.join(inputs)}."
        )
    for what in ("bounds", "safe", "plausible"):
        pair = getattr(p, what)
        if pair is not None and not (len(pair) == 2 and pair[0] < pair[1]):
            raise UserError(f"{p.name!r} needs a lower and an upper value as {what}, got {pair}.")


def _check_times(task: Task) -> None:
    sampling_time = task.machine.sampling_time
    if not (np.isfinite(sampling_time) and sampling_time > 0):
        raise UserError(f"The sampling time must be positive, got {sampling_time}: give it in seconds.")
    if sampling_time > LONGEST:
        raise UserError(
            f"The sampling time is in seconds, got {sampling_time:g}: write {sampling_time / 1000:g} if that is in "
            "milliseconds; a machine that is sampled so rarely cannot be learned."
        )
    check_integer("horizon", task.horizon, 2)
    check_integer("explorations", task.explorations, 1)


def _check_reference(task: Task) -> None:
    positions = len(task.machine.positions)
    if task.target is not None and not (isinstance(task.target, tuple | list) and len(task.target) == positions):
        raise UserError(
            f"The target of task {task.name!r} must be a tuple of a number or None for each of {positions} "
            f"positions, got {task.target!r}: a single one needs a comma, as in (0.0,)."
        )
    if task.reference is None:
        return
    expected = (task.horizon + 1, positions)
    if task.reference.shape != expected or not np.all(np.isfinite(task.reference)):
        raise UserError(
            f"The reference of task {task.name!r} must be finite positions of shape {expected}, one row per sample "
            f"and one more, got shape {task.reference.shape}: fix it."
        )


def _check_cost(task: Task) -> None:
    import jax
    import jax.numpy as jnp

    probe = jnp.zeros((3, 5, len(task.machine.positions)))
    against = () if task.reference is None else (jnp.asarray(task.reference[:3, None]),)
    try:
        _check_indices(task)
        cost = jax.jit(task.cost)(probe, *against)
        shape = jnp.shape(cost)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else ""
        raise UserError(
            f"The cost of task {task.name!r} failed on positions of shape {probe.shape} "
            f"({type(error).__name__}: {reason}): index positions as q[..., i] and use jax.numpy."
        ) from error
    if shape != (3, 5):
        raise UserError(
            f"The cost of task {task.name!r} has the wrong shape: positions of shape {probe.shape} gave {shape} "
            "instead of (3, 5): return one number per row of positions, e.g. by indexing q[..., i]."
        )
    if not np.all(np.isfinite(np.asarray(cost))):
        raise UserError(f"The cost of task {task.name!r} is not finite at the origin: make it finite everywhere.")


def _check_indices(task: Task) -> None:
    """Call the cost with NumPy, which rejects the index of a position that does not exist; JAX takes the last one."""
    probe = np.zeros((3, 5, len(task.machine.positions)))
    try:
        task.cost(probe, *(() if task.reference is None else (task.reference[:3, None],)))
    except IndexError:
        raise
    except Exception:
        pass  # a cost may do what only JAX supports


def _check_parts(task: Task) -> None:
    """Use every other part once, so that a misfit is found before the plant moves."""
    machine = task.machine
    d_q, d_u = len(machine.positions), len(machine.inputs)
    random = NumpyRandom(np.random.default_rng(0))
    parts: dict[str, tuple[Any, Callable[[], bool]]] = {
        "start": (task.start, lambda: _starts(task, random)),
        "sensor": (machine.sensor, lambda: _measures(task)),
        "success": (task.success, lambda: task.success(np.zeros((task.horizon + 1, d_q))) in (True, False)),
        "exploration": (task.exploration, lambda: _explores(task)),
        "features": (machine.features, lambda: _features_fit(task)),
    }
    for name, (part, fits) in parts.items():
        try:
            problem = "" if fits() else "its result has another shape"
            hash(part)
        except UserError as error:
            problem = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".splitlines()[0]
        if problem:
            raise UserError(
                f"The {name} of task {task.name!r} does not fit {d_q} positions, {d_u} inputs and {task.horizon} "
                f"samples of {machine.sampling_time:.3g} s ({problem}): fix it in the task."
            )


def _starts(task: Task, random: NumpyRandom) -> bool:
    start, d_q = task.start, len(task.machine.positions)
    fits = _has_columns(start.sample(random, 3), d_q)
    return fits and (not isinstance(start, Moving) or _has_columns(start.velocity(random, 3), d_q))


def _measures(task: Task) -> bool:
    sensor, q = task.machine.sensor, np.zeros((3, len(task.machine.positions)))
    noise = sensor.noise(NumpyRandom(np.random.default_rng(0)), q.shape)
    return _has_columns(sensor.measure(sensor.begin(q), q, noise)[0], q.shape[1])


def _features_fit(task: Task) -> bool:
    import jax.numpy as jnp

    features = task.machine.features
    if features is None:
        return True
    d_q, d_u = len(task.machine.positions), len(task.machine.inputs)
    found = (features.of(xp.zeros((3, d_q)), xp.zeros((3, d_q)), xp.zeros((3, d_u))) for xp in (np, jnp))
    return all(np.shape(known) == (3, features.count) for known in found)


def _explores(task: Task) -> bool:
    d_q, d_u = len(task.machine.positions), len(task.machine.inputs)
    if isinstance(task.exploration, Feedback):
        return np.shape(task.explorer(0, 0)(np.zeros(d_q))) == (d_u,)
    return task.exploring_inputs(0, 0).shape == (task.horizon, d_u)


def _has_columns(drawn: Any, expected: int) -> bool:
    if np.shape(drawn) != (3, expected):
        raise UserError(f"it has {np.shape(drawn)[-1]} numbers for {expected} positions")
    return True
