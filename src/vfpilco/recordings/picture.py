"""A figure of an inspection: the recording with its findings, the errors of the sensors, and the delay."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from vfpilco.common.axes import draw_limit, draw_range, draw_target, legend_above
from vfpilco.common.plotting import INPUT, MEASURED, PREDICTED, new_figure, save
from vfpilco.common.text import count, printable, readable
from vfpilco.recordings.estimates import PositionEstimate, with_unit
from vfpilco.recordings.findings import Finding
from vfpilco.recordings.inspection import Inspection
from vfpilco.recordings.logs import Recording
from vfpilco.recordings.motion import FIRST
from vfpilco.recordings.quantisation import rounding_errors

MARKS = {"error": "#dc2626", "warning": "#d97706"}
GREY, PALE = "#9ca3af", "0.8"


def draw_inspection(
    recordings: list[Recording], inspection: Inspection, file: Path, targets: np.ndarray | None = None
) -> Path:
    """Draw the first recording beside details of each position and the evidence of every delay.

    Args:
        recordings: Recordings of one machine.
        inspection: What was found in them.
        file: The file to write, PNG or PDF.
        targets: Where the positions should be at every sample, if a task says so; NaN where any value is good.

    Returns:
        That file.
    """
    recording = recordings[0]
    d_q, d_u = recording.q.shape[1], recording.u.shape[1]
    panels = d_q + max(d_u, 1)
    figure = new_figure(12, 0.8 + 2.1 * panels)
    grid = figure.add_gridspec(panels, 2, width_ratios=[2.1, 1])
    over_time = [figure.add_subplot(grid[i, 0]) for i in range(d_q + d_u)]
    for i in range(d_q):
        _position(over_time[i], recording, i, inspection.sampling.interval, None if targets is None else targets[:, i])
        _sensor(figure.add_subplot(grid[i, 1]), recording.raw[:, i], inspection.positions[i])
    for i in range(d_u):
        _input(over_time[d_q + i], recording, i)
    for axis in over_time:
        axis.set_xlim(0, np.nanmax(recording.times))
    over_time[-1].set_xlabel("time [s]")
    _delay(figure.add_subplot(grid[d_q:, 1]), inspection)
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(_title(recordings, inspection), fontsize=11)
    save(figure, file, dpi=130)
    return file


def _title(recordings: list[Recording], inspection: Inspection) -> str:
    more = f" and {len(recordings) - 1} more" if len(recordings) > 1 else ""
    problems = sum(f.severity != "remark" for f in recordings[0].findings)
    found = count(problems, "finding") if problems else "no problems found"
    return f"{_plain(recordings[0].path.name)}{more}: {readable(inspection.sampling.rate)} Hz, {found}"


def _position(axis: Any, recording: Recording, i: int, sampling_time: float, target: np.ndarray | None) -> None:
    position = recording.channels.positions[i]
    axis.plot(recording.times, recording.q[:, i], ".", color=MEASURED, markersize=4, label="measured")
    axis.set_ylabel(_label(position.name, position.unit))
    if target is not None:
        draw_target(axis, target, sampling_time, position.angle)
    if position.safe is not None:
        draw_range(axis, position.safe)
    _mark(axis, recording, position.name)


def _input(axis: Any, recording: Recording, i: int) -> None:
    channel = recording.channels.inputs[i]
    axis.step(recording.times, recording.u[:, i], where="post", color=INPUT, linewidth=1.3, label="applied")
    axis.axhline(0, color=PALE, linewidth=0.8, zorder=0)
    if np.isfinite(channel.limit):
        draw_limit(axis, channel.limit)
    axis.set_ylabel(_label(channel.name, channel.unit))
    _mark(axis, recording, channel.name)


def _mark(axis: Any, recording: Recording, name: str) -> None:
    """Draw a line at every finding that concerns this column, or all columns."""
    labelled: set[str] = set()
    for finding in recording.findings:
        if finding.severity in MARKS and finding.column in (name, None) and finding.line in recording.lines:
            axis.axvline(
                _time(recording, finding),
                color=MARKS[finding.severity],
                linewidth=1.2,
                alpha=0.8,
                label=None if finding.kind in labelled else finding.kind,
            )
            labelled.add(finding.kind)
    legend_above(axis)


def _time(recording: Recording, finding: Finding) -> float:
    return float(recording.times[recording.lines.index(finding.line)])


def _sensor(axis: Any, raw: np.ndarray, p: PositionEstimate) -> None:
    """Draw the steps of a quantised position, or the scatter of its measurements."""
    if p.quantisation is not None and not p.quantisation.printed:
        _steps(axis, raw, p.quantisation.step, p)
    else:
        _errors(axis, p)
    legend_above(axis, title=_caption(p))


def _steps(axis: Any, values: np.ndarray, step: float, p: PositionEstimate) -> None:
    """Draw the distance of each measured value from a multiple of the step: zero if the step is right."""
    known = values[np.isfinite(values)]
    axis.axhspan(-0.5, 0.5, color=PREDICTED, alpha=0.12, linewidth=0, label="half a step either way")
    axis.plot(known, rounding_errors(known, step), ".", color=MEASURED, markersize=4)
    axis.set_ylim(-0.75, 0.75)
    axis.set_xlabel(_label(f"measured {p.name}", p.unit))
    axis.set_ylabel("off a multiple\n[steps]")


def _errors(axis: Any, p: PositionEstimate) -> None:
    """Draw what the motion does not explain, sample by sample, with a band of two standard deviations."""
    axis.axhline(0, color=PALE, linewidth=0.8, zorder=0)
    axis.set_xlabel("sample")
    axis.set_ylabel(_label("error", p.unit))
    if p.noise is None:
        return
    axis.axhspan(-2 * p.noise, 2 * p.noise, color=PREDICTED, alpha=0.15, linewidth=0, label="±2 std of the noise")
    axis.plot(FIRST - 1 + np.arange(len(p.errors)), p.errors, ".", color=MEASURED, markersize=4)
    size = max(3 * p.noise, 1.1 * float(np.max(np.abs(p.errors), initial=0.0)), 1e-12)
    axis.set_ylim(-size, size)


def _caption(p: PositionEstimate) -> str:
    noise = "noise unknown" if p.noise is None else f"noise {with_unit(p.noise, p.unit)}"
    if p.quantisation is None:
        return f"{_plain(p.name)}: {noise}, no steps"
    digits = " (printed digits)" if p.quantisation.printed else ""
    return f"{_plain(p.name)}: {noise}, steps {with_unit(p.quantisation.step, p.unit)}{digits}"


def _delay(axis: Any, inspection: Inspection) -> None:
    """Draw the log evidence of every delay, relative to that of inputs without effect."""
    delay = inspection.delay
    axis.set_title(textwrap.fill(f"delay: {delay.sentence}", 46), fontsize=9, loc="left")
    axis.set_xlabel("delay from input to motion [samples]")
    axis.set_ylabel("log evidence\nover no input [nats]")
    if not delay.log_evidence:
        return
    logs = enumerate((delay.one_line_late, *delay.log_evidence), -1)
    gain = {d: log - delay.without_inputs for d, log in logs if np.isfinite(log)}
    colours = [INPUT if d == delay.samples else GREY for d in gain]
    axis.bar(list(gain), list(gain.values()), color=colours, width=0.6)
    axis.axhline(0, color=PALE, linewidth=0.8, zorder=0)


def _label(name: str, unit: str) -> str:
    return _plain(f"{name} [{unit}]" if unit else name)


def _plain(name: str) -> str:
    """A name as Matplotlib shows it: without control characters, and without formulas."""
    return printable(name).replace("$", r"\$")
