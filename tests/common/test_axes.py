"""What axes show beside data, and that legends cover none of it."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.common.axes import draw_across, draw_limit, draw_range, draw_target, legend_above
from vfpilco.common.plotting import new_figure


@pytest.fixture
def axis():
    """An axis with data between 0 and 2, over the same."""
    figure = new_figure(4, 3)
    axis = figure.subplots()
    axis.plot([0, 2], [0, 2], label="measured")
    axis.set_xlim(0, 2)
    axis.set_ylim(0, 2)
    return axis


def labels(axis) -> list[str]:
    return axis.get_legend_handles_labels()[1]


def upright(axis) -> list[float]:
    return [float(line.get_xdata()[0]) for line in axis.lines[1:] if len(set(line.get_xdata())) == 1]


def test_a_target_is_drawn_where_it_is_known(axis):
    draw_target(axis, np.full(3, np.nan), 0.1, angle=False)
    assert len(axis.lines) == 1
    draw_target(axis, np.array([np.nan, 1.0, 1.5]), 0.1, angle=False)
    assert labels(axis) == ["measured", "target"]


def test_targets_of_an_angle_are_drawn_every_full_turn(axis):
    axis.set_ylim(-7, 7)
    draw_target(axis, np.full(3, np.pi), 0.1, angle=True)
    assert [line.get_ydata()[0] for line in axis.lines[1:]] == pytest.approx([-np.pi, np.pi])


def test_ends_of_a_range_are_drawn_if_they_are_near_the_data(axis):
    draw_range(axis, (-1.0, 9.0))
    assert [line.get_ydata()[0] for line in axis.lines[1:]] == [-1.0]
    draw_range(axis, (-np.inf, 90.0), "track")
    assert labels(axis) == ["measured", "safe range", "track -inf to 90"]
    assert axis.get_ylim()[1] < 10


def test_limits_are_named_once(axis):
    draw_limit(axis, 3.0)
    assert [line.get_ydata()[0] for line in axis.lines[1:]] == [-3.0, 3.0]
    assert labels(axis) == ["measured", "limit"]


def test_lines_of_the_position_on_the_horizontal_axis_leave_its_range_alone(axis):
    draw_across(axis, 1.0, (0.5, 9.0), angle=False)
    assert upright(axis) == [1.0, 0.5]
    assert labels(axis) == ["measured", "target", "safe range"]
    assert axis.get_xlim() == (0, 2)


def test_what_is_outside_the_horizontal_axis_is_not_drawn(axis):
    draw_across(axis, np.pi, (-9.0, 9.0), angle=True)
    draw_across(axis, np.nan, None, angle=False)
    assert upright(axis) == []
    assert labels(axis) == ["measured", "safe range -9 to 9"]


@pytest.mark.parametrize("title", ["", "a title"])
def test_a_legend_is_above_the_axes(axis, title):
    draw_limit(axis, 3.0)
    legend_above(axis, title=title)
    axis.figure.draw_without_rendering()
    legend = axis.get_legend()
    assert legend.get_window_extent().y0 >= axis.get_window_extent().y1
    assert legend.get_title().get_text() == title


def test_without_labels_there_is_only_a_title():
    axis = new_figure(4, 3).subplots()
    legend_above(axis)
    legend_above(axis, title="a title")
    assert axis.get_legend() is None
    assert axis.get_title(loc="left") == "a title"
