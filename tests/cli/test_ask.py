"""What `vfpilco ask` says about the next trial: its cost, its risk, and how far the machine may move."""

from __future__ import annotations

import json

import pytest
from folders import SIZES

import vfpilco
from vfpilco.cli.commands import ask as command
from vfpilco.cli.main import main
from vfpilco.data.results import CostBand
from vfpilco.data.risk import Extreme, RangeRisk, Risk
from vfpilco.trials.execute import connect, execute
from vfpilco.trials.tell import Asked

MOVING = {
    "positions": [Extreme("p", "m", 0.31, 0.42), Extreme("alpha", "rad", 3.2, 3.4)],
    "speeds": [Extreme("p", "m", 1.2, 1.9), Extreme("alpha", "rad", 7.7, 9.1)],
    "inputs": [Extreme("force", "N", 9.8, 10.0)],
}
REACH = "at most   p 0.31/0.42 m, 1.2/1.9 m/s; alpha 3.2/3.4 rad, 7.7/9.1 rad/s; force 9.8/10 N (95/99.9 %)"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with an exploration, from which the first policy can be asked for."""
    task, folder = vfpilco.task("cartpole"), tmp_path_factory.mktemp("ask") / "run"
    inputs = iter(task.exploring_inputs(0, 0))
    explored = execute(task, connect(task), lambda q: next(inputs), 0)
    vfpilco.tell(folder, task, [explored], steps=4, **SIZES)
    return folder


def said(monkeypatch, capsys, run, risk, *flags) -> str:
    """The output for a policy that is predicted to have that risk."""
    answer = Asked(1, None, CostBand(30.0, 20.0, 40.0), 0.25, risk)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(command, "ask", lambda *_, **__: answer)
    assert main(["ask", str(run), *flags]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("leaving", "ranges", "line"),
    [
        (0.12, [RangeRisk("p", 0.12, "above", 1.3)], "risk      leaving p 12 % (above, at about 1.3 s)"),
        (0.0, [RangeRisk("p", 0.0)], "risk      leaving p 0 of 200 particles"),
    ],
)
def test_the_risk_and_both_quantiles_are_said(run, monkeypatch, capsys, leaving, ranges, line):
    lines = said(monkeypatch, capsys, run, Risk(200, leaving, ranges, **MOVING)).splitlines()
    expected = lines.index("expected  cost 30.0, 95 % between 20.0 and 40.0; success with 25 %")
    assert lines[expected + 1 : expected + 3] == [line, REACH]


def test_without_a_safe_range_there_is_no_risk_but_the_quantiles(run, monkeypatch, capsys):
    output = said(monkeypatch, capsys, run, Risk(200, 0.0, **MOVING))
    assert f"\n{REACH}\n" in output
    assert "risk" not in output


def test_the_risk_of_an_earlier_version_is_unknown(run, monkeypatch, capsys):
    output = said(monkeypatch, capsys, run, None)
    assert "at most" not in output
    assert json.loads(said(monkeypatch, capsys, run, None, "--json"))["risk"] is None


def test_json_has_the_complete_risk(run, monkeypatch, capsys):
    risk = Risk(200, 0.12, [RangeRisk("p", 0.12, "above", 1.3)], **MOVING)
    answer = json.loads(said(monkeypatch, capsys, run, risk, "--json"))
    assert (answer["trial"], answer["success_chance"]) == (1, 0.25)
    found = answer["risk"]
    assert (found["particles"], found["leaving"]) == (200, 0.12)
    assert found["ranges"] == [{"position": "p", "probability": 0.12, "side": "above", "time_s": 1.3}]
    assert found["positions"][0] == {"name": "p", "unit": "m", "most_95": 0.31, "most_999": 0.42}
    assert found["speeds"][1]["most_999"] == 9.1
    assert found["inputs"] == [{"name": "force", "unit": "N", "most_95": 9.8, "most_999": 10.0}]


def test_the_answer_of_a_policy_that_was_learned_has_its_risk(run, capsys):
    assert main(["ask", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["risk"]
    assert found["particles"] == 2 * SIZES["particles"]
    assert [each["name"] for each in found["positions"]] == ["p", "alpha"]
    assert all(each["most_95"] <= each["most_999"] for each in (*found["speeds"], *found["inputs"]))
