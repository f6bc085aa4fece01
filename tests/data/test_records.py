from __future__ import annotations

import dataclasses
import json

import pytest

from vfpilco.data.records import from_json_types, to_json_types
from vfpilco.data.results import (
    CostBand,
    EpisodeResult,
    Evaluated,
    Explanation,
    ModelReport,
    PosteriorReport,
    Timing,
    TrialResult,
)
from vfpilco.data.risk import Extreme, RangeRisk, Risk

RISK = Risk(200, 0.12, [RangeRisk("p", 0.12, "above", 1.3), RangeRisk("alpha", 0.0)], [Extreme("p", "m", 0.3, 0.4)])
POSTERIOR = PosteriorReport("projected", 440, 128, 64, [0.01, -0.002], [1e-3, 0.0])
MODEL = ModelReport([1e-3, 2e-3], [[0.5, None], [2.0, 3.0]], [1e-3, None], [None, 0.1], POSTERIOR, [1e-5, 1e-6])
EXPLORED = TrialResult(kind="explore", cost=83.5, success=False, experience_s=0.0)
EXECUTED = TrialResult(
    kind="policy",
    cost=17.25,
    success=True,
    measures={"final distance": 3.5},
    file="trials/002.csv",
    trial=2,
    experience_s=6.0,
    ended_s=2.5,
    ended="p was 0.5 m",
    predicted_cost=CostBand(17.0, 15.5, 20.0),
    success_chance=0.9,
    risk=RISK,
    band_coverage=0.93,
    half_coverage=0.52,
    band_width=[0.1, 0.2],
    within_95=0.8,
    within_999=1.0,
    log_score=2.5,
    model=MODEL,
    notes=["Something happened."],
    explanation=Explanation("model", "It left the band.", "The next trial knows more.", "p", 1.2),
)
RECORDS = [
    CostBand(1.0, 0.5, 2.0),
    PosteriorReport("exact", 88),
    POSTERIOR,
    MODEL,
    RISK,
    Evaluated(1.5, True, {"a": 1.0}),
    EXPLORED,
    EXECUTED,
    EpisodeResult(episode=3, cost=2.0, success=False, ended_s=0.5),
    Timing(1, "model", 0.25),
    Timing(1, "plant", late_share=0.0, latest_s=1e-3, computing_median_s=2e-4, computing_longest_s=3e-4),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_survives_json(record):
    text = json.dumps(to_json_types(record))
    assert from_json_types(json.loads(text), type(record)) == record


def test_fields_with_their_default_are_left_out():
    assert to_json_types(EXPLORED) == {"cost": 83.5, "success": False, "kind": "explore", "experience_s": 0.0}
    assert to_json_types(Timing(1, "model")) == {"trial": 1, "phase": "model"}
    complete = to_json_types(EXECUTED)
    assert set(complete) == {f.name for f in dataclasses.fields(EXECUTED)}
    assert complete["predicted_cost"] == {"mean": 17.0, "low": 15.5, "high": 20.0}
    assert complete["model"]["posterior"]["kind"] == "projected"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost": "high"}, r"Expected `float`, got `str` - at `\$.cost`"),
        ({"success": 1}, r"Expected `bool`, got `int` - at `\$.success`"),
        ({"kind": "guess"}, r"Invalid enum value 'guess' - at `\$.kind`"),
        ({"predicted_cost": {"mean": 1.0, "low": 0.0}}, r"missing required field `high` - at `\$.predicted_cost`"),
        ({"notes": [1]}, r"Expected `str`, got `int` - at `\$.notes\[0\]`"),
        ({"trial": 1.5}, r"Expected `int \| null`, got `float` - at `\$.trial`"),
    ],
)
def test_a_wrong_type_is_named_with_its_place(change, message):
    with pytest.raises(ValueError, match=message):
        from_json_types({**to_json_types(EXECUTED), **change}, TrialResult)


def test_a_missing_field_is_named_and_unknown_ones_are_ignored():
    row = to_json_types(EXPLORED)
    assert from_json_types({**row, "added later": 3}, TrialResult) == EXPLORED
    row.pop("cost")
    with pytest.raises(ValueError, match="missing required field `cost`"):
        from_json_types(row, TrialResult)
    with pytest.raises(ValueError, match="Expected `object`, got `array`"):
        from_json_types([1, 2], TrialResult)


def test_a_cost_band_contains_its_borders():
    band = CostBand(1.0, 0.5, 2.0)
    assert [band.contains(cost) for cost in (0.4, 0.5, 1.7, 2.0, 2.1)] == [False, True, True, True, False]
