"""Settings on the command line: their defaults are those of the task or of the run that is resumed.

The arguments are parsed twice: first without the settings, which says what the task is, then completely, with its
defaults. The order of the words does not matter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vfpilco.cli.arguments import HELP, flag, flag_in, parse, wants_help
from vfpilco.cli.columns import renaming
from vfpilco.common.errors import UserError
from vfpilco.recordings.takeover import settings_from
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.task import Task
from vfpilco.trials.options import Options, apply_options, options_of
from vfpilco.trials.settings import Settings

NAMES = {flag(f.name): f.name for f in dataclasses.fields(Options)}
"""The settings by their flags."""


def given_options(argv: list[str]) -> list[str]:
    """The names of the settings that the command line gives."""
    return [NAMES[flag_in(word)] for word in argv if flag_in(word) in NAMES]


def without_options(argv: list[str]) -> list[str]:
    """The words of a command line without settings and their values, and without the request for help."""
    kept, is_value = [], False
    for word in argv:
        if flag_in(word) in NAMES:
            is_value = "=" not in word
        elif word not in HELP and not (is_value and not word.startswith("--")):
            kept.append(word)
            is_value = False
        else:
            is_value = False
    return kept


def parse_without_options(cls: Any, argv: list[str], command: str) -> Any:
    """The arguments of a command apart from its settings (the field `settings`), whose defaults depend on them.

    Raises:
        UserError: If an argument is wrong or missing.
        SystemExit: If help is requested without the arguments that are required, after it was printed.
    """
    try:
        return parse(cls, without_options(argv), command, settings=Options())
    except UserError:
        if wants_help(argv):
            parse(cls, [word for word in argv if word in HELP], command, settings=Options())
        raise


def parse_with_options(
    cls: Any, argv: list[str], command: str, base: Settings, machine: Machine, **defaults: Any
) -> tuple[Any, Settings]:
    """All arguments of a command, and `base` with the settings that the command line gives.

    Raises:
        UserError: If an argument is wrong.
        SystemExit: If help is requested, after it was printed.
    """
    defaults["settings"] = Options(**options_of(base, machine))
    args = parse(cls, [word for word in argv if word in HELP] or argv, command, **defaults)
    changed = {name: getattr(args.settings, name) for name in given_options(argv)}
    return args, apply_options(base, changed, machine)


def check_columns(columns: str, files: Sequence[Path]) -> None:
    """Raise a `UserError` if columns are renamed and there are no recordings that have them."""
    if columns and not files:
        raise UserError("--columns renames columns of recordings: name these with --inspected.")


def inspected_settings(files: Sequence[Path], columns: str, task: Task, base: Settings) -> dict[str, Any]:
    """Keyword arguments of `learn` that fit recordings of the machine; memories only if the state has them.

    `columns` renames columns of the recordings, as `--columns` says it.
    """
    found = settings_from(files, task, renaming(columns)).keywords()
    has_memories = base.state is None or isinstance(base.state, VelocityFree)
    return {name: value for name, value in found.items() if has_memories or name not in ("m_q", "m_u")}
