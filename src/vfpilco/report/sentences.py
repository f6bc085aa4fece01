"""The sentences of the page: what its charts show, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vfpilco.common.text import joined, printable, short
from vfpilco.data.results import TrialResult
from vfpilco.data.risk import percent
from vfpilco.report.source import Source

PHASES = {
    "model": "fitting the model",
    "policy": "optimising the policy",
    "prediction": "predicting",
    "plant": "running the machine",
}
"""The phases in timings.jsonl, in words."""
MOST_POSITIONS = 6
"""Positions whose model error is written out."""


def of_run(source: Source) -> dict[str, list[str]]:
    """The sentences of every section of the page."""
    policies = [result for _, result in source.policies]
    return {
        "summary": _summary(policies),
        "learning": _learning(policies),
        "model": _model(source, policies),
        "optimisation": _optimisation(source, policies),
        "time": _time(source),
        "timing": _timing(source),
    }


def of_trials(source: Source) -> list[str]:
    """A sentence for every execution."""
    first = first_success(source.results)
    return [_trial(result, result is first, source.units) for result in source.results]


def first_success(results: Sequence[TrialResult]) -> TrialResult | None:
    """The first trial of a policy that solved the task."""
    return next((result for result in results if result.kind == "policy" and result.success), None)


def _trial(result: TrialResult, first: bool, units: dict[str, str]) -> str:
    measures = "".join(
        f", {name} {value:.3g} {units.get(name, '')}".rstrip() for name, value in result.measures.items()
    )
    why = f": {printable(result.ended)}" if result.ended else ""
    ended = "" if result.ended_s is None else f" It ended early, after {result.ended_s:.3g} s{why}."
    own_cost = f"Its cost was {short(result.cost)}{measures}.{ended}"
    if result.kind == "explore":
        return f"An exploration, before the first policy. {own_cost}"
    outcome = "was the first success" if first else "succeeded" if result.success else "did not succeed"
    predicted = result.predicted_cost
    if predicted is None:
        return f"Trial {result.trial} {outcome}. {own_cost}"
    where = "inside" if predicted.contains(result.cost) else "outside"
    coverage = result.band_coverage
    covered = "" if coverage is None else f" {100 * coverage:.0f} % of the trajectory lies in the particles' 95 % band."
    success = result.success_chance
    chance = "" if success is None else f" with a probability of success of {percent(success)}"
    band = f"{short(predicted.mean)} ({short(predicted.low)} to {short(predicted.high)})"
    return (
        f"Trial {result.trial} {outcome}. The model predicted a cost of {band}{chance}{_risk(result)}; "
        f"the real cost was {short(result.cost)}, {where} that band{measures}.{_surprise(result)}{covered}{ended}"
        f"{_explanation(result)}"
    )


def _risk(result: TrialResult) -> str:
    """The predicted risk of leaving safe ranges, if there are any."""
    risk = result.risk
    if risk is None or not risk.ranges:
        return ""
    if not risk.leaving:
        return f" and none of {risk.particles} particles leaving a safe range"
    return f" and a risk of {percent(risk.leaving)} of leaving a safe range ({risk.words.removeprefix('leaving ')})"


def _explanation(result: TrialResult) -> str:
    """Why it went as it did, and what the next trial changes."""
    return "" if result.explanation is None else f" {printable(result.explanation.text)}"


def _surprise(result: TrialResult) -> str:
    """Why a success may cost less or more than was predicted."""
    band = result.predicted_cost
    if band is None or not result.success or band.contains(result.cost):
        return ""
    if result.cost < band.low:
        return (
            " It cost less than predicted: an uncertain model counts on particles that fail, and the machine did not."
        )
    return (
        " It succeeded although it cost more than predicted: success is tested at samples that the task chooses, the "
        "cost is summed over all of them."
    )


def _summary(policies: list[TrialResult]) -> list[str]:
    if not policies:
        return ["The machine has been explored; no policy has been tried yet."]
    first = first_success(policies)
    if first is None:
        best = min(policies, key=lambda result: result.cost)
        return [f"No trial has succeeded yet; trial {best.trial} was the best, with a cost of {short(best.cost)}."]
    since = policies[policies.index(first) :]
    solved = sum(result.success for result in since)
    later = "" if len(since) == 1 else f" From then on {solved} of {len(since)} trials succeeded."
    return [
        f"Trial {first.trial} was the first success, learned from {first.experience_s:.3g} s of measured positions."
        f"{later}"
    ]


def _learning(policies: list[TrialResult]) -> list[str]:
    inside = [result.predicted_cost.contains(result.cost) for result in policies if result.predicted_cost is not None]
    if not inside:
        return []
    return [
        f"In {sum(inside)} of {len(inside)} trials the real cost was inside the predicted band, which contains 95 % of "
        "the particles."
    ]


def _model(source: Source, policies: list[TrialResult]) -> list[str]:
    errors = [(result.trial, *_errors(result, source.modelled)) for result in policies]
    known = [(trial, one, many) for trial, one, many in errors if np.all(np.isfinite([one, many]))]
    if not known:
        return []
    trial, one, many = known[-1]
    names = [source.positions[i] for i in source.modelled]
    parts = [
        f"{amount(error, position.unit)} in {position.name}"
        for error, position in zip(one[:MOST_POSITIONS], names, strict=False)
    ]
    sentences = [f"One sample ahead, the model's error on trial {trial}, which it had not seen, was {joined(parts)}."]
    if len(known) > 1:
        ratio = float(np.median(known[0][2] / np.maximum(many, 1e-300)))
        sentences.append(f"Ten samples ahead, its errors were {_compared(ratio)} on trial {known[0][0]}.")
    return sentences


def _compared(ratio: float) -> str:
    """How much smaller something is that was `ratio` times as large."""
    if 0.95 < ratio < 1.05:
        return "about the same as"
    return f"{ratio:.2g} times smaller than" if ratio > 1 else f"{1 / ratio:.2g} times larger than"


def _errors(result: TrialResult, modelled: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Errors one sample and several samples ahead, of the positions that have a GP; NaN where they are unknown."""
    if result.model is None or not result.model.one_step_error:
        return np.array([np.nan]), np.array([np.nan])
    one, many = (np.array(e, dtype=float) for e in (result.model.one_step_error, result.model.multi_step_error))
    return one[modelled], many[modelled]


