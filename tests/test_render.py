"""Scenes of machines, films, figures and what else is made of a run beside its page."""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vfpilco
from folders import TINY, learn
from vfpilco import tasks
from vfpilco.cli import main
from vfpilco.report import movie
from vfpilco.report.packing import pack, thinned
from vfpilco.report.source import Source
from vfpilco.report.trials import shown_particles
from vfpilco.runfolder import RunFolder
from vfpilco.scenes.generic import instruments
from vfpilco.scenes.perspective import project
from vfpilco.trial import Trial


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("render") / "run"
    assert main(["learn", "cartpole", "--out", str(folder), "--tensorboard", "--open", "--json", *TINY]) == 0
    return folder


def refused(capsys, *argv):
    assert main(list(map(str, argv))) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


# -- scenes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tasks.names())
def test_every_built_in_machine_has_a_scene_that_moves_inside_its_frame(name):
    task = vfpilco.task(name)
    rng = np.random.default_rng(0)
    start = task.reference[0] if task.reference is not None else np.zeros(len(task.positions))
    q = start + 0.1 * rng.standard_normal((7, len(task.positions)))
    assert task.scene is not None
    scene = task.scene(q)
    moving = [shape for shape in scene.shapes if shape.moves]
    assert {shape.role for shape in moving} >= {"body"}
    for shape in moving:
        assert shape.points.shape[0] == 7
        assert shape.points.shape[2] == 2
        assert np.all(shape.points >= np.array(scene.low) - 0.02)
        assert np.all(shape.points <= np.array(scene.high) + 0.02)


def test_the_pole_of_the_scene_is_up_at_half_a_turn():
    scene = vfpilco.task("cartpole").scene(np.array([[0.0, 0.0], [0.2, np.pi]]))
    pole = next(shape for shape in scene.shapes if shape.kind == "line" and shape.moves)
    np.testing.assert_allclose(pole.points, [[[0, 0], [0, -0.5]], [[0.2, 0], [0.2, 0.5]]], atol=1e-12)


def test_the_furuta_pendulum_hangs_below_the_end_of_its_arm_and_keeps_its_length():
    from vfpilco.plants.furuta import Furuta
    from vfpilco.scenes import furuta

    down, up = np.array([0, 0, -Furuta.pendulum_length]), np.array([0, 0, Furuta.pendulum_length])
    end = np.array([0, Furuta.arm_length, 0])
    scene = furuta.scene(np.array([[np.pi / 2, 0.0], [np.pi / 2, -np.pi]]))
    pendulum = [shape for shape in scene.shapes if shape.kind == "line" and shape.moves][1]
    np.testing.assert_allclose(pendulum.points[:, 0], project(np.stack([end, end]), *furuta.VIEW), atol=1e-12)
    np.testing.assert_allclose(
        pendulum.points[:, 1], project(np.stack([end + down, end + up]), *furuta.VIEW), atol=1e-12
    )


def test_a_machine_without_a_scene_has_dials_and_sliders():
    positions = (vfpilco.Position("turn", "rad", angle=True), vfpilco.Position("way", "m"))
    scene = instruments(positions, np.array([[0, 0], [-2.0, 2.0]]))(np.array([[0.0, -2.0], [np.pi / 2, 2.0]]))
    hand = next(shape for shape in scene.shapes if shape.kind == "line" and shape.moves)
    bead = next(shape for shape in scene.shapes if shape.kind == "disc" and shape.moves)
    np.testing.assert_allclose(hand.points[:, 1], [[0, 0.9], [0.9, 0]], atol=1e-12)
    np.testing.assert_allclose(np.diff(bead.points[:, 0], axis=0), [[2, 0]])
    assert [shape.text for shape in scene.shapes if shape.kind == "label"] == ["turn [rad]", "-2", "2", "way [m]"]


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


