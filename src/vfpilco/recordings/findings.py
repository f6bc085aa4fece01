"""What is found in a recording: a sentence each, with its line in the file and how serious it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "remark"]
"""error: it cannot be learned from; warning: it can, but a person should check it; remark: for information."""
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "remark")
MOST_OF_A_KIND = 10
"""How many findings of one kind are listed one by one; the others are counted."""


@dataclass(frozen=True)
class Finding:
    """One thing found in a recording."""

    severity: Severity
    kind: str
    """A short name of the kind, such as `gap`."""
    line: int
    """The line in the file, from 1; 0 for the columns of a file without lines."""
    sentence: str
    """What was found, and what to do."""
    column: str | None = None
    """The column that it concerns, if it concerns one."""
    place: str = "line"
    """What `line` counts: lines of a text, or samples of a file that has no lines."""

    @property
    def where(self) -> str:
        """The line or sample; files without lines have no line of column names."""
        return f"{self.place} {self.line}" if self.line else "columns"

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


class Findings:
    """Collects findings; of a kind that occurs often it keeps the first ones and counts the others."""

    def __init__(self, place: str = "line") -> None:
        self.place = place
        self._found: list[Finding] = []
        self._count: Counter[tuple[str, str | None]] = Counter()
        self._left_out: dict[tuple[Severity, str, str | None], list[int]] = {}

    def add(self, severity: Severity, kind: str, line: int, sentence: str, column: str | None = None) -> None:
        """Keep a finding, or count it."""
        self._count[kind, column] += 1
        if self._count[kind, column] <= MOST_OF_A_KIND:
            self._found.append(Finding(severity, kind, line, sentence, column, self.place))
        else:
            self._left_out.setdefault((severity, kind, column), []).append(line)

    def sorted(self) -> list[Finding]:
        """All findings in the order of lines, the more serious ones first on the same line."""
        more = [
            Finding(
                severity,
                kind,
                lines[0],
                f"{len(lines)} more of the kind {kind!r}, up to {self.place} {lines[-1]}.",
                column,
                self.place,
            )
            for (severity, kind, column), lines in self._left_out.items()
        ]
        return sorted([*self._found, *more], key=lambda f: (f.line, SEVERITIES.index(f.severity)))


def worst(findings: list[Finding]) -> Severity | None:
    """The severity of the most serious finding; None if there are no findings."""
    return next((severity for severity in SEVERITIES if any(f.severity == severity for f in findings)), None)
