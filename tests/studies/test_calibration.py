import json
from pathlib import Path

import pytest

from vfpilco.common.errors import UserError
from vfpilco.common.versions import versions
from vfpilco.data.records import to_json_types
from vfpilco.data.results import CostBand, TrialResult
from vfpilco.data.risk import RangeRisk, Risk
from vfpilco.studies.calibration import brier, calibrate, predicted, reliability
from vfpilco.studies.records import RunRecord

SAFE = Risk(200, 0.1, [RangeRisk("p", 0.1)])


def run(*outcomes: tuple[float, bool], version: str = versions()["vfpilco"], risk: Risk | None = None) -> RunRecord:
    """A run whose trials had these predicted probabilities of success, and successes."""
    band = CostBand(2.0, 1.0, 3.0)
    rows = [
        TrialResult(
            kind="policy",
            cost=2.0 if success else 9.0,
            success=success,
            experience_s=3.0,
            success_chance=chance,
            predicted_cost=band,
            band_coverage=0.9,
            half_coverage=0.4,
            within_95=0.8,
            within_999=1.0,
            risk=risk,
            ended_s=None if success else 1.0,
        )
        for chance, success in outcomes
    ]
    explored = TrialResult(kind="explore", cost=9.0, success=False, experience_s=0.0)
    return RunRecord(
        configuration="default",
        task="examples/machines/ball_and_beam.py",
        trials=len(rows),
        seed=0,
        settings={},
        versions={"vfpilco": version},
        results=[explored, *rows],
    )


OUTCOMES = [(0.0, False), (0.9, True), (1.0, True), (1.0, True)]


def test_predictions_are_compared_with_what_happened():
    trials = predicted([run(*OUTCOMES)])
    assert [trial.task for trial in trials] == ["ball-and-beam"] * 4
    events = [trial.success for trial in trials]
    assert brier(events) == pytest.approx((0.01 / 4, 0.75 * 0.25))
    assert reliability(events) == [(0.0, 0, 1), (0.9, 1, 1), (1.0, 2, 2)]
    assert [trial.leaving for trial in trials] == [None] * 4
    assert [trial.cost_in_band for trial in trials] == [False, True, True, True]


def test_the_page_counts_the_runs_of_this_version_only(tmp_path: Path):
    records = [run(*OUTCOMES), run(*OUTCOMES), run((0.5, True), version="0.1")]
    lines = [json.dumps(to_json_types(record)) for record in records]
    (tmp_path / "shelf.jsonl").write_text("\n".join(lines))
    (tmp_path / "campaigns.jsonl").write_text('{"campaign": "kills"}\n')
    done = calibrate(tmp_path)
    assert "| ball-and-beam | 8 | 75 % | 72 % | 0.002 | 0.188 | 90 % | 40 % (8 trials) | 75 % |" in done.table
    assert "| ball-and-beam | 8 | 80 % | 100 % |" in done.table
    assert "safe ranges" not in done.table
    page = (tmp_path / "calibration.md").read_text()
    assert "8 trials of the 2 runs" in page
    assert (tmp_path / "calibration.png").stat().st_size > 5000


def test_the_risk_of_trials_with_safe_ranges_is_compared_too(tmp_path: Path):
    lines = [json.dumps(to_json_types(record)) for record in (run(*OUTCOMES), run(*OUTCOMES, risk=SAFE))]
    (tmp_path / "safety.jsonl").write_text("\n".join(lines))
    table = calibrate(tmp_path).table
    assert "| ball-and-beam | 4 | 25 % | 10 % | 0.210 | 0.188 |" in table  # one of four left, and 10 % were predicted


def test_without_runs_there_is_nothing_to_compare(tmp_path: Path):
    with pytest.raises(UserError, match="holds no runs of version"):
        calibrate(tmp_path)
