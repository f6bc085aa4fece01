"""After a trial: what was predicted, what happened, why, and what the next trial changes."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest
from folders import SIZES
from rich.console import Console
from variants import variant

import vfpilco
from vfpilco.data.results import CostBand, Evaluated, Forecast
from vfpilco.data.risk import RangeRisk, Risk
from vfpilco.data.trial import Trial
from vfpilco.interactive.terminal import Display
from vfpilco.report import sentences
from vfpilco.report.source import Source
from vfpilco.rollout.band import Band
from vfpilco.storage.runfolder import RunFolder
from vfpilco.trials.explanation import explain, outlook
from vfpilco.trials.result import is_stuck

N = 90


@pytest.fixture(scope="module")
def machine():
    return vfpilco.task("cartpole").machine


def band(half: float = 0.1) -> Band:
    zero = np.zeros((N + 1, 2))
    return Band(zero - half, zero, zero + half)


def trial(p: float = 0.0, alpha: float = 0.0, at: int = 30, steps: int = N) -> Trial:
    """At rest until sample `at`, then at p and alpha."""
    q = np.zeros((steps + 1, 2))
    q[at:] = p, alpha
    return Trial(q, np.zeros((steps, 1)), 1 / 30)


def expected(chance: float | None, risk: float | None = None) -> Forecast:
    ranges = [] if risk is None else [RangeRisk("p", risk)]
    return Forecast(CostBand(20.0, 10.0, 30.0), chance, Risk(200, risk or 0.0, ranges))


def why(machine, chance, cost=20.0, success=False, executed=None, risk=None, earlier=()):
    executed = executed or trial()
    return explain(machine, executed, Evaluated(cost, success), expected(chance, risk), band(), earlier)


def test_a_position_outside_its_band_means_that_the_model_was_wrong_there(machine):
    found = why(machine, 0.9, success=True, executed=trial(p=0.31, alpha=0.05))
    assert (found.cause, found.position, found.time_s) == ("model", "p", pytest.approx(1.0))
    assert found.words == (
        "The model was wrong from 1 s on: p was 0.31 m and -0.1 to 0.1 was predicted (with alpha at 0.05 rad)."
    )
    assert why(machine, 0.9, executed=trial(p=0.11, alpha=0.5)).position == "alpha"


def test_it_is_said_if_no_trial_had_been_there(machine):
    left = trial(p=0.31)
    assert "where no trial had been before" in why(machine, 0.9, executed=left, earlier=[trial(p=0.3)]).words
    assert "before" not in why(machine, 0.9, executed=left, earlier=[trial(p=0.4, alpha=0.1)]).words


def test_an_angle_may_start_full_turns_away(machine):
    away = Trial(np.tile([0.0, 4 * np.pi], (N + 1, 1)), np.zeros((N, 1)), 1 / 30)
    assert why(machine, 0.9, success=True, executed=away).cause == "as predicted"


@pytest.mark.parametrize(
    ("chance", "success", "cost", "cause", "words"),
    [
        (0.9, True, 20.0, "as predicted", "succeeded, as predicted"),
        (0.9, True, 5.0, "as predicted", "succeeded, as predicted"),
        (0.1, True, 20.0, "uncertain model", "although only 10 % of the particles did"),
        (0.9, False, 20.0, "noise", "noise decided: success was predicted with 90 %"),
        (0.3, False, 20.0, "uncertain model", "uncertain where the policy goes: 30 % of the particles"),
        (0.0, False, 20.0, "policy", "not good enough, as predicted: 0 % of the particles"),
        (None, False, 20.0, "as predicted", "went as predicted"),
        (0.9, False, 45.0, "model", "too optimistic: the cost was 45.0 and 10.0 to 30.0 was predicted"),
    ],
)
def test_inside_the_band_cost_and_success_decide(machine, chance, success, cost, cause, words):
    found = why(machine, chance, cost, success)
    assert found.cause == cause
    assert words in found.words
    assert found.position is None


def test_after_an_early_end_the_predicted_risk_is_repeated(machine):
    short = trial(steps=40)
    assert "a risk of 12 % of leaving a safe range was predicted" in why(machine, 0.0, executed=short, risk=0.12).words
    assert "risk" not in why(machine, 0.0, executed=short).words
    assert "risk" not in why(machine, 0.0, risk=0.12).words


@pytest.mark.parametrize(
    ("cause", "given", "words"),
    [
        ("model", {}, "The next trial learns the model with 90 more samples and optimises the policy again."),
        ("noise", {}, "The next trial learns the model with 90 more samples and optimises the policy again."),
        ("policy", {}, "The next trial optimises this policy further."),
        (
            "policy",
            {"stuck": True},
            "The next trial tries a new policy, too, unless this one is expected to become much better.",
        ),
        (
            "policy",
            {"pushes": True},
            "The next trial tries a new policy, too, unless this one is expected to become clearly better.",
        ),
        ("policy", {"stuck": True, "pushes": True}, "is expected to become much better."),
        ("model", {"success": True, "pushes": True}, "The next trial refines this policy in a short optimisation."),
        ("model", {"success": True}, "The next trial refines this policy in a short optimisation."),
        ("policy", {"shares": (0.5, 0.75)}, "this policy further, with inputs up to 75 % of their limits."),
    ],
)
def test_what_the_next_trial_changes(cause, given, words):
    defaults = {"success": False, "stuck": False, "shares": (1.0, 1.0)}
    assert outlook(cause, 90, **{**defaults, **given}).endswith(words)


def test_no_progress_is_a_cost_that_is_hardly_lower_without_success():
    assert is_stuck([50.0, 49.0], [False, False])
    assert not is_stuck([50.0, 40.0], [False, False])
    assert not is_stuck([50.0, 49.0], [True, False])
    assert not is_stuck([50.0], [False])
    assert not is_stuck([], [])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out, text = tmp_path_factory.mktemp("explained") / "run", io.StringIO()
    base = vfpilco.task("cartpole")
    cart = dataclasses.replace(base.machine.positions[0], safe=(-2.0, 2.0))
    task = variant(base, positions=(cart, base.machine.positions[1]))
    with Display(Console(file=text, width=1000), 1) as display:
        vfpilco.learn(task, seed=1, trials=1, out=out, watch=display, gentle=0.5, steps=4, **SIZES)
    return RunFolder(out), task, text.getvalue()


def test_a_run_explains_its_trials_in_the_terminal_the_results_and_the_report(run):
    folder, task, shown = run
    explored, *_, row = folder.results()
    assert explored.explanation is None
    assert row.explanation.next.endswith("with inputs up to 83 % of their limits.")
    assert row.explanation.text in shown
    assert sentences.of_trials(Source(folder, task))[-1].endswith(row.explanation.text)


def test_a_run_can_be_read_again(run):
    folder, _, _ = run
    line = (folder.path / "results.jsonl").read_text().splitlines()[-1]
    assert '"explanation": {"cause": "' in line
