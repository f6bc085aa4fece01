"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a header, row by row."""
    return "\n".join([_line(header), "|" + "---|" * len(header), *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def trial_names(trials: int) -> list[str]:
    """The column headers `trial 1`, `trial 2`, …"""
    return [f"trial {k}" for k in range(1, trials + 1)]
