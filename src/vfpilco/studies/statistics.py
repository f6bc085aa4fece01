"""Success rates with their uncertainty, compared with published ones."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float

from vfpilco.common.statistics import interval
from vfpilco.studies.base import Study
from vfpilco.studies.groups import groups
from vfpilco.studies.records import RunRecord
from vfpilco.studies.tables import markdown_table, trial_names


def successes(records: list[RunRecord]) -> Bool[np.ndarray, "runs trials"]:
    """Whether each run succeeded at each trial."""
    return np.array([[row.success for row in record.results if row.kind == "policy"] for record in records])


def costs(records: list[RunRecord]) -> Float[np.ndarray, "runs executions"]:
    """The cost of each run's last exploration and of its trials."""
    return np.array([[row.cost for row in record.results][-record.trials - 1 :] for record in records])


def chance_of_fewer(k: int, n: int, published: float, runs: int) -> float:
    """The p-value of at most `k` successes in `n` runs if our rate were the published one (Fisher's one-sided test).

    Args:
        k: Our successes.
        n: Our runs.
        published: The published success rate.
        runs: The number of runs behind it.
    """
    return fewer(k, n, round(published * runs), runs)


def fewer(k: int, n: int, others: int, runs: int) -> float:
    """The one-sided p-value (Fisher) of at most `k` successes in `n` runs, beside `others` in `runs` other ones."""
    from scipy.stats import fisher_exact  # slow to import, and few commands need it

    return float(fisher_exact([[k, n - k], [others, runs - others]], alternative="less")[1])  # pyright: ignore


def success_table(study: Study, records: list[RunRecord]) -> str:
    """Success rates in percent with their 95 % intervals; below each the published ones, with one-sided p-values."""
    rows = []
    for group in groups(study, records):
        count, n = successes(group.records).sum(0).tolist(), len(group.records)
        rows.append([group.name, str(n), *(_with_interval(k, n) for k in count)])
        published = group.configuration.published
        if published:
            rates = published + (math.nan,) * (study.trials - len(published))
            cells = [_with_p_value(rate, k, n, study.published_runs) for rate, k in zip(rates, count, strict=True)]
            rows.append(["… published", str(study.published_runs), *cells])
    return markdown_table(["configuration", "runs", *trial_names(study.trials)], rows)


def _with_interval(k: int, n: int) -> str:
    low, high = interval(k, n)
    return f"{100 * k / n:.0f} ({100 * low:.0f} to {100 * high:.0f})"


def _with_p_value(rate: float, k: int, n: int, runs: int) -> str:
    return "" if math.isnan(rate) else f"{100 * rate:.0f}, p = {chance_of_fewer(k, n, rate, runs):.2f}"
