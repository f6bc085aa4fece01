"""The values of a recording: cells that are no numbers, angles that wrap, inputs at their limits, dead columns."""

from __future__ import annotations

import numpy as np

from vfpilco.recordings.channels import Channels
from vfpilco.recordings.findings import Findings
from vfpilco.recordings.table import number
from vfpilco.task import Input, Position
from vfpilco.words import readable

TURN = 2 * np.pi
LEAP, OFTEN, MANY = np.pi / 2, 0.05, 4
"""An angle that leaps further than this in more than this share of its steps is not in radians; so many turns are told.
"""
FAR = 2.0
"""An input beyond so many times its limit is in another unit, or was not applied."""
SATURATED = 0.999
"""An input beyond this share of its limit is at it."""


def to_numbers(cells: list[str], lines: list[int], name: str, findings: Findings, last: bool = True) -> np.ndarray:
    """The numbers of a column, NaN where there is none; the `last` row may be without one if it is not needed."""
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        value = number(cell)
        if value is not None and np.isfinite(value):
            values[i] = value
        elif not last and i == len(cells) - 1:
            continue
        elif not cell:
            sentence = f"{name} has no value: fill the cell, or cut the file here."
            findings.add("error", "missing", lines[i], sentence, name)
        elif value is None:
            thousands = number(cell.replace(".", "")) is not None
            todo = "leave out what separates thousands" if thousands else "mend the cell, or cut the file here"
            sentence = f"{name} is {cell[:40]!r}, which is no number: {todo}."
            findings.add("error", "not a number", lines[i], sentence, name)
        else:
            sentence = f"{name} is {cell[:40]}, which is not finite: look at the sensor, or cut the file here."
            findings.add("error", "not finite", lines[i], sentence, name)
    return values


def check_width(rows: list[list[str]], lines: list[int], width: int, findings: Findings) -> None:
    """Tell rows that have more cells than there are columns."""
    for row, line in zip(rows, lines, strict=True):
        if any(cell.strip() for cell in row[width:]):
            findings.add(
                "error",
                "too many cells",
                line,
                f"there are {len(row)} cells for {width} columns: if these are decimal commas, separate the cells by "
                "semicolons.",
            )


def check_degrees(position: Position, values: np.ndarray, line: int, findings: Findings) -> bool:
    """Whether an angle without a unit is in degrees: it wraps at 360, or leaps as no angle in radians does.

    Many turns in radians are small steps from sample to sample, or small ones and a whole turn: they are only told.
    """
    known = values[np.isfinite(values)]
    if not position.angle or len(known) < 2:
        return False
    name, span, steps = position.name, np.ptp(known), np.diff(known)
    leaps = np.abs(steps - TURN * np.round(steps / TURN)) > LEAP
    todo = f"call the column '{name} [deg]' and it is turned into radians, or '{name} [rad]' if it is in radians."
    if span < 1.02 * 360 and np.any(np.abs(np.abs(steps) - 360) < 36):
        why, sure = f"{name} wraps around at 360, as degrees do", True
    elif leaps.sum() > max(2, OFTEN * len(steps)):
        why, sure = (
            f"{name} leaps too far for radians, by over a quarter of a turn in {leaps.mean():.0%} of steps",
            True,
        )
    elif span > MANY * TURN:
        why, sure = f"{name} spans {span:.4g}, in radians {span / TURN:.0f} turns", False
    else:
        return False
    findings.add("error" if sure else "warning", "degrees", line, f"{why}: {todo}", name)
    return sure


def unwrapped(position: Position, values: np.ndarray, lines: list[int], findings: Findings) -> np.ndarray:
    """An angle followed by whole turns, told where; of other positions jumps by a whole turn are told."""
    known = np.flatnonzero(np.isfinite(values))
    steps = np.diff(values[known])
    if not position.angle:
        _check_jumps(position, steps, [lines[i] for i in known[1:]], findings)
        return values
    turns = np.round(steps / TURN)
    for i in np.flatnonzero(turns):
        sentence = f"{position.name} wraps around by {turns[i] * TURN:+.4g} and is followed by whole turns."
        findings.add("remark", "wrapped", lines[known[i + 1]], sentence, position.name)
    for i in np.flatnonzero(np.abs(steps - turns * TURN) > 0.75 * np.pi):
        findings.add(
            "warning",
            "fast turn",
            lines[known[i + 1]],
            f"{position.name} turns by {steps[i]:+.3g} in one sample, close to half a turn: which way it went is not "
            "sure; sample faster, and give angles in radians.",
            position.name,
        )
    whole = values.copy()
    whole[known[1:]] -= TURN * np.cumsum(turns)
    return whole


def _check_jumps(position: Position, steps: np.ndarray, lines: list[int], findings: Findings) -> None:
    usual = np.median(np.abs(steps)) if len(steps) else 0.0
    for turn in (TURN, 360.0):
        for i in np.flatnonzero(np.abs(np.abs(steps) - turn) < min(0.1 * turn, 5 * usual + 1e-9)):
            findings.add(
                "warning",
                "jump",
                lines[i],
                f"{position.name} jumps by {steps[i]:+.4g}, as an angle that wraps around: if it is one, give it in "
                "radians and mark it as an angle.",
                position.name,
            )


def check_input(channel: Input, values: np.ndarray, lines: list[int], findings: Findings) -> None:
    """Tell inputs beyond their limit, and those that stay at it."""
    size = np.abs(values) / channel.limit
    for i in np.flatnonzero(size > 1 + 1e-6):
        findings.add(
            "error" if size[i] > FAR else "warning",
            "beyond limit",
            lines[i],
            f"{channel.name} is {readable(values[i])}, beyond its limit of {readable(channel.limit)}: log what was "
            "really applied, or raise the limit in the task.",
            channel.name,
        )
    least = max(10, len(values) // 4)
    for begin, end in runs(size >= SATURATED):
        if end - begin >= least:
            findings.add(
                "warning",
                "saturated",
                lines[begin],
                f"{channel.name} stays at its limit for {end - begin} samples, up to line {lines[end - 1]}: little is "
                "learned there; explore with smaller inputs.",
                channel.name,
            )


def check_constant(channels: Channels, q: np.ndarray, u: np.ndarray, line: int, findings: Findings) -> None:
    """Tell columns in which nothing happens."""
    if len(q) < 3:
        return
    still = [_is_constant(column) for column in u.T]
    for channel, is_still in zip(channels.inputs, still, strict=True):
        if is_still:
            sentence = f"{channel.name} never changes: what it does cannot be learned; drive the machine with it."
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
    """The stretches where `mask` holds, as pairs of first and one past the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
