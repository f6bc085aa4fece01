"""Trials logged elsewhere: a CSV file with named columns as a `Trial`, and everything that was found in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vfpilco.errors import UserError
from vfpilco.recordings.channels import Channels, columns_of, converted, plain, time_column
from vfpilco.recordings.findings import Finding, Findings, worst
from vfpilco.recordings.table import Table, decimals, read_table
from vfpilco.recordings.times import check_repeated, check_times, to_seconds
from vfpilco.recordings.values import check_constant, check_degrees, check_input, check_width, to_numbers, unwrapped
from vfpilco.task import Task
from vfpilco.trial import Trial
from vfpilco.words import count, seconds


@dataclass(frozen=True)
class Recording:
    """What a file holds: a row per sample; NaN where there was no number."""

    path: Path
    channels: Channels
    times: np.ndarray
    """Seconds since the first sample (n,)."""
    q: np.ndarray
    """Positions (n, d_q), angles followed by whole turns."""
    raw: np.ndarray
    """Positions as they stand in the file, in the unit of the channel."""
    u: np.ndarray
    """Inputs (n, d_u)."""
    lines: list[int]
    """Where each sample stands in the file."""
    resolution: tuple[float, ...]
    """What the last printed digit of each position is worth; 0 where it cannot be told."""
    findings: list[Finding]


def read_log(path: Path, task: Task) -> tuple[Trial | None, list[Finding]]:
    """The trial in a CSV file from elsewhere, and what was found; no trial if it cannot be learned from.

    What is no such file, or lacks a column of the task, is a `UserError`.
    """
    recording = read_recording(path, Channels.of(task))
    usable = worst(recording.findings) != "error"
    return (trial_of(recording, task) if usable else None), recording.findings


def trial_of(recording: Recording, task: Task) -> Trial:
    """The recording as a trial of the task, at most its horizon long; a `UserError` if it cannot be learned from."""
    refuse(recording)
    trial = Trial(recording.q, recording.u[:-1], task.sampling_time)
    return trial.first(min(trial.steps, task.horizon))


def refuse(recording: Recording) -> None:
    """Raise what makes a recording unusable, if anything does."""
    errors = [f for f in recording.findings if f.severity == "error"]
    if errors:
        count = "an error" if len(errors) == 1 else f"{len(errors)} errors; the first"
        raise UserError(f"{recording.path} cannot be learned from, it has {count} on {errors[0]}")


def read_recording(path: Path, channels: Channels) -> Recording:
    """Read a CSV file with the given channels in it and check all of it; findings stand in the order of lines."""
    table, findings = read_table(Path(path)), Findings()
    if not table.rows:
        raise UserError(f"{path} has the names of columns and no samples: record a trial.")
    check_width(table.rows, table.lines, len(table.names), findings)
    times = _times(table, channels, findings)
    names = [channel.name for channel in (*channels.positions, *channels.inputs)]
    places = columns_of(names, table.names, path)
    _tell_ignored(table, places, findings)
    d_q = len(channels.positions)
    columns, resolution = [], []
    for i, place in enumerate(places):
        cells, factor = table.column(place), _factor(table, place, channels, i, findings)
        columns.append(factor * to_numbers(cells, table.lines, names[i], findings, last=i < d_q))
        digits = decimals(cells)
        resolution.append(0.0 if digits is None else factor * 10.0**-digits)
    values = np.column_stack(columns)
    keep = check_repeated(times, table.lines, findings)
    lines = [line for line, kept in zip(table.lines, keep, strict=True) if kept]
    times, raw, u = times[keep], values[keep, :d_q], values[keep, d_q:]
    q = raw.copy()
    for i, p in enumerate(channels.positions):
        said = plain(table.names[places[i]])[1] is not None
        if said or not check_degrees(p, raw[:, i], table.header, findings):
            q[:, i] = unwrapped(p, raw[:, i], lines, findings)
    check_times(times, lines, channels.sampling_time, findings)
    for channel, column in zip(channels.inputs, u.T, strict=True):
        check_input(channel, column, lines, findings)
    check_constant(channels, q, u[:-1], table.header, findings)
    _check_length(len(q) - 1, channels, lines[-1], findings)
    return Recording(Path(path), channels, times, q, raw, u, lines, tuple(resolution[:d_q]), findings.sorted())


def _times(table: Table, channels: Channels, findings: Findings) -> np.ndarray:
    """The seconds of every sample: from the time column, else from the sampling time."""
    found = time_column(table.names)
    if found is None:
        if channels.sampling_time is None:
            raise UserError(
                f"{table.path} has no column of times among {', '.join(table.names)}: name it 't' or 'time', or say "
                "how fast it was sampled (--rate)."
            )
        sentence = f"there is no column of times: samples are taken to be {seconds(channels.sampling_time)} apart."
        findings.add("remark", "no time", table.header, sentence)
        return np.arange(len(table.rows)) * channels.sampling_time
    place, unit = found
    stamps = to_numbers(table.column(place), table.lines, table.names[place], findings)
    return to_seconds(stamps, unit, channels.sampling_time, table.header, findings)


def _tell_ignored(table: Table, places: list[int], findings: Findings) -> None:
    time = time_column(table.names)
    used = {*places, *([] if time is None else [time[0]])}
    others = [name or f"column {i + 1}" for i, name in enumerate(table.names) if i not in used]
    if others:
        sentence = f"not needed and not looked at: {', '.join(others)[:200]}."
        findings.add("remark", "other columns", table.header, sentence)


def _factor(table: Table, place: int, channels: Channels, i: int, findings: Findings) -> float:
    """What turns the unit in the header, if there is one, into the channel's."""
    channel = (*channels.positions, *channels.inputs)[i]
    unit = plain(table.names[place])[1]
    if unit is None or not channel.unit or unit == channel.unit:
        return 1.0
    goal, factor = converted(unit)
    if goal == channel.unit:
        findings.add("remark", "unit", table.header, f"{channel.name} is turned from {unit} into {goal}.", channel.name)
        return factor
    sentence = f"{channel.name} is in {unit} here and in {channel.unit} in the task: make sure that both are the same."
    findings.add("warning", "unit", table.header, sentence, channel.name)
    return 1.0


def _check_length(steps: int, channels: Channels, line: int, findings: Findings) -> None:
    if steps < channels.memory + 2:
        findings.add(
            "error",
            "too short",
            line,
            f"{count(steps + 1, 'sample')} {'is' if steps == 0 else 'are'} too few for a memory of {channels.memory}: "
            f"record at least {channels.memory + 3}.",
        )
    elif channels.horizon is not None and steps < channels.horizon:
        sentence = f"the trial ends after {steps} of the task's {channels.horizon} steps: fine if it was meant to."
        findings.add("remark", "short", line, sentence)
    elif channels.horizon is not None and steps > channels.horizon:
        findings.add(
            "warning",
            "long",
            line,
            f"the trial has {steps} steps and the task {channels.horizon}: those after it are left out; cut the file "
            "into several trials to use them.",
        )
