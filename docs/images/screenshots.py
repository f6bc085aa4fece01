"""The pictures report.png, risk.png and inspect.png of this site: `python docs/images/screenshots.py`, or only some of
them: `python docs/images/screenshots.py risk`.

Needs chromium and chromedriver. The runs of the reports take about three minutes (runs/cartpole-seed3, with the default
settings) and one minute (runs/rail) on two cores; one that exists is not repeated.
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
PLACE = "document.querySelector('{}').getBoundingClientRect()"
"""Where an element of the page is."""


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


def photograph_risk() -> None:
    """What the report of a run with a safe range says about its riskiest trial: words, the position, and the risk."""
    sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))
    from browser import chromium

    rail = HERE.parents[1] / "examples/safety/cartpole_on_a_rail.py"
    result = vfpilco.learn(rail, seed=2, trials=3, steps=200, particles=100, max_risk=0.2, out="runs/rail", resume=True)
    page, risks = result.report(), [row.risk.leaving if row.risk else 0.0 for row in result.rows]
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
        browser.open(page, (COLUMN, 2 * HEIGHT))
        browser.press(".switch button", int(np.argmax(risks)))
        browser.wait("document.querySelectorAll('.trialwise .risk .chart svg').length > 0")
        browser.value("document.querySelector('.trialwise').scrollIntoView()")
        picture = browser.picture()
        shown = (".trialwise .sentence", ".trialwise .chart", ".trialwise .risk")
        edges = [browser.value(f"(r => [r.top, r.bottom])({PLACE.format(name)})") for name in shown]
    parts = [picture[round(top) - 8 : round(bottom) + 8] for top, bottom in edges]
    picture = Image.fromarray(np.concatenate(parts))  # thin lines keep their colours:
    picture.quantize(256, Image.Quantize.MAXCOVERAGE).save(HERE / "risk.png", optimize=True)


if __name__ == "__main__":
    pictures = {"inspect": draw_inspection, "report": photograph_report, "risk": photograph_risk}
    for name in sys.argv[1:] or pictures:
        pictures[name]()
