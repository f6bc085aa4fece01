"""What `learn` returns: it prints, plots, animates and reports itself."""

from __future__ import annotations

import dataclasses
import io
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import TINY
from rich.console import Console

import vfpilco
from vfpilco.common import compiled, interrupts
from vfpilco.interactive import learn as module
from vfpilco.interactive.notebook import NotebookDisplay
from vfpilco.interactive.terminal import Display
from vfpilco.report.figures import policy_figure
from vfpilco.report.picture import trial_figure
from vfpilco.storage.runfolder import RunFolder

SAMPLE = Path(__file__).parent.parent / "samples" / "run-format4"


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> vfpilco.Result:
    """A finished run of the cart-pole with two trials."""
    return vfpilco.Result.load(shutil.copytree(SAMPLE, tmp_path_factory.mktemp("sample") / "run"))


@pytest.fixture(scope="module")
def learned() -> vfpilco.Result:
    """A tiny run without a folder."""
    return vfpilco.learn("cartpole", settings=vfpilco.Settings().replace(steps=300), **TINY)


# -- text --------------------------------------------------------------------------------------------------------


def test_a_result_prints_as_a_short_table(sample):
    text = str(sample)
    assert text == repr(sample)
    lines = text.splitlines()
    assert len(lines) == 2 + len(sample.rows)
    assert max(map(len, lines)) <= 120
    assert lines[0] == "cartpole, seed 0, 2 trials: no success yet"
    assert lines[1].split() == ["trial", "data", "cost", "predicted", "(95", "%)", "success", "note"]
    assert lines[2].startswith("exploration  0 s   83.9")
    assert "(+1)" in lines[3]


def test_a_notebook_shows_the_table_and_all_notes(sample):
    html = sample._repr_html_()
    assert html.count("<tr>") == 1 + len(sample.rows)
    assert "raise --inducing" in html  # shortened in the table, complete in the tooltip


@pytest.mark.parametrize("part", ["policy", "model", "trials"])
def test_the_parts_of_a_result_are_named_in_a_line(sample, part):
    text = repr(getattr(sample, part))
    assert "\n" not in text
    assert len(text) < 300
    assert "array" not in text


