"""The arguments of a command, parsed into a dataclass; a wrong one is reported in one sentence."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import re
from collections.abc import Sequence
from typing import Any

import tyro

from vfpilco.cli.help import help_text
from vfpilco.common.errors import UserError, unknown

PLAIN = (tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff)
"""Optional values do not accept the word None, and a flag has one spelling."""


def flag(name: str) -> str:
    """The command-line flag of a field: `m_q` is `--m-q`."""
    return f"--{name.replace('_', '-')}"


def flag_in(word: str) -> str:
    """The flag in a word of the command line, without its value: `--m-q` of `--m_q=2`."""
    return word.split("=")[0].replace("_", "-")


HELP = ("-h", "--help", "--help-all")
"""The words that request the help text."""


def wants_help(argv: list[str]) -> bool:
    """Whether the help text is requested."""
    return any(word in HELP for word in argv)


def check_given(values: Sequence[object], command: str, remedy: str) -> None:
    """Raise a `UserError` if a positional argument that may be repeated was not given."""
    if not values:
        raise UserError(f"Missing from vfpilco {command}: {remedy}.")


def parse(cls: Any, argv: list[str], command: str, **defaults: Any) -> Any:
    """Parse the arguments of a command.

    Args:
        cls: A dataclass with a field for every argument.
        argv: The words after the command.
        command: The name of the command, for messages.
        **defaults: Defaults of fields that differ from those of the class; a field that is a dataclass needs one.

    Returns:
        An instance of `cls`.

    Raises:
        UserError: If an argument is unknown, missing or wrong.
        SystemExit: After the help text was printed.
    """
    _check_flags(cls, argv, command, defaults)
    if wants_help(argv):
        print(help_text(cls, command, defaults, everything="--help-all" in argv))
        raise SystemExit(0)
    missing = {f.name: tyro.MISSING for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            default = cls(**{**missing, **defaults})
            return tyro.cli(cls, args=argv, prog=f"vfpilco {command}", default=default, config=PLAIN)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        raise UserError(f"{_message(printed.getvalue())}: see vfpilco {command} --help.") from None


def _check_flags(cls: Any, argv: list[str], command: str, defaults: dict[str, Any]) -> None:
    """Raise a `UserError` that suggests the right name for a flag that does not exist."""
    groups = [cls, *(value for value in defaults.values() if dataclasses.is_dataclass(value))]
    flags = [flag(f.name) for group in groups for f in dataclasses.fields(group)] + ["--help", "--help-all"]
    for word in argv:
        given = flag_in(word)
        if given.startswith("--") and given.replace("--no-", "--") not in flags:
            raise unknown(f"option of vfpilco {command}", given, flags)


def _message(printed: str) -> str:
    """The message in the frame that tyro prints."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    lines = [line.strip(" │") for line in plain.splitlines()[1:]]
    content = " ".join(itertools.takewhile(lambda line: not line.startswith("──"), lines))
    return content.replace("invalid literal for int() with base 10:", "an integer is needed, got").rstrip(".")
