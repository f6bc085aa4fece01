"""Standard output and error that accept every text, and exist."""

from __future__ import annotations

import codecs
import io
import os
import sys

PLAIN = {"±": "+-", "µ": "u", "…": "...", "×": "x", "–": "-", "’": "'"}
"""Characters that have a plain spelling; any other one that the terminal does not have is written as its code."""


def prepare() -> None:
    """Open what is closed, and write what the encoding of the terminal does not have in another way."""
    codecs.register_error("vfpilco.plain", _plain)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # Otherwise the next file that is opened would take its number.
            handle = os.open(os.devnull, os.O_RDWR)
            os.dup2(handle, number)
            if handle != number:
                os.close(handle)
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="vfpilco.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end
