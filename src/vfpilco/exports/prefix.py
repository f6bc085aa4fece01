"""The prefix of an exported program's names: policies with different ones can be linked into one program."""

from __future__ import annotations

import re
from pathlib import Path

from vfpilco.common.errors import UserError

DEFAULT = "vfpilco"
LONGEST = 24
"""C99 guarantees 31 significant characters of an external name; `_policy` takes seven of them."""


def check_prefix(prefix: str) -> None:
    """Raise a `UserError` if symbols of C cannot start with `prefix`."""
    if len(prefix) > LONGEST or not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", prefix):
        raise UserError(
            f"The prefix {prefix[:60]!r} cannot start the names in a C program: use at most {LONGEST} lower-case "
            "letters, digits and single underscores, starting with a letter, such as left_arm."
        )


def names(prefix: str, *, short: bool = True) -> dict[str, str]:
    """What the templates call `prefix`, `PREFIX`, `header` and `source`.

    Args:
        prefix: The prefix.
        short: Whether the files of the default prefix are called `policy.h` and `policy.c`, without it.
    """
    stem = "policy" if short and prefix == DEFAULT else f"{prefix}_policy"
    return {"prefix": prefix, "PREFIX": prefix.upper(), "header": f"{stem}.h", "source": f"{stem}.c"}


def names_in(folder: Path) -> dict[str, str]:
    """The names of the exported program in a folder."""
    stem = next(folder.glob("*policy.h")).stem
    return names(stem.removesuffix("policy").rstrip("_") or DEFAULT, short=stem == "policy")