def test_a_data_frame_needs_pandas(sample, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(vfpilco.UserError, match="pip install pandas"):
        sample.to_dataframe()


def test_a_data_frame_has_a_row_per_execution(sample):
    frame = sample.to_dataframe()
    assert frame.trial.isna().tolist() == [True, False, False]
    assert frame.trial[1:].tolist() == [1, 2]
    assert frame.success.dtype == bool
    low, mean, high = (frame[f"predicted_{name}"][1:].to_numpy() for name in ("low", "mean", "high"))
    assert (low < mean).all()
    assert (mean < high).all()


# -- figures -----------------------------------------------------------------------------------------------------


def test_everything_can_be_plotted(sample):
    trial = sample.trials[-1].plot()
    positions = [axis for axis in trial.axes if axis.get_ylabel() in ("p [m]", "alpha [rad]")]
    assert len(positions) == 2
    for axis in positions:
        assert {"measured", "target", "their median"} <= set(axis.get_legend_handles_labels()[1])
    (force,) = [axis for axis in trial.axes if axis.get_ylabel() == "force [N]"]
    assert {line.get_ydata()[0] for line in force.lines if line.get_linestyle() == ":"} == {-10.0, 10.0}
    assert len(sample.plot().axes) == 1
    assert len(sample.policy.plot().axes) == 3  # two positions and a colour bar
    assert len(sample.model.plot().axes) == 2
    assert sample.model.plot()._repr_png_().startswith(b"\x89PNG")


def test_a_machine_with_a_safe_range_shows_it_in_every_plot(sample):
    cart, pole = sample.task.machine.positions
    rail = dataclasses.replace(cart, safe=(float(sample.trials[-1].q[:, 0].min()), 99.0))
    task = dataclasses.replace(
        sample.task, machine=dataclasses.replace(sample.task.machine, positions=(rail, pole)), target=(0.0, np.pi)
    )
    trial = trial_figure(task, sample.trials[-1], sample.rows[-1], sample.predicted(len(sample.rows) - 1))
    policy = policy_figure(sample.policy, sample.trials[-1], (rail, pole), task.machine.inputs, task.targets)
    shown = {axis.get_ylabel(): axis.get_legend_handles_labels()[1] for axis in trial.axes}
    mapped = {axis.get_xlabel(): axis.get_legend_handles_labels()[1] for axis in policy.axes}
    for labels in (shown, mapped):
        assert {"target", "safe range"} <= set(labels["p [m]"])
        assert not any("safe" in label for label in labels["alpha [rad]"])


def test_plots_leave_the_display_of_the_program_alone(sample):
    sample.plot()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_a_plot_without_matplotlib_names_the_command(sample, monkeypatch):
    monkeypatch.setitem(sys.modules, "vfpilco.common.figure", None)
    with pytest.raises(vfpilco.UserError, match=r"pip install 'vfpilco\[plot\]'"):
        sample.plot()


def test_a_film_is_shown_and_saved(sample, tmp_path):
    film = sample.animate(0, fps=2)
    assert film.gif.startswith(b"GIF8")
    assert film._repr_html_().startswith("<img")
    assert film.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


# -- learning ----------------------------------------------------------------------------------------------------


def test_a_name_with_settings_and_single_changes_is_learned(learned):
    assert learned.task.name == "cartpole"
    assert learned.settings.optimiser.steps == TINY["steps"]  # a single setting wins
    assert len(learned.rows) == 2
    assert learned.predicted(0) is None
    assert learned.predicted(1).q.shape[::2] == (91, 2)


def test_a_run_without_a_folder_is_written_later_as_if_it_had_had_one(learned, tmp_path):
    folder = learned.save(tmp_path / "run")
    folder.check()
    again = vfpilco.Result.load(tmp_path / "run")
    assert str(again) == str(learned)
    np.testing.assert_array_equal(again.policy([0.1, 0.2]), learned.policy([0.1, 0.2]))
    with pytest.raises(vfpilco.UserError, match="holds another run"):
        learned.save(tmp_path / "run")
    with pytest.raises(vfpilco.UserError, match="has a folder already"):
        again.save(tmp_path / "other")


def test_a_run_without_a_folder_has_a_report(learned, tmp_path):
    assert learned.report(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_report_goes_to_the_folder_of_the_run(sample):
    assert isinstance(sample.store, RunFolder)
    assert sample.report() == sample.store.path / "report.html"


@pytest.mark.parametrize("wrong", [3, None])
def test_what_is_no_task_is_refused(wrong):
    with pytest.raises(vfpilco.UserError, match=r"the name of a built-in one or the path of a Python file, got"):
        vfpilco.learn(wrong)


def test_a_path_is_a_task_file(tmp_path):
    (tmp_path / "rig").write_text("import vfpilco\ntask = vfpilco.task('cartpole')")
    assert vfpilco.task(tmp_path / "rig").name == "cartpole"


# -- progress ----------------------------------------------------------------------------------------------------


def test_progress_is_shown_where_someone_can_see_it(monkeypatch, capsys):
    watch = vfpilco.Watcher()
    with module.following(2, watch, None) as found:  # the output of a test is not a terminal
        assert found is watch
    with module.following(2, None, True) as found:
        found.note("a note")
    assert "a note" in capsys.readouterr().err
    shown = []
    monkeypatch.setattr(module, "in_notebook", lambda: True)
    monkeypatch.setattr(
        module, "NotebookDisplay", lambda trials: NotebookDisplay(trials, lambda *_, **__: shown.append(1))
    )
    with module.following(2, watch, None) as found:
        assert found.others[1] is watch
    with module.following(2, watch, False) as found:
        assert found is watch
    assert shown == [1]


def test_a_notebook_sees_a_bar_then_the_trials_and_notes(sample):
    updates = []

    class Handle:
        def update(self, display):
            updates.append(display._repr_html_())

    with NotebookDisplay(2, lambda *_, **__: Handle()) as display:
        display.phase(1, "optimising the policy")
        display.step(50, 100, 12.3)
        display.executed(sample.rows[1])
        display.note("<b>careful</b>")
    assert "<progress" in updates[0]
    assert 'value="1.000"' in updates[-2]
    assert "trial 1: cost 60.6, predicted 76.6 (69.6 to 81.8)" in updates[-1]
    assert "&lt;b&gt;careful" in updates[-1]
    assert "<progress" not in updates[-1]


def test_displays_say_that_something_is_compiled_and_that_they_are_stopping():
    def of(display) -> str:
        return repr(display) if isinstance(display, NotebookDisplay) else display.progress.tasks[0].description

    shown = NotebookDisplay(2, lambda *_, **__: None), Display(Console(file=io.StringIO()), 2)
    for display in shown:
        with display:
            display.phase(1, "optimising the policy")
            compiled._announce(True)
            assert "optimising the policy (compiling)" in of(display)
            compiled._announce(False)
            assert "compiling" not in of(display)
            interrupts.announce()
            assert of(display) == "stopping"
        interrupts.announce()  # It no longer listens.
