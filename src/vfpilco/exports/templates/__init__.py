"""The texts that exports are made of; what stands as $name is filled in."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from string import Template

LARGEST = 1e9
"""What is measured beyond this is no measurement: whole turns could not be told any more."""


def fill(file: str, /, **values: object) -> str:
    """The text of a file, filled in."""
    text = Template(files(__name__).joinpath(file).read_text("utf-8"))
    return text.substitute(values, largest=f"{LARGEST:.0e}", version=version("vfpilco"))
