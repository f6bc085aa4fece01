"""The script that redraws the paper's main figure from the committed records."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("main_figure", ROOT / "examples/main_figure.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def shown(script):
    return script.records_by_configuration()


def test_the_rates_are_those_of_the_committed_table(script, shown):
    page = (ROOT / "docs/results/cartpole-memory.md").read_text()
    for group in shown:
        row = re.search(rf"^\| {group.name} \| \d+ \| (.*) \|$", page, flags=re.M)
        assert row is not None
        cells = [f"{rate:.0f} ({low:.0f} to {high:.0f})" for rate, low, high in script.success_rates(group).T]
        assert row.group(1).split(" | ") == cells


def test_the_figure_shows_every_configuration(script, shown, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(script, "save", lambda figure, file, dpi: drawn.append(figure))
    script.draw(shown, tmp_path / "success.png")
    (axis,) = drawn[0].axes
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    assert sorted(legend) == sorted([*(group.label for group in shown), "published"])
