"""The values of a recording: cells that are not numbers, wrapped angles, inputs at their limits, constant columns."""

from __future__ import annotations

import numpy as np

from vfpilco.common.text import readable
from vfpilco.data.trial import LARGEST
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.findings import Findings
from vfpilco.recordings.spikes import spikes
from vfpilco.recordings.table import number
from vfpilco.tasks.machine import Input, Position

TURN = 2 * np.pi
JUMP, OFTEN = np.pi / 2, 0.05
"""An angle that changes by more than this in more than this fraction of its steps is not in radians."""
MOST_TURNS = 4
"""An angle that spans more turns than this is reported."""
FAR = 2.0
"""An input beyond this many times its limit is in another unit, or was not applied."""
SATURATED = 0.999
"""An input beyond this fraction of its limit counts as saturated."""


def to_numbers(cells: list[str], lines: list[int], name: str, findings: Findings, last: bool = True) -> np.ndarray:
    """The numbers of a column, NaN where there is none; the last row may lack one unless `last` is true."""
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        value = number(cell)
        if value is not None and abs(value) < LARGEST:
            values[i] = value
        elif not last and i == len(cells) - 1:
            continue
        elif not cell:
            sentence = f"{name} has no value: fill the cell, or cut the file here."
            findings.add("error", "missing", lines[i], sentence, name)
        elif value is None:
            thousands = number(cell.replace(".", "")) is not None
            remedy = "remove the thousands separators" if thousands else "correct the cell, or cut the file here"
            sentence = f"{name} is {cell[:40]!r}, which is not a number: {remedy}."
            findings.add("error", "not a number", lines[i], sentence, name)
        else:
            why = "too large to be a measurement" if np.isfinite(value) else "not finite"
            sentence = f"{name} is {cell[:40]}, which is {why}: check the sensor, or cut the file here."
            findings.add("error", "not finite", lines[i], sentence, name)
    return values


def check_plausible(position: Position, values: np.ndarray, lines: list[int], findings: Findings) -> np.ndarray:
    """The values without those that no sensor can measure, which are reported."""
    low, high = position.plausible_range
    absurd = np.isfinite(values) & ~((low <= values) & (values <= high))
    for i in np.flatnonzero(absurd):
        findings.add(
            "error",
            "implausible",
            lines[i],
            f"{position.name} is {values[i]:.4g}, outside its plausible range {low:.4g} to {high:.4g}: check the "
            "sensor, or cut the file here.",
            position.name,
        )
    return np.where(absurd, np.nan, values)


def check_spikes(position: Position, values: np.ndarray, lines: list[int], findings: Findings) -> None:
    """Report samples where a position jumps away and back; one that follows an input may."""
    if position.commanded is not None:
        return
    for i in np.flatnonzero(spikes(values, position.angle)):
        findings.add(
            "error",
            "spike",
            lines[i],
            f"{position.name} jumps to {values[i]:.4g} and back, as no machine does: check the sensor, or cut the file "
            "here, as --split does.",
            position.name,
        )


def check_width(rows: list[list[str]], lines: list[int], width: int, findings: Findings) -> None:
    """Report rows that have more cells than there are columns."""
    for row, line in zip(rows, lines, strict=True):
        if any(cell.strip() for cell in row[width:]):
            findings.add(
                "error",
                "too many cells",
                line,
                f"there are {len(row)} cells for {width} columns: if there are decimal commas, separate the cells by "
                "semicolons.",
            )


def check_degrees(position: Position, values: np.ndarray, line: int, findings: Findings) -> bool:
    """Whether an angle without a unit is in degrees: it wraps at 360, or jumps as no angle in radians does.

    Many turns in radians are small steps from sample to sample, or small steps plus a full turn: only a warning.
    """
    known = values[np.isfinite(values)]
    if not position.angle or len(known) < 2:
        return False
    name, span, steps = position.name, np.ptp(known), np.diff(known)
    jumps = np.abs(steps - TURN * np.round(steps / TURN)) > JUMP
    remedy = f"name the column '{name} [deg]' to have it converted to radians, or '{name} [rad]' if it is in radians."
    if span < 1.02 * 360 and np.any(np.abs(np.abs(steps) - 360) < 36):
        why, certain = f"{name} wraps at 360, as degrees do", True
    elif jumps.sum() > max(2, OFTEN * len(steps)):
        jumping = f"by more than a quarter of a turn in {jumps.mean():.0%} of the steps"
        why, certain = f"{name} jumps too far for radians, {jumping}", True
    elif span > MOST_TURNS * TURN:
        why, certain = f"{name} spans {span:.4g}, in radians {span / TURN:.0f} turns", False
    else:
        return False
    findings.add("error" if certain else "warning", "degrees", line, f"{why}: {remedy}", name)
    return certain


