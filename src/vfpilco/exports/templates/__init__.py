"""The templates of the exported files; `$name` is replaced by a value."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from string import Template

LARGEST = 1e9
"""Measurements beyond this are invalid: angles this large could not be unwrapped precisely."""


def fill(file: str, /, **values: object) -> str:
    """A template with its values filled in."""
    text = Template(files(__name__).joinpath(file).read_text("utf-8"))
    return text.substitute(values, largest=f"{LARGEST:.0e}", version=version("vfpilco"))
