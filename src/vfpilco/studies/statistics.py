"""Success rates with their uncertainty, beside published ones."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest, fisher_exact

from vfpilco.studies.base import Record, Study


def successes(records: list[Record]) -> np.ndarray:
    """Whether each run succeeded at each trial, (runs, trials)."""
    return np.array([[row["success"] for row in record["results"] if row["kind"] == "policy"] for record in records])


def costs(records: list[Record]) -> np.ndarray:
    """The real cost of each run's exploration and trials, (runs, 1 + trials)."""
    return np.array([[row["cost"] for row in record["results"]][-record["trials"] - 1 :] for record in records])


def interval(k: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval of a success rate (Wilson)."""
    found = binomtest(k, n).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def chance_of_fewer(k: int, n: int, published: float, runs: int) -> float:
    """Fisher's one-sided test: how likely so few successes are if the published rate were ours."""
    theirs = round(published * runs)
    return float(fisher_exact([[k, n - k], [theirs, runs - theirs]], alternative="less")[1])  # pyright: ignore


def success_table(study: Study, records: list[Record]) -> str:
    """Success rates in percent with their 95 % intervals; published ones below each, with the one-sided p-value."""
    trials = range(study.trials)
    lines = [
        f"| configuration | runs | {' | '.join(f'trial {k + 1}' for k in trials)} |",
        "|---|---|" + "---|" * study.trials,
    ]
    for configuration in study.configurations:
        mine = [record for record in records if record["configuration"] == configuration.name]
        if not mine:
            continue
        count, n = successes(mine).sum(0), len(mine)
        cells = []
        for k in trials:
            low, high = interval(int(count[k]), n)
            cells.append(f"{100 * count[k] / n:.0f} ({100 * low:.0f} to {100 * high:.0f})")
        lines.append(f"| {configuration.name} | {n} | {' | '.join(cells)} |")
        if configuration.published:
            cells = []
            for k, rate in enumerate(
                configuration.published + (np.nan,) * (study.trials - len(configuration.published))
            ):
                p = chance_of_fewer(int(count[k]), n, rate, study.published_runs) if np.isfinite(rate) else np.nan
                cells.append(f"{100 * rate:.0f}, p = {p:.2f}" if np.isfinite(rate) else "")
            lines.append(f"| … published | {study.published_runs} | {' | '.join(cells)} |")
    return "\n".join(lines)