def unwrapped(position: Position, values: np.ndarray, lines: list[int], findings: Findings) -> np.ndarray:
    """An angle without its jumps by full turns; in other positions such jumps are reported."""
    known = np.flatnonzero(np.isfinite(values))
    steps = np.diff(values[known])
    if not position.angle:
        _check_jumps(position, steps, [lines[i] for i in known[1:]], findings)
        return values
    turns = np.round(steps / TURN)
    for i in np.flatnonzero(turns):
        sentence = f"{position.name} wraps by {turns[i] * TURN:+.4g} and is unwrapped."
        findings.add("remark", "wrapped", lines[known[i + 1]], sentence, position.name)
    for i in np.flatnonzero(np.abs(steps - turns * TURN) > 0.75 * np.pi):
        findings.add(
            "warning",
            "fast turn",
            lines[known[i + 1]],
            f"{position.name} turns by {steps[i]:+.3g} in one sample, close to half a turn: its direction is "
            "uncertain; sample faster, and give angles in radians.",
            position.name,
        )
    continuous = values.copy()
    continuous[known[1:]] -= TURN * np.cumsum(turns)
    return continuous


def _check_jumps(position: Position, steps: np.ndarray, lines: list[int], findings: Findings) -> None:
    typical = np.median(np.abs(steps)) if len(steps) else 0.0
    for turn in (TURN, 360.0):
        for i in np.flatnonzero(np.abs(np.abs(steps) - turn) < min(0.1 * turn, 5 * typical + 1e-9)):
            findings.add(
                "warning",
                "jump",
                lines[i],
                f"{position.name} jumps by {steps[i]:+.4g}, like an angle that wraps: if it is one, give it in radians "
                "and mark it as an angle.",
                position.name,
            )


def check_input(channel: Input, values: np.ndarray, lines: list[int], findings: Findings) -> None:
    """Report inputs beyond their limit, and those that stay at it."""
    size = np.abs(values) / channel.limit
    for i in np.flatnonzero(size > 1 + 1e-6):
        findings.add(
            "error" if size[i] > FAR else "warning",
            "beyond limit",
            lines[i],
            f"{channel.name} is {readable(values[i])}, beyond its limit of {readable(channel.limit)}: log what was "
            "actually applied, or raise the limit in the task.",
            channel.name,
        )
    least = max(10, len(values) // 4)
    for begin, end in runs(size >= SATURATED):
        if end - begin >= least:
            findings.add(
                "warning",
                "saturated",
                lines[begin],
                f"{channel.name} stays at its limit for {end - begin} samples, up to {findings.place} "
                f"{lines[end - 1]}: little can be learned there; explore with smaller inputs.",
                channel.name,
            )


def check_constant(channels: Channels, q: np.ndarray, u: np.ndarray, line: int, findings: Findings) -> None:
    """Report columns that never change."""
    if len(q) < 3:
        return
    still = [_is_constant(column) for column in u.T]
    for channel, is_still in zip(channels.inputs, still, strict=True):
        if is_still:
            sentence = f"{channel.name} never changes: its effect cannot be learned; drive the machine with it."
            findings.add("warning", "constant", line, sentence, channel.name)
    for position, column in zip(channels.positions, q.T, strict=True):
        if _is_constant(column):
            findings.add(
                "warning" if all(still) else "error",
                "constant",
                line,
                f"{position.name} never changes{'' if all(still) else ' though the inputs do'}: check that its sensor "
                "is connected, or leave this trial out.",
                position.name,
            )


def _is_constant(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return len(known) > 0 and bool(np.ptp(known) <= 1e-12 * np.max(np.abs(known)))


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """The intervals in which `mask` is true, as pairs of the first index and one past the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
