"""What is seen, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from vfpilco.display import short
from vfpilco.report.source import Source

Row = dict[str, Any]


def run(source: Source) -> dict[str, list[str]]:
    """The sentences above every part of the page."""
    policies = [row for row in source.rows if row["kind"] == "policy"]
    return {
        "summary": _summary(source, policies),
        "learning": _learning(policies),
        "model": _model(source, policies),
        "optimisation": _optimisation(source, policies),
        "time": _time(source),
    }


def trials(source: Source) -> list[str]:
    """A sentence for every execution."""
    first = first_success(source.rows)
    units = {} if source.task is None else {measure.name: measure.unit for measure in source.task.measures}
    return [_trial(row, row is first, units) for row in source.rows]


def first_success(rows: list[Row]) -> Row | None:
    """The first policy trial that solved the task."""
    return next((row for row in rows if row["kind"] == "policy" and row["success"]), None)


def _trial(row: Row, first: bool, units: dict[str, str]) -> str:
    told = "".join(
        f", {name} {value:.3g} {units.get(name, '')}".rstrip() for name, value in row.get("measures", {}).items()
    )
    ended = f" It ended early, after {row['ended_s']:.3g} s." if "ended_s" in row else ""
    if row["kind"] == "explore":
        return f"An exploration: no policy yet. It cost {short(row['cost'])}{told}.{ended}"
    name = f"Trial {row['trial']}"
    outcome = f"{name} was the first success" if first else f"{name} was {'a' if row['success'] else 'no'} success"
    covered = (
        f" {100 * row['band_coverage']:.0f} % of what was measured lies within the particles' 95 % band."
        if row.get("band_coverage") is not None
        else ""
    )
    if "predicted_cost" not in row:
        return f"{outcome}. It cost {short(row['cost'])}{told}.{ended}"
    predicted = row["predicted_cost"]
    band = f"{short(predicted['mean'])} ({short(predicted['low'])} to {short(predicted['high'])})"
    return (
        f"{outcome}. The model predicted a cost of {band}, the real one was {short(row['cost'])}, "
        f"{'inside' if _inside(row) else 'outside'} that band{told}.{covered}{ended}"
    )


def _inside(row: Row) -> bool:
    """Whether the real cost is in the band that was predicted."""
    return row["predicted_cost"]["low"] <= row["cost"] <= row["predicted_cost"]["high"]


def _summary(source: Source, policies: list[Row]) -> list[str]:
    if not policies:
        return ["The machine has been explored; no policy has been tried yet."]
    first = first_success(policies)
    if first is None:
        best = min(policies, key=lambda row: row["cost"])
        return [
            f"No trial was a success so far; trial {best['trial']} was the best, with a cost of {short(best['cost'])}."
        ]
    solved = sum(row["success"] for row in policies[policies.index(first) :])
    after = len(policies) - policies.index(first)
    since = "" if after == 1 else f" From then on {solved} of {after} trials succeeded."
    return [
        f"Trial {first['trial']} was the first success, learned from {first['experience_s']:.3g} s of measured "
        f"positions.{since}"
    ]


def _learning(policies: list[Row]) -> list[str]:
    inside = [_inside(row) for row in policies if "predicted_cost" in row]
    if not inside:
        return []
    return [
        f"The real cost was inside the band that the model predicted in {sum(inside)} of {len(inside)} trials. "
        "The band holds 95 % of the particles."
    ]


def _model(source: Source, policies: list[Row]) -> list[str]:
    known = [row for row in policies if row.get("model", {}).get("one_step_error")]
    if not known:
        return []
    last = known[-1]["model"]
    parts = [
        f"{amount(last['one_step_error'][i], source.positions[i].unit)} in {source.positions[i].name}"
        for i in source.modelled[:6]
    ]
    sentences = [
        f"One sample ahead of trial {known[-1]['trial']}, which it had not seen, the model was wrong by {_list(parts)}."
    ]
    if len(known) > 1:
        then, now = (np.array(row["model"]["multi_step_error"])[source.modelled] for row in (known[0], known[-1]))
        ratio = float(np.median(then / np.maximum(now, 1e-300)))
        better = f"{ratio:.2g} times smaller" if ratio >= 1 else f"{1 / ratio:.2g} times larger"
        sentences.append(f"Ten samples ahead its errors were {better} than in trial {known[0]['trial']}.")
    return sentences


def _optimisation(source: Source, policies: list[Row]) -> list[str]:
    found = []
    for row in policies[-1:]:
        cost = source.optimised(row)
        if cost is not None and len(cost):
            found.append(
                f"Before trial {row['trial']} the expected cost went from {short(float(cost[0]))} to "
                f"{short(float(np.mean(cost[-20:])))} in {len(cost)} gradient steps."
            )
    return found


def _time(source: Source) -> list[str]:
    phases: dict[str, float] = {}
    for row in source.timings:
        phases[row["phase"]] = phases.get(row["phase"], 0.0) + row.get("seconds", 0.0)
    total = sum(phases.values())
    if not total:
        return []
    names = {
        "model": "fitting the model",
        "policy": "improving the policy",
        "prediction": "predicting",
        "plant": "running the machine",
    }
    parts = [f"{duration(phases[phase])} {name}" for phase, name in names.items() if phases.get(phase)]
    return [f"It took {duration(total)}: {_list(parts)}."]


def duration(seconds: float) -> str:
    """Seconds, or minutes where there are many."""
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def amount(value: float, unit: str) -> str:
    """A number with its unit, small lengths and angles in thousandths."""
    if unit in ("m", "rad") and abs(value) < 0.1:
        return f"{1e3 * value:.2g} m{unit}"
    return f"{value:.2g} {unit}"


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
