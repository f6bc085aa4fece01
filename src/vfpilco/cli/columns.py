"""Lists of columns on the command line."""

from __future__ import annotations

from vfpilco.common.errors import UserError


def listed(text: str) -> list[str]:
    """The names in a list that is separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def renaming(text: str) -> dict[str, str]:
    """What `--columns NAME=COLUMN,…` says: names, and what these columns are called in the file.

    Raises:
        UserError: If an entry has no name or no column.
    """
    columns = {}
    for entry in listed(text):
        name, _, column = (part.strip() for part in entry.partition("="))
        if not name or not column:
            raise UserError(f"--columns takes NAME=COLUMN, separated by commas, got {entry[:60]!r}.")
        columns[name] = column
    return columns
