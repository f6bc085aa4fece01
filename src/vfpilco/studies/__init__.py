"""Studies, each reproduced by one command: the paper's experiments, and machines that nothing was tuned for."""

from __future__ import annotations

from vfpilco.common.errors import unknown
from vfpilco.studies import ballplate, cartpole, chatter, delay, furuta, safety, shelf, ur5
from vfpilco.studies.base import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *(cartpole.DEFAULT, cartpole.MEMORY, cartpole.INPUTS, cartpole.MODEL, cartpole.PMS_SETUP),
        *(ur5.CIRCLE, furuta.SWING_UP, ballplate.BALL, ballplate.ROUGH),
        *(furuta.DEFAULT, ballplate.DEFAULT, ur5.DEFAULT, shelf.SHELF, safety.SAFETY),
        *(delay.DELAY, chatter.CHATTER),
    )
}
"""The studies that can be reproduced, by name."""


def load(name: str) -> Study:
    """The study called `name`.

    Raises:
        UserError: If there is no such study.
    """
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]
