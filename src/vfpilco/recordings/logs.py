"""Trials logged by other programs: a file with named columns as a `Trial`, and everything that was found in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.common.text import count, seconds
from vfpilco.common.units import converted
from vfpilco.data.trial import Trial
from vfpilco.recordings.channels import Channels, columns_of, split_unit, time_column
from vfpilco.recordings.findings import Finding, Findings, worst
from vfpilco.recordings.formats import read_file
from vfpilco.recordings.formats.base import Columns, renamed
from vfpilco.recordings.spikes import spikes
from vfpilco.recordings.splitting import Parts, parts
from vfpilco.recordings.table import Table, decimals
from vfpilco.recordings.times import check_repeated, check_times, to_seconds
from vfpilco.recordings.values import (
    check_constant,
    check_degrees,
    check_input,
    check_plausible,
    check_spikes,
    check_width,
    to_numbers,
    unwrapped,
)
from vfpilco.tasks.task import Task


@dataclass(frozen=True)
class Recording:
    """The content of a file: a row per sample; NaN where there was no number."""

    path: Path
    channels: Channels
    times: np.ndarray
    """Seconds since the first sample (n,)."""
    q: np.ndarray
    """Positions (n, d_q), angles unwrapped."""
    raw: np.ndarray
    """Positions as they are in the file, in the unit of the channel."""
    u: np.ndarray
    """Inputs (n, d_u)."""
    lines: list[int]
    """The line of each sample in the file."""
    resolution: tuple[float, ...]
    """The value of the last printed digit of each position; 0 where it is unknown."""
    findings: list[Finding]
    part: str = ""
    """Which part of the file it is, if the file was cut into several."""

    @property
    def label(self) -> str:
        """The file, and which part of it."""
        return f"{self.path}{self.part}"


def read_log(path: Path, task: Task) -> tuple[Trial | None, list[Finding]]:
    """Read the trial in a file that another program wrote: CSV, MATLAB, Parquet or MCAP.

    Args:
        path: The file.
        task: The task whose columns, rate and limits are expected.

    Returns:
        The trial, None if it cannot be learned from; and everything that was found in the file.

    Raises:
        UserError: If it is not a file with named columns, or lacks a column of the task.
    """
    recording = read_recording(path, Channels.of(task))
    usable = worst(recording.findings) != "error"
    return (trial_of(recording, task) if usable else None), recording.findings


def trial_of(recording: Recording, task: Task) -> Trial:
    """The recording as a trial of the task, at most its horizon long; a `UserError` if it cannot be learned from."""
    refuse(recording)
    trial = Trial(recording.q, recording.u[:-1], task.machine.sampling_time)
    return trial.first(min(trial.steps, task.horizon))


def refuse(recording: Recording) -> None:
    """Raise a `UserError` if a recording has errors."""
    errors = [f for f in recording.findings if f.severity == "error"]
    if errors:
        what = "an error" if len(errors) == 1 else f"{len(errors)} errors; the first"
        raise UserError(f"{recording.label} cannot be learned from, it has {what} on {errors[0]}")


def read_recording(path: Path, channels: Channels) -> Recording:
    """Read a file with the given channels and check all of it; findings are in the order of lines."""
    return read_recordings(path, channels)[0]


def read_recordings(
    path: Path, channels: Channels, columns: Columns | None = None, *, split: bool = False
) -> list[Recording]:
    """Read the recordings in a file and check all of them.

    Args:
        path: The file.
        channels: The columns, rate and limits that are expected.
        columns: Columns that have other names in the file.
        split: Whether to cut the file where samples are missing, into parts of at most the task's horizon.

    Returns:
        A single recording, or with `split` the parts that are long enough.

    Raises:
        UserError: If it is not a file with named columns, or lacks a column.
    """
    table = renamed(read_file(Path(path)), columns or {}).table(channels)
    if not table.rows:
        raise UserError(f"{path} has column names but no samples: record a trial.")
    if not split:
        return [_recording(table, channels)]
    times, values = _times(table, channels, Findings()), _values(table, channels, Findings())[0]
    q = values[:, : len(channels.positions)]
    for position, column in zip(channels.positions, q.T, strict=True):
        column[spikes(column, position.angle) & (position.commanded is None)] = np.nan
    cut = parts(times, q, values[:, len(channels.positions) :], channels)
    if not cut.rows:
        raise UserError(f"{path} has no {cut.least} consecutive samples: record at least that many without a gap.")
    if len(cut.rows) == 1 and len(cut.rows[0]) == len(table.rows):
        return [_recording(table, channels)]
    recordings = [_recording(table.rows_at(rows), channels, cut) for rows in cut.rows]
    recordings[0].findings.insert(0, cut.finding(table))
    for recording in recordings[1:]:  # What concerns the columns is reported once.
        recording.findings[:] = [f for f in recording.findings if f.line != table.header]
    return recordings


def _recording(table: Table, channels: Channels, cut: Parts | None = None) -> Recording:
    """The content of a table, checked."""
    findings = Findings(table.place)
    check_width(table.rows, table.lines, len(table.names), findings)
    times = _times(table, channels, findings)
    _note_ignored(table, channels, findings)
    values, resolution = _values(table, channels, findings)
    d_q = len(channels.positions)
    keep = check_repeated(times, table.lines, findings)
    lines = [line for line, kept in zip(table.lines, keep, strict=True) if kept]
    times, raw, u = times[keep], values[keep, :d_q], values[keep, d_q:]
    q, places = raw.copy(), _places(table, channels)
    for i, p in enumerate(channels.positions):
        has_unit = split_unit(table.names[places[i]])[1] is not None
        if has_unit or not check_degrees(p, raw[:, i], table.header, findings):
            check_spikes(p, raw[:, i], lines, findings)
            q[:, i] = unwrapped(p, raw[:, i], lines, findings)
    check_times(times, lines, channels.sampling_time, findings)
    for channel, column in zip(channels.inputs, u.T, strict=True):
        check_input(channel, column, lines, findings)
    check_constant(channels, q, u[:-1], table.header, findings)
    _check_length(len(q) - 1, channels, lines[-1], findings)
    part = "" if cut is None else f", {table.place}s {lines[0]} to {lines[-1]}"
    return Recording(table.path, channels, times, q, raw, u, lines, tuple(resolution[:d_q]), findings.sorted(), part)


def _places(table: Table, channels: Channels) -> list[int]:
    """The columns of the positions and inputs."""
    names = [channel.name for channel in (*channels.positions, *channels.inputs)]
    return columns_of(names, table.names, table.path)


def _values(table: Table, channels: Channels, findings: Findings) -> tuple[np.ndarray, list[float]]:
    """The positions and inputs in the units of their channels, and the value of the last printed digit of each."""
    columns, resolution = [], []
    for i, place in enumerate(_places(table, channels)):
        name = (*channels.positions, *channels.inputs)[i].name
        cells, factor = table.column(place), _factor(table, place, channels, i, findings)
        if place in table.without_numbers:
            sentence = (
                f"{name} has no numbers, only text such as {next(filter(None, cells))[:40]!r}: log it as a number."
            )
            findings.add("error", "text", table.header, sentence, name)
            columns.append(np.full(len(cells), np.nan))
        else:
            position = i < len(channels.positions)
            column = factor * to_numbers(cells, table.lines, name, findings, last=position)
            if position:
                column = check_plausible(channels.positions[i], column, table.lines, findings)
            columns.append(column)
        digits = decimals(cells) if table.printed else None
        resolution.append(0.0 if digits is None else factor * 10.0**-digits)
    return np.column_stack(columns), resolution


def _times(table: Table, channels: Channels, findings: Findings) -> np.ndarray:
    """The time of every sample in seconds: from the time column, else from the sampling time."""
    found = time_column(table.names)
    if found is None:
        if channels.sampling_time is None:
            raise UserError(
                f"{table.path} has no time column, only {', '.join(table.names)}: name it 't' or 'time', or give the "
                "sampling rate (--rate)."
            )
        sentence = f"there is no time column: samples are assumed to be {seconds(channels.sampling_time)} apart."
        findings.add("remark", "no time", table.header, sentence)
        return np.arange(len(table.rows)) * channels.sampling_time
    place, unit = found
    stamps = to_numbers(table.column(place), table.lines, table.names[place], findings)
    return to_seconds(stamps, unit, channels.sampling_time, table.header, findings)


def _note_ignored(table: Table, channels: Channels, findings: Findings) -> None:
    time = time_column(table.names)
    used = {*_places(table, channels), *([] if time is None else [time[0]])}
    others = [
        f"{name or f'column {i + 1}'}{' (text)' * (i in table.without_numbers)}"
        for i, name in enumerate(table.names)
        if i not in used
    ]
    others += table.skipped
    if others:
        findings.add("remark", "other columns", table.header, f"ignored columns: {', '.join(others)[:200]}.")


def _factor(table: Table, place: int, channels: Channels, i: int, findings: Findings) -> float:
    """The factor that converts the unit in the header, if there is one, to the channel's."""
    channel = (*channels.positions, *channels.inputs)[i]
    unit = split_unit(table.names[place])[1]
    if unit is None or not channel.unit or unit == channel.unit:
        return 1.0
    goal, factor = converted(unit)
    if goal == channel.unit:
        findings.add(
            "remark", "unit", table.header, f"{channel.name} is converted from {unit} to {goal}.", channel.name
        )
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
        sentence = f"the trial ends after {steps} of the task's {channels.horizon} steps: fine if this was intended."
        findings.add("remark", "short", line, sentence)
    elif channels.horizon is not None and steps > channels.horizon:
        findings.add(
            "warning",
            "long",
            line,
            f"the trial has {steps} steps and the task {channels.horizon}: the additional ones are left out; cut the "
            "file into several trials to use them, which --split does.",
        )
