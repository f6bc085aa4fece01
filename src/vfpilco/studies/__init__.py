"""The paper's experiments, each from one command."""

from __future__ import annotations

from vfpilco.errors import unknown
from vfpilco.studies import cartpole, rigs, ur5
from vfpilco.studies.base import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (cartpole.MEMORY, cartpole.INPUTS, cartpole.MODEL, ur5.CIRCLE, rigs.FURUTA, rigs.BALL)
}
"""The studies that can be reproduced, by name."""


def load(name: str) -> Study:
    """The study called `name`."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]
