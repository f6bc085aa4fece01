"""The arguments of a command, from the fields of a dataclass; wrong ones are told in one sentence."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import re
from typing import Any

import tyro

from vfpilco.errors import UserError, unknown
from vfpilco.settings import Settings

PLAIN = (tyro.conf.DisallowNone, tyro.conf.FlagCreatePairsOff)
"""No word None for what may be left out, and one flag where it takes one."""


def parse(cls: Any, argv: list[str], command: str, **given: Any) -> Any:
    """The arguments as an instance of `cls`, with the given defaults; a wrong one is told in one sentence."""
    names = [f.name for f in dataclasses.fields(cls)]
    names += [f.name for f in dataclasses.fields(Settings)] if "settings" in given else []
    flags = [f"--{name.replace('_', '-')}" for name in names] + ["--help"]
    for word in argv:
        flag = word.split("=")[0].replace("_", "-")
        if flag.startswith("--") and flag.replace("--no-", "--") not in flags:
            raise unknown(f"option of vfpilco {command}", flag, flags)
    missing = {f.name: tyro.MISSING for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            default = cls(**{**missing, **given})
            return tyro.cli(cls, args=argv, prog=f"vfpilco {command}", default=default, config=PLAIN)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        plain = re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue())
        lines = [line.strip(" │") for line in plain.splitlines()[1:]]
        content = " ".join(line for line in itertools.takewhile(lambda line: not line.startswith("──"), lines))
        content = content.replace("invalid literal for int() with base 10:", "a whole number is needed, not")
        raise UserError(f"{content.rstrip('.')}: see vfpilco {command} --help.") from None


def as_flags(settings: dict[str, Any], usual: Settings) -> list[str]:
    """The words of a command line that give those settings which differ from the usual ones."""
    before = dataclasses.asdict(usual)
    changed = [(name, value) for name, value in settings.items() if name in before and value != before[name]]
    return [word for name, value in changed for word in (f"--{name.replace('_', '-')}", str(value))]
