"""The texts that exports are made of; what stands as $name is filled in."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def fill(file: str, /, **values: object) -> str:
    """The text of a file, filled in."""
    return Template(files(__name__).joinpath(file).read_text("utf-8")).substitute(values)
