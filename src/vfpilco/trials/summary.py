"""The trials of a run as a short table: for print, for notebooks and for data frames."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vfpilco.common.text import count, printable, short
from vfpilco.data.results import TrialResult
from vfpilco.data.risk import percent

COLUMNS = ("trial", "data", "cost", "predicted (95 %)", "success", "chance", "risk", "note")
LONGEST_NOTE = 48
"""Characters of a note in the table; the rows of the result have all of it."""


def headline(name: str, seed: int, rows: Sequence[TrialResult]) -> str:
    """A run in one sentence."""
    policies = [row for row in rows if row.kind == "policy"]
    first = next((row for row in policies if row.success), None)
    outcome = (
        "no policy was executed yet"
        if not policies
        else "no success yet"
        if first is None
        else f"first success at trial {first.trial}, learned from {first.experience_s:.3g} s of data"
    )
    return f"{name}, seed {seed}, {count(len(policies), 'trial')}: {outcome}"


def cells(row: TrialResult) -> tuple[str, ...]:
    """A line of the table."""
    band, chance, risk = row.predicted_cost, row.success_chance, row.risk
    return (
        "exploration" if row.trial is None else str(row.trial),
        f"{row.experience_s:.3g} s",
        short(row.cost),
        "" if band is None else f"{short(band.mean)} ({short(band.low)} to {short(band.high)})",
        "yes" if row.success else "no" if row.ended_s is None else f"ended at {row.ended_s:.3g} s",
        "" if chance is None else percent(chance),
        "" if risk is None or not risk.ranges else percent(risk.leaving),
        _note(row.notes),
    )


def _note(notes: list[str]) -> str:
    """The first note, shortened, and how many more there are."""
    if not notes:
        return ""
    more = "" if len(notes) == 1 else f" (+{len(notes) - 1})"
    first = printable(notes[0])
    return (first if len(first) <= LONGEST_NOTE else f"{first[: LONGEST_NOTE - 1].rstrip()}…") + more


def text(name: str, seed: int, rows: Sequence[TrialResult]) -> str:
    """The table as text."""
    lines = [COLUMNS, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [i for i in range(len(COLUMNS)) if any(line[i] for line in lines[1:])]
    table = ["  ".join(line[i].ljust(widths[i]) for i in shown).rstrip() for line in lines]
    return "\n".join([headline(name, seed, rows), *(table if rows else [])])


def html(name: str, seed: int, rows: Sequence[TrialResult]) -> str:
    """The table as HTML; a shortened note has its full text as a tooltip."""
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row)[:-1]) + _note_html(row) + "</tr>"
        for row in rows
    )
    title = escape(headline(name, seed, rows))
    return f"<div><p><b>{title}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _note_html(row: TrialResult) -> str:
    full = escape("\n".join(map(printable, row.notes)), quote=True)
    return f'<td style="text-align:left" title="{full}">{escape(_note(row.notes))}</td>'


def record(row: TrialResult) -> dict[str, str | float | bool | None]:
    """A row with plain values, for a table of numbers."""
    band = row.predicted_cost
    return {
        "kind": row.kind,
        "trial": row.trial,
        "experience_s": row.experience_s,
        "cost": row.cost,
        "predicted_mean": None if band is None else band.mean,
        "predicted_low": None if band is None else band.low,
        "predicted_high": None if band is None else band.high,
        "success": row.success,
        "success_chance": row.success_chance,
        "risk": None if row.risk is None else row.risk.leaving,
        "band_coverage": row.band_coverage,
        "ended_s": row.ended_s,
        "ended": row.ended,
        **row.measures,
        "notes": "\n".join(row.notes),
    }
