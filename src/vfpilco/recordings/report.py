"""An inspection in the terminal, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from vfpilco.common.say import shown
from vfpilco.common.text import count, readable, seconds
from vfpilco.recordings.estimates import InputEstimate, PositionEstimate, Sampling, with_unit
from vfpilco.recordings.inspection import Inspection
from vfpilco.recordings.logs import Recording
from vfpilco.recordings.suggestion import as_code

COLOURS = {"error": "bold red", "warning": "yellow", "remark": "dim"}


def say(console: Console, recordings: list[Recording], inspection: Inspection | None) -> None:
    """Print the findings of every file, and what the files show together."""
    for recording in recordings:
        duration = np.nanmax(recording.times, initial=0.0)
        console.print(f"[bold]{shown(recording.label)}[/]  {count(len(recording.q), 'sample')}, {seconds(duration)}")
        console.print(_findings(recording) if recording.findings else "  [green]no problems found[/]")
    if inspection is None:
        return
    console.print(_positions(inspection))
    console.print(_inputs(inspection))
    lines = _grid(2)
    for name, text in _lines(inspection).items():
        lines.add_row(f"[bold]{name}[/]", shown(text))
    console.print(lines)


def _grid(columns: int) -> Table:
    """Columns without rules; the last one takes the remaining width."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(columns - 1):
        grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    return grid


def _findings(recording: Recording) -> Table:
    grid = _grid(4)
    for f in recording.findings:
        grid.add_row("", f"[{COLOURS[f.severity]}]{f.severity}[/]", f.where, shown(f.sentence))
    return grid


def _positions(inspection: Inspection) -> Table:
    table = Table("position", "range", "step", "noise (std)", "movement per sample", title=None)
    for p in inspection.positions:
        row = (p.name, _range(p), _step(p), _noise(p), with_unit(p.movement, p.unit))
        table.add_row(*map(shown, row))
    return table


def _inputs(inspection: Inspection) -> Table:
    table = Table("input", "range", "at its limits", "keeps a value for")
    for i in inspection.inputs:
        held = readable(i.held, 2) if np.isfinite(i.held) else "the recording"
        held += {"the recording": "", "1": " sample"}.get(held, " samples")
        table.add_row(*map(shown, (i.name, _range(i), f"{i.saturated:.0%} of the samples", held)))
    return table


def _lines(inspection: Inspection) -> dict[str, str]:
    """Sampling, delay and clock, and what is suggested with its reasons."""
    s, suggested = inspection.sampling, inspection.suggestion()
    lines = {
        "sampling": f"{readable(s.rate)} Hz, every {seconds(s.interval)} ± {_off(s.jitter, s)}, "
        f"at worst {_off(s.worst, s)} off",
        "delay": inspection.delay.sentence,
    }
    irregular = timing_error(inspection)
    if irregular:
        lines["clock"] = f"the motion looks as if samples were taken ± {seconds(irregular, 2)} off their time"
    values = {"m_q": suggested.m_q, "m_u": suggested.m_u, "sensor": as_code(suggested.sensor)}
    return lines | {name: f"{value}  {suggested.reasons[name]}" for name, value in values.items()}


def _off(time: float, sampling: Sampling) -> str:
    return seconds(time, 2) if time > 1e-6 * sampling.interval else "0 ms"


def timing_error(inspection: Inspection) -> float | None:
    """How irregular the sampling instants seem, in seconds; None unless this causes most of the measurement error."""
    interval = inspection.sampling.interval
    found = [
        p.timing
        for p in inspection.positions
        if p.timing is not None and p.noise is not None and p.timing / interval * p.movement > p.noise
    ]
    return max(found, default=None)


def _range(estimate: PositionEstimate | InputEstimate) -> str:
    text = f"{readable(estimate.low)} … {readable(estimate.high)} {estimate.unit}".strip()
    return f"{text}, wraps" if isinstance(estimate, PositionEstimate) and estimate.wraps else text


def _step(p: PositionEstimate) -> str:
    if p.quantisation is None:
        return "none"
    text = with_unit(p.quantisation.step, p.unit)
    return f"{text} (printed digits)" if p.quantisation.printed else text


def _noise(p: PositionEstimate) -> str:
    if p.noise is None:
        return "unknown"
    return with_unit(p.noise, p.unit) if p.noise > 0 else "none found"


def as_json(recordings: list[Recording], inspection: Inspection | None) -> dict[str, Any]:
    """All of it as one JSON object."""
    files = [
        {"file": r.label, "samples": len(r.q), "findings": [asdict(finding) for finding in r.findings]}
        for r in recordings
    ]
    if inspection is None:
        return {"files": files}
    s, suggested = inspection.sampling, inspection.suggestion()
    positions = [asdict(p) for p in inspection.positions]
    for position in positions:
        del position["errors"]
    return {
        "files": files,
        "sampling": {"rate_hz": s.rate, "interval_s": s.interval, "jitter_s": s.jitter, "worst_s": s.worst},
        "positions": positions,
        "inputs": [{**asdict(i), "held": i.held if np.isfinite(i.held) else None} for i in inspection.inputs],
        "delay": {
            "samples": inspection.delay.samples,
            "sentence": inspection.delay.sentence,
            "probabilities": inspection.delay.probabilities.tolist(),
        },
        "suggested": {"m_q": suggested.m_q, "m_u": suggested.m_u, "sensor": as_code(suggested.sensor)},
        "reasons": suggested.reasons,
    }
