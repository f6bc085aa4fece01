"""An inspection in the terminal, and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vfpilco.recordings.inspection import InputSeen, Inspection, PositionSeen, Sampling
from vfpilco.recordings.logs import Recording
from vfpilco.recordings.suggestion import as_code
from vfpilco.words import count, readable, seconds

COLOURS = {"error": "bold red", "warning": "yellow", "remark": "dim"}


def say(console: Console, recordings: list[Recording], seen: Inspection | None) -> None:
    """Tell what was found in every file, and what they say together."""
    for recording in recordings:
        duration = np.nanmax(recording.times, initial=0.0)
        console.print(
            f"[bold]{escape(str(recording.path))}[/]  {count(len(recording.q), 'sample')}, {seconds(duration)}"
        )
        console.print(_findings(recording) if recording.findings else "  [green]nothing to complain about[/]")
    if seen is None:
        return
    console.print(_positions(seen))
    console.print(_inputs(seen))
    lines = _grid(2)
    for name, text in _lines(seen).items():
        lines.add_row(f"[bold]{name}[/]", escape(text))
    console.print(lines)


def _grid(columns: int) -> Table:
    """Columns without lines, the last of which is as long as it has to be."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(columns - 1):
        grid.add_column(no_wrap=True)
    grid.add_column(ratio=1)
    return grid


def _findings(recording: Recording) -> Table:
    grid = _grid(4)
    for f in recording.findings:
        grid.add_row("", f"[{COLOURS[f.severity]}]{f.severity}[/]", f"line {f.line}", escape(f.sentence))
    return grid


def _positions(seen: Inspection) -> Table:
    table = Table("position", "range", "step", "noise (std)", "movement per sample", title=None)
    for p in seen.positions:
        table.add_row(p.name, _range(p), _step(p), _noise(p), _number(p.movement, p.unit))
    return table


def _inputs(seen: Inspection) -> Table:
    table = Table("input", "range", "at its limits", "keeps a value for")
    for i in seen.inputs:
        held = readable(i.held, 2) if np.isfinite(i.held) else "ever"
        held += {"ever": "", "1": " sample"}.get(held, " samples")
        table.add_row(i.name, _range(i), f"{i.saturated:.0%} of the samples", held)
    return table


def _lines(seen: Inspection) -> dict[str, str]:
    """What else is seen, and what is suggested with its reasons."""
    s, suggested, reasons = seen.sampling, seen.suggested(), seen.reasons()
    lines = {
        "sampling": f"{readable(s.rate)} Hz, every {seconds(s.interval)} ± {_off(s.jitter, s)}, "
        f"at worst {_off(s.worst, s)} off",
        "delay": seen.delay.sentence,
    }
    shaky = uneven(seen)
    if shaky:
        lines["clock"] = f"the movement looks as if samples were taken ± {seconds(shaky, 2)} off their time"
    for name in ("m_q", "m_u"):
        lines[name] = f"{suggested[name]}  {reasons[name]}"
    lines["sensor"] = f"{as_code(suggested['sensor'])}  {reasons['sensor']}"
    return lines


def _off(time: float, sampling: Sampling) -> str:
    return seconds(time, 2) if time > 1e-6 * sampling.interval else "0 ms"


def uneven(seen: Inspection) -> float | None:
    """How uneven the clock seems, in seconds, if that adds more to the errors than there is otherwise."""
    shares = [
        p.timing
        for p in seen.positions
        if p.timing is not None and p.noise is not None and p.timing / seen.sampling.interval * p.movement > p.noise
    ]
    return max(shares, default=None)


def _range(seen: PositionSeen | InputSeen) -> str:
    text = f"{readable(seen.low)} … {readable(seen.high)} {seen.unit}".strip()
    return f"{text}, wraps" if isinstance(seen, PositionSeen) and seen.wraps else text


def _step(p: PositionSeen) -> str:
    if p.quantisation is None:
        return "none"
    text = _number(p.quantisation.step, p.unit)
    return f"{text} (printed digits)" if p.quantisation.printed else text


def _noise(p: PositionSeen) -> str:
    if p.noise is None:
        return "cannot be told"
    return _number(p.noise, p.unit) if p.noise > 0 else "none seen"


def _number(value: float, unit: str) -> str:
    return f"{readable(value, 3)} {unit}".strip()


def as_json(recordings: list[Recording], seen: Inspection | None) -> dict[str, Any]:
    """All of it as one JSON object."""
    files = [_file(recording) for recording in recordings]
    if seen is None:
        return {"files": files}
    suggested = seen.suggested()
    s = seen.sampling
    return {
        "files": files,
        "sampling": {"rate_hz": s.rate, "interval_s": s.interval, "jitter_s": s.jitter, "worst_s": s.worst},
        "positions": [_position(p) for p in seen.positions],
        "inputs": [{**vars(i), "held": i.held if np.isfinite(i.held) else None} for i in seen.inputs],
        "delay": {
            "samples": seen.delay.samples,
            "sentence": seen.delay.sentence,
            "probabilities": seen.delay.probabilities.tolist(),
        },
        "suggested": {**suggested, "sensor": as_code(suggested["sensor"])},
        "reasons": seen.reasons(),
    }


def _file(recording: Recording) -> dict[str, Any]:
    findings = [dict(vars(finding)) for finding in recording.findings]
    return {"file": str(recording.path), "samples": len(recording.q), "findings": findings}


def _position(p: PositionSeen) -> dict[str, Any]:
    told = {name: value for name, value in vars(p).items() if name != "errors"}
    return {**told, "quantisation": None if p.quantisation is None else dict(vars(p.quantisation))}
