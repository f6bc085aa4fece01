"""The part "Predicted risk" of a report: what its data are, and what the page shows of them."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import numpy as np
import pytest
from browser import chromium
from folders import TINY_FLAGS, learn

from vfpilco.cli.main import main
from vfpilco.report.source import Source
from vfpilco.report.trials import trial_data
from vfpilco.storage.runfolder import RunFolder

ROOT = Path(__file__).parents[2]
RAIL = ROOT / "examples/safety/cartpole_on_a_rail.py"
FORMAT_3 = ROOT / "tests/samples/run-format3"
SAFE = 0.5


@pytest.fixture(scope="module")
def rail(tmp_path_factory):
    """A small run of the cart-pole on a rail."""
    folder = tmp_path_factory.mktemp("rail") / "run"
    assert main(["learn", str(RAIL), "--out", str(folder), "--quiet", *TINY_FLAGS]) == 0
    return RunFolder(folder)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def unpacked(packed) -> np.ndarray:
    """The inverse of `pack`."""
    codes = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(packed["shape"])
    return packed["low"] + codes * packed["step"]


def shown(browser, page: Path) -> dict:
    """The part of the page: the titles of its charts, its table row by row, and its hint."""
    browser.open(page)
    browser.wait("document.querySelector('#trials .trial') !== null")
    text = "[...document.querySelectorAll('#trials .risk {}')].map(e => e.textContent)"
    rows = "[...document.querySelectorAll('#trials .risk tr')].map(r => [...r.cells].map(c => c.textContent))"
    assert browser.errors() == []
    return {
        "parts": browser.value("document.querySelectorAll('#trials .risk').length"),
        "charts": browser.value(text.format(".chart .name")),
        "rows": browser.value(rows),
        "hint": browser.value(text.format("p.hint:not(.scrolls)")),
    }


def test_the_data_are_the_particles_that_have_left_by_every_sample(rail):
    source = Source(rail)
    (index, row) = source.policies[-1]
    q = source.predicted(row).q[..., 0]
    (found,) = trial_data(source, index)["risk"]
    assert found["name"] == "p"
    assert row.risk.leaving > 0
    below, above = unpacked(found["left"])
    first = np.where(np.abs(q) > SAFE, np.arange(len(q))[:, None], len(q)).min(0)
    left = 100 * (np.arange(len(q))[:, None] >= first).mean(1)
    np.testing.assert_allclose(below + above, left, atol=0.01)
    assert (below + above)[-1] == pytest.approx(100 * row.risk.leaving, abs=0.01)


def test_an_exploration_has_no_predicted_risk(rail):
    assert trial_data(Source(rail), 0)["risk"] == []


def test_the_page_shows_the_risk_and_the_quantiles_beside_what_was_measured(rail, browser):
    assert main(["report", str(rail.path)]) == 0
    found = shown(browser, rail.path / "report.html")
    assert "particles that left the safe range of p [%]" in found["charts"]
    head, *rows = found["rows"]
    assert head == ["largest magnitude", "95 % of the particles", "99.9 % *", "measured"]
    names = ["p [m]", "alpha [rad]", "speed of p [m/s]", "speed of alpha [rad/s]", "force [N]"]
    assert [row[0] for row in rows] == names
    result, trial = rail.results()[-1], rail.trial(len(rail.results()) - 1, 2)
    risk = result.risk
    expected = [(each.most_95, each.most_999) for each in (*risk.positions, *risk.speeds, *risk.inputs)]
    largest = [np.abs(each).max(0) for each in (trial.q, np.diff(trial.q, axis=0) / trial.sampling_time, trial.u)]
    for row, (likely, extreme), most in zip(rows, expected, np.concatenate(largest), strict=True):
        np.testing.assert_allclose([float(cell) for cell in row[1:3]], [likely, extreme], rtol=6e-3, atol=1e-9)
        assert float(row[3]) == pytest.approx(most, rel=0.02, abs=0.01)
    assert found["hint"] == [f"* of {risk.particles} particles this is the largest one; nothing is extrapolated."]


def test_without_a_safe_range_there_are_quantiles_and_no_chart(browser, tmp_path):
    assert learn(tmp_path / "run", *TINY_FLAGS) == 0
    assert main(["report", str(tmp_path / "run")]) == 0
    found = shown(browser, tmp_path / "run/report.html")
    assert (found["parts"], found["charts"]) == (1, [])
    assert len(found["rows"]) == 6


def test_a_run_whose_risk_was_not_predicted_has_no_such_part(browser, tmp_path):
    folder = shutil.copytree(FORMAT_3, tmp_path / "run")
    assert main(["report", str(folder)]) == 0
    assert shown(browser, folder / "report.html")["parts"] == 0
