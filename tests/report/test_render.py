"""Films, figures and everything else that is made from a run beside its page."""

import base64
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import TINY_FLAGS, learn
from PIL import Image
from rich.console import Console

from vfpilco.cli import display, outputs
from vfpilco.cli.display import FilmProgress
from vfpilco.cli.main import main
from vfpilco.common.thinning import thinned
from vfpilco.data.trial import Trial
from vfpilco.report import live, movie
from vfpilco.report.packing import pack
from vfpilco.report.source import Source
from vfpilco.rollout.particles import Rollout
from vfpilco.rollout.typical import typical_particles
from vfpilco.storage.runfolder import RunFolder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("render") / "run"
    assert main(["learn", "cartpole", "--out", str(folder), "--tensorboard", "--open", "--json", *TINY_FLAGS]) == 0
    return folder


def refused(capsys, *argv):
    assert main(list(map(str, argv))) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


# -- films, pictures, figures ------------------------------------------------------------------------------------


def test_a_film_has_every_moment_and_a_picture_is_one(run, tmp_path):
    film, still = tmp_path / "a.gif", tmp_path / "a.png"
    assert main(["render", str(run), "--out", str(film), "--fps", "3", "--no-predicted"]) == 0
    with Image.open(film) as image:
        assert image.n_frames > 5
        first = np.array(image.convert("RGB"))
        image.seek(4)
        assert np.any(np.array(image.convert("RGB")) != first)
    assert main(["render", str(run), "--out", str(still), "--trial", "1"]) == 0
    with Image.open(still) as image:
        assert image.size[0] == 1260
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gif", "a.png"]


def test_the_clock_of_a_film_shows_the_time_of_the_sample(run, task):
    film = movie.film_of_run(Source(RunFolder(run), task), 1)
    shown = []
    for sample in (0, 45, film.samples - 1):
        film.show(sample)
        shown.append(film.clock.get_text())
    movie.close(film.figure)
    assert shown == ["0.00 s", "1.50 s", "3.00 s"]


def test_the_bar_of_a_film_counts_frames_where_someone_can_see_it(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(display, "Console", lambda **_: Console(file=screen, force_terminal=True, width=80))
    with FilmProgress() as drawn:
        drawn(3, 12)
        drawn(12, 12)
    assert "drawing" in screen.getvalue()
    assert "12 of 12 frames" in screen.getvalue()
    before = screen.getvalue()
    with FilmProgress(quiet=True) as drawn:
        drawn(1, 2)
    assert screen.getvalue() == before


def test_what_cannot_be_rendered_is_reported(run, tmp_path, capsys, monkeypatch):
    assert "neither a picture nor a film" in refused(capsys, "render", run, "--out", tmp_path / "a.txt")
    assert "no trial of policy 9" in refused(capsys, "render", run, "--out", tmp_path / "a.png", "--trial", "9")
    monkeypatch.setattr(movie.shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert "pip install 'vfpilco[video]'" in refused(capsys, "render", run, "--out", tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_figures_for_papers(run, tmp_path, capsys):
    out = tmp_path / "a.html"
    assert main(["report", str(run), "--out", str(out), "--figures", "pdf", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["report"] == str(out)
    assert [file.rsplit("/", 1)[1] for file in output["figures"]] == ["cost.pdf", "trial-1.pdf", "one-step-errors.pdf"]
    for file in output["figures"]:
        assert Path(file).read_bytes().startswith(b"%PDF-")


# -- while it learns ---------------------------------------------------------------------------------------------


def test_learning_writes_a_page_and_scalars(run):
    assert b'"live":null' in (run / "report.html").read_bytes()
    events = next((run / "tensorboard").iterdir()).read_bytes()
    for name in (b"cost/real", b"cost/predicted_mean", b"optimisation/trial_1", b"one_step_error/p", b"trial"):
        assert name in events


def test_without_a_screen_a_note_says_where_the_page_is(tmp_path, capsys, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(live.sys, "platform", "linux")
    notes = []
    live.show(tmp_path / "report.html", notes.append)
    assert notes == [f"There is no screen to open the report on: it is {tmp_path / 'report.html'}."]
    opened = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(live.webbrowser, "open", lambda address: opened.append(address) or True)
    live.show(tmp_path / "report.html", notes.append)
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_a_page_that_cannot_be_written_is_noted_and_learning_continues(tmp_path, monkeypatch, capsys):
    def broken(*_, **__):
        raise ValueError("no ink")

    monkeypatch.setattr(outputs, "write_report", broken)
    assert main(["learn", "cartpole", "--out", str(tmp_path / "a"), "--json", *TINY_FLAGS]) == 0
    output = json.loads(capsys.readouterr().out)
    assert output["report"] is None
    assert "There is no report: ValueError: no ink" in output["notes"]


def test_without_report_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "write_report", lambda *_, **__: pytest.fail("a report was written"))
    assert learn(tmp_path / "a", *TINY_FLAGS) == 0
    assert main(["learn", "cartpole", "--out", str(tmp_path / "b"), "--no-report", "--json", *TINY_FLAGS]) == 0


def test_reports_refuse_what_they_cannot_show(run, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"results": 3}\n')
    assert "damaged in line 1" in refused(capsys, "report", tmp_path / "a.jsonl")
    assert "holds no run" in refused(capsys, "report", tmp_path)
    assert "Figures are of one run" in refused(capsys, "report", run, run, "--figures", "pdf")


# -- parts -------------------------------------------------------------------------------------------------------


def test_packed_numbers_are_exact_to_a_screen():
    array = np.random.default_rng(0).standard_normal((3, 5))
    array[1, 2] = np.nan
    packed = pack(array)
    codes = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(packed["shape"])
    found = np.where(codes == 65535, np.nan, packed["low"] + packed["step"] * codes)
    np.testing.assert_allclose(found, array, atol=np.ptp(array[np.isfinite(array)]) / 65534)
    assert pack(np.full(3, 2.0))["low"] == 2.0
    assert pack(np.full(3, np.nan))["step"] == 0.0


def test_thinning_keeps_both_ends():
    assert thinned(1000, 5).tolist() == [0, 250, 500, 749, 999]
    assert thinned(3, 5).tolist() == [0, 1, 2]


def test_the_particle_shown_first_started_where_the_machine_did():
    start = np.linspace(-1, 1, 40)
    q = np.zeros((4, 40, 1)) + start[:, None]
    chosen = typical_particles(Rollout(q, np.zeros((3, 40, 1)), np.zeros((4, 40))), np.array([0.5]), 6)
    assert len(chosen) == 7
    assert abs(start[chosen[0]] - 0.5) < 0.15


def test_inputs_after_histories_are_those_of_the_policy_called_sample_by_sample(run):
    policy = RunFolder(run).policy()
    histories = 0.5 * np.random.default_rng(1).standard_normal((5, 4, 2))
    for history, found in zip(histories, policy.after(histories), strict=True):
        policy.reset()
        np.testing.assert_allclose([policy(q) for q in history][-1], found, atol=1e-12)


def test_the_command_of_a_run_repeats_it(run, task):
    source = Source(RunFolder(run), task)
    flags = "--particles 4 --steps 12 --kernel se --noise white --inducing 32 --policy rbf "
    flags += "--basis-functions 5 --m-q 2 --m-u 1"
    assert source.command == f"vfpilco learn cartpole --seed 0 --trials 1 {flags}"
    assert isinstance(source.trial(0), Trial)
