"""The paper's main figure from the committed records: the success rate of every configuration, trial by trial.

    python examples/main_figure.py success.png

It reads `docs/results/cartpole-memory.jsonl` and runs nothing. A line is the rate of a configuration with its 95 %
interval, a cross is the published rate.
"""

import sys
from pathlib import Path

import numpy as np

from vfpilco.common.axes import legend_above
from vfpilco.common.plotting import new_figure, save
from vfpilco.common.statistics import interval
from vfpilco.studies import load
from vfpilco.studies.base import current
from vfpilco.studies.groups import Group, groups
from vfpilco.studies.records import read
from vfpilco.studies.statistics import successes

RESULTS = Path(__file__).parents[1] / "docs/results"
STUDY = "cartpole-memory"


def records_by_configuration(results: Path = RESULTS) -> list[Group]:
    """The committed runs of the study, by configuration."""
    study = load(STUDY)
    return groups(study, current(study, read(results / study.file)))


def success_rates(group: Group) -> np.ndarray:
    """The rate of every trial and the ends of its 95 % interval, in percent: (3, trials)."""
    succeeded = successes(group.records)
    ends = np.array([interval(int(k), len(succeeded)) for k in succeeded.sum(0)]).T
    return 100 * np.vstack([succeeded.mean(0), ends])


def draw(shown: list[Group], file: Path) -> None:
    """Draw all configurations in one figure."""
    figure = new_figure(8, 4.5)
    axis = figure.subplots()
    for i, group in enumerate(shown):
        rate, low, high = success_rates(group)
        trial = np.arange(1, len(rate) + 1) + 0.06 * (i - (len(shown) - 1) / 2)
        axis.errorbar(
            trial, rate, [rate - low, high - rate], color=group.colour, marker="o", capsize=2, label=group.label
        )
        published = 100 * np.array(group.configuration.published)
        axis.plot(trial[: len(published)], published, "x", color=group.colour)
    axis.plot([], [], "x", color="gray", label="published")
    axis.set_xticks(range(1, load(STUDY).trials + 1))
    axis.set_xlabel("trial")
    axis.set_ylabel("success [%], 95 % interval")
    axis.set_ylim(-3, 103)
    axis.spines[["top", "right"]].set_visible(False)
    legend_above(axis, columns=4)
    save(figure, file, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FILE.png")
    draw(records_by_configuration(), Path(sys.argv[1]))