def test_what_cannot_be_rendered_is_told(run, tmp_path, capsys, monkeypatch):
    assert "neither a picture nor a film" in refused(capsys, "render", run, "--out", tmp_path / "a.txt")
    assert "no trial of policy 9" in refused(capsys, "render", run, "--out", tmp_path / "a.png", "--trial", "9")
    monkeypatch.setattr(movie.shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert "pip install 'vfpilco[video]'" in refused(capsys, "render", run, "--out", tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


def test_figures_for_papers(run, tmp_path, capsys):
    out = tmp_path / "a.html"
    assert main(["report", str(run), "--out", str(out), "--figures", "pdf", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == str(out)
    assert [file.rsplit("/", 1)[1] for file in said["figures"]] == ["cost.pdf", "trial-1.pdf", "one-step-errors.pdf"]
    for file in said["figures"]:
        assert Path(file).read_bytes().startswith(b"%PDF-")


# -- while it learns ---------------------------------------------------------------------------------------------


def test_learning_leaves_a_page_and_scalars(run):
    assert b'"live":null' in (run / "report.html").read_bytes()
    events = next((run / "tensorboard").iterdir()).read_bytes()
    for name in (b"cost/real", b"cost/predicted_mean", b"optimisation/trial_1", b"one_step_error/p", b"trial"):
        assert name in events


def test_without_a_screen_it_is_told_where_the_page_is(tmp_path, capsys, monkeypatch):
    from vfpilco.report import live

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


def test_a_page_that_cannot_be_written_is_noted_and_learning_goes_on(tmp_path, monkeypatch, capsys):
    import vfpilco.commands.learn as command

    def broken(*_, **__):
        raise ValueError("no ink")

    monkeypatch.setattr(command, "write_report", broken)
    assert main(["learn", "cartpole", "--out", str(tmp_path / "a"), "--json", *TINY]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] is None
    assert "There is no report: ValueError: no ink" in said["notes"]


def test_without_report_there_is_none(tmp_path, monkeypatch):
    import vfpilco.commands.learn as command

    monkeypatch.setattr(command, "write_report", lambda *_, **__: pytest.fail("a report was asked for"))
    assert learn(tmp_path / "a", *TINY) == 0
    assert main(["learn", "cartpole", "--out", str(tmp_path / "b"), "--no-report", "--json", *TINY]) == 0


def test_reports_refuse_what_they_cannot_show(run, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"results": 3}\n')
    assert "Line 1 of" in refused(capsys, "report", tmp_path / "a.jsonl")
    assert "holds no run" in refused(capsys, "report", tmp_path)
    assert "Figures are of one run" in refused(capsys, "report", run, run, "--figures", "pdf")


# -- parts -------------------------------------------------------------------------------------------------------


def test_packed_numbers_are_exact_to_a_screen():
    array = np.random.default_rng(0).standard_normal((3, 5))
    array[1, 2] = np.nan
    packed = pack(array)
    whole = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(packed["shape"])
    found = np.where(whole == 65535, np.nan, packed["low"] + packed["step"] * whole)
    np.testing.assert_allclose(found, array, atol=np.ptp(array[np.isfinite(array)]) / 65534)
    assert pack(np.full(3, 2.0))["low"] == 2.0
    assert pack(np.full(3, np.nan))["step"] == 0.0


def test_thinning_keeps_both_ends():
    assert thinned(1000, 5).tolist() == [0, 250, 500, 749, 999]
    assert thinned(3, 5).tolist() == [0, 1, 2]


def test_the_particle_shown_first_began_where_the_machine_did():
    start = np.linspace(-1, 1, 40)
    q = np.zeros((4, 40, 1)) + start[:, None]
    chosen = shown_particles(q, np.zeros((4, 40)), np.array([0.5]), 6)
    assert len(chosen) == 7
    assert abs(start[chosen[0]] - 0.5) < 0.15


def test_inputs_after_histories_are_those_of_the_policy_called_sample_by_sample(run):
    policy = RunFolder(run).policy()
    histories = 0.5 * np.random.default_rng(1).standard_normal((5, 4, 2))
    for history, found in zip(histories, policy.after(histories), strict=True):
        policy.reset()
        np.testing.assert_allclose([policy(q) for q in history][-1], found, atol=1e-12)


def test_a_run_can_be_made_again_by_its_command(run):
    source = Source(RunFolder(run), vfpilco.task("cartpole"))
    flags = "--inducing 16 --particles 4 --basis-functions 5 --steps 12"
    assert source.command == f"vfpilco learn cartpole --seed 0 --trials 1 {flags}"
    assert isinstance(source.trial(0), Trial)
