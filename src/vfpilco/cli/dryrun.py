"""`vfpilco learn TASK --dry-run`: what was measured on a plant without driving it."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from rich.console import Console

from vfpilco.cli.display import Display
from vfpilco.common.errors import UserError
from vfpilco.common.say import say
from vfpilco.policy.limits import InputLimits
from vfpilco.tasks.task import Task
from vfpilco.trials.dryrun import DryRun, dry_run

TIMING = ("late_share", "latest_s", "computing_median_s", "computing_longest_s")


def show_dry_run(task: Task, limits: InputLimits, *, seed: int, wait: bool, as_json: bool) -> None:
    """Test the plant without driving it, and print what was measured.

    Raises:
        UserError: If there are problems to fix before learning, after all was printed.
    """
    tried = dry_run(task, limits, seed, Display(Console(stderr=True), 1, quiet=True, wait=wait))
    for line in [json.dumps(to_json(tried))] if as_json else tried.sentences():
        say(line)
    if tried.problems:
        raise UserError(" ".join(tried.problems))


def to_json(tried: DryRun) -> dict[str, Any]:
    """A dry run as a JSON object."""
    content = dataclasses.asdict(tried)
    units = {name: position.pop("unit") for name, position in content["positions"].items()}
    punctuality = {name: content["punctuality"][name] for name in TIMING}
    strange = content.pop("unexpected_start")
    content.pop("unpunctual")  # It is one of the problems.
    return {**content, "punctuality": punctuality, "units": units, "strange": strange}
