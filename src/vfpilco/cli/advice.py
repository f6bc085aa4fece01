"""What to try after a run whose last trial was no success."""

from __future__ import annotations

import shlex
from pathlib import Path

from vfpilco.cli.outputs import program
from vfpilco.trials.result import RunResult

MORE = 3
"""Trials that are suggested in addition."""


def next_steps(result: RunResult, task: list[str], out: Path) -> list[str]:
    """Sentences on what probably went wrong, the remedy of each, and the command that continues the run.

    Args:
        result: The run, whose last trial was no success.
        task: The words of the command line that name the task and its plant.
        out: The folder of the run.
    """
    policies = [row for row in result.rows if row.kind == "policy"]
    more = shlex.join(
        [*program(), "learn", *task, "--out", str(out), "--resume", "--trials", str(len(policies) + MORE)]
    )
    advice = [f"more trials: {more}"]
    if not policies:
        return advice
    last = policies[-1]
    band, chance = last.predicted_cost, last.success_chance
    if any(row.success for row in policies):
        advice.append(f"an earlier policy: {shlex.join([*program(), 'evaluate', str(out), '--trial', _best(result)])}")
    if last.ended_s is not None:
        advice.append("The last trial ended early: in a new run use smaller inputs (--gentle 0.3, --slew 0.2).")
    elif band is not None and band.contains(last.cost) and chance is not None and chance < 0.5:
        advice.append(
            "The policy fails on the model too: in a new run use more gradient steps (--steps 1500) or a cost that is "
            "below its maximum at the start."
        )
    elif band is not None and last.cost > band.high:
        advice.append("The machine did worse than the model predicted: more trials show the model where it is wrong.")
    advice.append(f"what was learned: {shlex.join([*program(), 'report', str(out), '--open'])}")
    return advice


def _best(result: RunResult) -> str:
    """The trial of the cheapest policy that succeeded."""
    return str(min((row for row in result.rows if row.success and row.trial), key=lambda row: row.cost).trial)
