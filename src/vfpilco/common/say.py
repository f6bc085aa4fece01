"""Output for a terminal: texts from outside, such as the names of files, never reach it as commands."""

from __future__ import annotations

import sys

from vfpilco.common.text import printable


def say(line: object, *, error: bool = False) -> None:
    """Print a line to standard output, or to standard error.

    Example:
        >>> say("a file called \\x1b[31m")
        a file called \\x1b[31m
    """
    print(printable(str(line)), file=sys.stderr if error else sys.stdout, flush=True)


def shown(text: object) -> str:
    """A text as Rich prints it, without commands and without markup.

    Example:
        >>> shown("[red] \\x1b[31m")
        '\\\\[red] \\\\x1b[31m'
    """
    from rich.markup import escape

    return escape(printable(str(text)))
