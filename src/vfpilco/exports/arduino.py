"""A policy as an Arduino library: a folder with the C program and a sketch that runs it on time."""

from __future__ import annotations

import re
from importlib.metadata import version

from vfpilco.exports import c
from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.prefix import names
from vfpilco.exports.templates import fill
from vfpilco.exports.text import Precision, plain

SKETCH = "examples/Control/Control.ino"


def files(exported: Exported, precision: Precision) -> dict[str, str]:
    """The files of the library."""
    called = names(exported.prefix, short=False)
    return {
        "library.properties": _properties(exported, called),
        "keywords.txt": _keywords(exported, called),
        f"src/{called['header']}": c.header(exported, precision, called),
        f"src/{called['source']}": c.source(exported, precision, called),
        SKETCH: _sketch(exported, called),
    }


def _properties(exported: Exported, called: dict[str, str]) -> str:
    return fill(
        "library.properties",
        **called,
        number=re.match(r"\d+\.\d+\.\d+|", version("vfpilco"))[0] or "0.0.0",  # type: ignore[index]
        task=plain(exported.origin.task),
        run=plain(exported.origin.run),
        trial=exported.origin.trial,
    )


def _keywords(exported: Exported, called: dict[str, str]) -> str:
    """The words that the editor highlights, and how."""
    prefix, upper, past = called["prefix"], called["PREFIX"], exported.memory.past_inputs > 0
    words = dict.fromkeys([f"{prefix}_policy", f"{prefix}_real"], "KEYWORD1")
    words |= dict.fromkeys([f"{prefix}_reset", f"{prefix}_step", *[f"{prefix}_actual"] * past], "KEYWORD2")
    words |= dict.fromkeys([f"{upper}_{what}" for what in ("MEASURES", "INPUTS", "SAMPLING_TIME")], "LITERAL1")
    return "".join(f"{word}\t{kind}\n" for word, kind in words.items())


def _sketch(exported: Exported, called: dict[str, str]) -> str:
    nanoseconds = round(exported.sampling_time * 1e9)
    columns = ["t_us", *(_column(one) for one in (*exported.measures, *exported.inputs))]
    return fill(
        "Control.ino",
        **called,
        task=plain(exported.origin.task),
        microseconds=nanoseconds // 1000,
        rest=nanoseconds % 1000,
        measured=_listed(exported.measures),
        applied=_listed(exported.inputs),
        columns=",".join(columns),
        **(_missed(called) if exported.memory.past_inputs else {"into": "u", "unused": "", "held": ""}),
    )


def _missed(called: dict[str, str]) -> dict[str, str]:
    """What the sketch does about past inputs when it missed a sample: the last ones were held."""
    prefix, upper = called["prefix"], called["PREFIX"]
    held = f"\n    {prefix}_actual(&policy, u);  // the last inputs were held"
    return {"into": "unused", "unused": f", unused[{upper}_INPUTS]", "held": held}


def _column(one: Quantity) -> str:
    """The name of a column in the log that the sketch prints; `vfpilco tell` reads it."""
    return plain(one.name).replace(",", "_")


def _listed(quantities: tuple[Quantity, ...]) -> str:
    return "\n".join(f"//   {i}: {plain(q.name)} [{plain(q.unit)}]" for i, q in enumerate(quantities))
