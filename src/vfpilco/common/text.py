"""Numbers and counts as readable text."""

from __future__ import annotations

import re
from collections.abc import Sequence

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def count(number: int, thing: str) -> str:
    """A count with its noun: `1 sample`, `2 samples`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def joined(parts: Sequence[str]) -> str:
    """Words as a list: `a`, `a and b`, `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def readable(value: float, digits: int = 4) -> str:
    """A number with `digits` significant digits; integers of up to nine are written out, and zero has no sign."""
    text = f"{value + 0.0:.{digits}g}"
    if "e+" in text and abs(value) < 1e9:
        text = f"{value:.0f}"
    return "0" if text == "-0" else text


def seconds(value: float, digits: int = 4) -> str:
    """A duration in a suitable unit."""
    if value == 0:
        return "0 s"
    size, unit = next((each for each in TIMES if abs(value) >= each[0]), TIMES[-1])
    return f"{readable(value / size, digits)} {unit}"


def short(cost: float) -> str:
    """A cost with as many digits as are meaningful."""
    return f"{cost:.1f}" if abs(cost) >= 10 else f"{cost:.3g}"


def printable(text: str) -> str:
    """The same text with control characters, such as those of a terminal, and lone surrogates written out."""
    return UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def is_printable(text: str) -> bool:
    """Whether a text has neither control characters nor lone surrogates."""
    return UNPRINTABLE.search(text) is None
