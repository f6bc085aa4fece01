"""What the terminal and a notebook say before and after a trial."""

from __future__ import annotations

import doctest
import io
import sys

import pytest
from rich.console import Console

from vfpilco.data.results import CostBand, Explanation, Forecast, TrialResult
from vfpilco.data.risk import Extreme, RangeRisk, Risk
from vfpilco.interactive.notebook import NotebookDisplay
from vfpilco.interactive.terminal import INDENT, Display, hanging

BAND = CostBand(29.34, 20.0, 40.0)
CART = Risk(
    200,
    0.0,
    positions=[Extreme("p", "m", 0.461, 0.523), Extreme("alpha", "rad", 6.31, 7.14)],
    speeds=[Extreme("p", "m", 1.88, 2.41), Extreme("alpha", "rad", 12.2, 14.3)],
    inputs=[Extreme("force", "N", 10.0, 10.0)],
)
ON_A_RAIL = Risk(200, 0.1, [RangeRisk("p", 0.1, "below", 2.2)], CART.positions, CART.speeds, CART.inputs)
ARM = Risk(
    200,
    0.0,
    positions=[Extreme(f"q{i}", "rad", 0.12, 0.15) for i in range(1, 7)],
    speeds=[Extreme(f"q{i}", "rad", 1.1, 1.3) for i in range(1, 7)],
    inputs=[Extreme(f"tau{i}", "N m", 98.7, 150.0) for i in range(1, 7)],
)


def result(**changes) -> TrialResult:
    row = {"cost": 27.02, "success": True, "kind": "policy", "trial": 3, "experience_s": 9.0, "measures": {"tip": 0.02}}
    return TrialResult(**{**row, "predicted_cost": BAND, "success_chance": 0.005, **changes})


def shown(*events, width=80, quiet=False) -> list[str]:
    """The lines of a terminal of that width: forecasts of trial 3, and executions."""
    text = io.StringIO()
    with Display(Console(file=text, width=width), 5, quiet=quiet) as display:
        for event in events:
            if isinstance(event, Forecast):
                display.predicted(3, event)
            else:
                display.executed(event)
    return text.getvalue().splitlines()


def test_a_trial_is_predicted_in_two_lines_and_then_compared():
    why = Explanation("as predicted", "The trial succeeded, as predicted.", "The next trial refines this policy.")
    assert shown(Forecast(BAND, 0.005, ON_A_RAIL), result(explanation=why), width=110) == [
        "  trial 3       predicted 29.3, success 0.5 %, leaving p 10 % (below, at about 2.2 s)",
        "  at most       p 0.46/0.52 m, 1.9/2.4 m/s; alpha 6.3/7.1 rad, 12/14 rad/s; force 10 N (95/99.9 %)",
        "  trial 3       cost  27.0   tip 0.02   success",
        "                The trial succeeded, as predicted. The next trial refines this policy.",
    ]


def test_in_a_narrow_terminal_the_lines_end_after_a_joint():
    assert shown(Forecast(BAND, 0.005, ON_A_RAIL)) == [
        "  trial 3       predicted 29.3, success 0.5 %,",
        "                leaving p 10 % (below, at about 2.2 s)",
        "  at most       p 0.46/0.52 m, 1.9/2.4 m/s; alpha 6.3/7.1 rad, 12/14 rad/s;",
        "                force 10 N (95/99.9 %)",
    ]


def test_a_machine_without_ranges_or_success_test_is_predicted_too():
    assert shown(Forecast(BAND, None, CART), width=110)[0] == "  trial 3       predicted 29.3"
    assert shown(Forecast(BAND, 0.5, Risk(200, 0.0))) == ["  trial 3       predicted 29.3, success 50 %"]


@pytest.mark.parametrize(("width", "count"), [(80, 8), (90, 5), (200, 2)])
def test_six_joints_are_wrapped_without_breaking_one(width, count):
    first, *lines = shown(Forecast(BAND, None, ARM), width=width)
    assert first == "  trial 3       predicted 29.3"
    assert len(lines) == count
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("  at most       q1 0.12/0.15 rad, 1.1/1.3 rad/s;")
    for line in lines[1:]:
        assert line[:INDENT].isspace()
        assert not line[INDENT].isspace()
    assert all(line.endswith(";") for line in lines[:-1])
    assert lines[-1].endswith("tau6 99/150 N m (95/99.9 %)")


def test_a_trial_whose_prediction_was_not_shown_is_shown_with_it():
    assert shown(result()) == ["  trial 3       cost  27.0   predicted  29.3, success 0.5 %   tip 0.02   success"]


def test_an_exploration_has_no_prediction():
    explored = result(kind="explore", trial=None, predicted_cost=None, success_chance=None, success=False)
    assert shown(explored) == ["  exploration   cost  27.0   tip 0.02   not yet"]


def test_quiet_is_quiet():
    assert shown(Forecast(BAND, 0.005, ON_A_RAIL), result(), quiet=True) == []


def test_names_are_neither_markup_nor_control_characters():
    name = "[bold]p\x1b[2J"
    extremes = [Extreme(name, "m", 1.0, 2.0)]
    risk = Risk(200, 0.5, [RangeRisk(name, 0.5, "above", 1.0)], extremes, extremes)
    text = "\n".join(shown(Forecast(BAND, None, risk), width=200))
    assert text.count("[bold]p\\x1b[2J") == 2
    assert "\x1b" not in text


def test_a_part_that_is_too_long_has_a_line_of_its_own():
    indent = " " * INDENT
    assert hanging("at most", f"a; {'b' * 90}; c", ";", 80).splitlines()[1:] == [f"{indent}{'b' * 90};", f"{indent}c"]


def test_the_examples_are_right():
    assert doctest.testmod(sys.modules[hanging.__module__]).failed == 0


@pytest.mark.parametrize("risk", [CART, ON_A_RAIL])
def test_a_notebook_predicts_a_trial_and_does_not_repeat_it(risk):
    with NotebookDisplay(5, lambda *_, **__: None) as display:
        display.predicted(3, Forecast(BAND, 0.005, risk))
        display.executed(result())
    predicted, reach, executed = repr(display).splitlines()
    ranges = ", leaving p 10 % (below, at about 2.2 s)" if risk.ranges else ""
    assert predicted == f"trial 3: predicted 29.3 (20.0 to 40.0), success 0.5 %{ranges}"
    assert reach == f"at most {risk.reach}"
    assert executed == "trial 3: cost 27.0, success"
