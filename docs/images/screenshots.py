"""The pictures report.png and inspect.png of this site: `python docs/images/screenshots.py`.

Needs chromium and chromedriver. The run of the report, runs/cartpole-seed3 with the default settings, takes about three
minutes on two cores; one that exists is not repeated.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import vfpilco
from vfpilco.cli.main import main
from vfpilco.storage.trialfile import trial_to_csv
from vfpilco.trials.execute import connected, execute

HERE = Path(__file__).parent
COLUMN, HEIGHT = 780, 1189
"""Size of each half of the picture of the report, in pixels."""


def draw_inspection() -> None:
    """An exploration of the Furuta pendulum with two samples missing, and two that came at the wrong time."""
    task = vfpilco.task("furuta")
    with connected(task) as plant:
        trial = execute(task, plant, task.explorer(0, 0), 0)
    lines = trial_to_csv(trial.q, trial.u, trial.sampling_time, task.machine.columns).splitlines()
    rows = [line.split(",") for line in lines]
    for row, late in ((41, -0.011), (42, 0.008)):
        rows[row][0] = f"{float(rows[row][0]) + late:.6f}"
    del rows[72:74]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "swing.csv"
        file.write_text("\n".join(map(",".join, rows)) + "\n")
        main(["inspect", str(file), "--task", "furuta", "--out", str(HERE / "inspect.png")])


def photograph_report() -> None:
    """The beginning of a report, and beside it its last trial."""
    sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))
    from browser import chromium

    result = vfpilco.learn("cartpole", seed=3, out="runs/cartpole-seed3", resume=True)
    page = result.report()
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
        browser.open(page, (COLUMN, HEIGHT))
        browser.wait("document.querySelectorAll('.chart svg').length > 3")
        left = browser.picture()
        browser.value("document.querySelector('.trialwise').scrollIntoView()")
        right = browser.picture()
    both = Image.fromarray(np.concatenate([left, right], axis=1))
    both.quantize(128).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    draw_inspection()
    photograph_report()