def _optimisation(source: Source, policies: list[TrialResult]) -> list[str]:
    for result in policies[-1:]:
        costs = source.optimisation_costs(result)
        if costs is not None and len(costs):
            return [
                f"Before trial {result.trial} the expected cost went from {short(float(costs[0]))} to "
                f"{short(float(np.mean(costs[-20:])))} in {len(costs)} gradient steps."
            ]
    return []


def _time(source: Source) -> list[str]:
    phases: dict[str, float] = {}
    for timing in source.timings:
        phases[timing.phase] = phases.get(timing.phase, 0.0) + timing.seconds
    total = sum(phases.values())
    if not total:
        return []
    parts = [f"{duration(phases[phase])} {name}" for phase, name in PHASES.items() if phases.get(phase)]
    return [f"The run took {duration(total)}: {joined(parts)}."]


def _timing(source: Source) -> list[str]:
    """How punctual the samples were, if they were timed."""
    timed = [timing for timing in source.timings if timing.late_share is not None]
    if not timed:
        return []
    worst = max(timed, key=lambda timing: timing.latest_s or 0.0)
    late = float(np.mean([timing.late_share or 0.0 for timing in timed]))
    latest = max(worst.latest_s or 0.0, 0.0)
    return [
        f"{late:.1%} of the samples came late, the latest by {1e3 * latest:.2g} ms; a sampling time is "
        f"{1e3 * source.header.task.sampling_time:.3g} ms."
    ]


def duration(seconds: float) -> str:
    """Seconds as text, in minutes from two of them on."""
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def amount(value: float, unit: str) -> str:
    """A number with its unit; small lengths and angles in thousandths."""
    if unit in ("m", "rad") and abs(value) < 0.1:
        return f"{1e3 * value:.2g} m{unit}"
    return f"{value:.2g} {unit}"
