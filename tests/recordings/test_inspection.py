from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import vfpilco
from vfpilco.cli.main import main
from vfpilco.common.text import count, readable, seconds
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.machines.furuta.task import ENCODERS
from vfpilco.recordings import picture
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.inspection import inspect, inspect_recordings
from vfpilco.recordings.logs import read_recording
from vfpilco.recordings.quantisation import find_step
from vfpilco.recordings.suggestion import as_code
from vfpilco.recordings.takeover import settings_from
from vfpilco.storage.trialfile import trial_to_csv
from vfpilco.tasks.exploration import Cosines, FilteredNoise
from vfpilco.tasks.sensors import GaussianNoise, Quantised, TimingJitter
from vfpilco.trials.execute import execute
from vfpilco.trials.plan import Plan

STEP = 2 * np.pi / 4096
H = 1 / 30
RAIL = Path(__file__).parents[2] / "examples/safety/cartpole_on_a_rail.py"
"""A task with a target and a safe range."""


def drive(plant, u: np.ndarray, delay: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, positions and inputs of a plant that gets every input `delay` samples late."""
    late = np.concatenate([np.zeros((delay, u.shape[1])), u])[: len(u)]
    q = np.array([plant.reset(seed), *(plant.step(row) for row in late)])
    return np.arange(len(q)) * H, q, u


def cartpole(seed: int, delay: int, steps: int = 90, noise: float = 1.0):
    plant = CartPole(H, GaussianNoise((1e-3 * noise, 2e-3 * noise)), substeps=4)
    return drive(plant, FilteredNoise().inputs(np.random.default_rng(seed), steps, H, np.array([10.0])), delay, seed)


def furuta(seed: int, delay: int, steps: int = 90, **faults: float):
    plant = Furuta(H, ENCODERS, **faults)
    plant.substeps = 8
    inputs = Cosines(frequencies=(0.5, 5.0), std=0.3).inputs(np.random.default_rng(seed), steps, H, np.array([10.0]))
    return drive(plant, inputs, delay, seed)


@pytest.fixture(scope="module")
def cart() -> Channels:
    return Channels.of(vfpilco.task("cartpole"))


@pytest.fixture(scope="module")
def rotary() -> Channels:
    return Channels.of(vfpilco.task("furuta"))


# -- delay, noise, suggestions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "delay"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)])
def test_cart_pole_delay_noise_and_suggestion(cart, seed, delay):
    seen = inspect(*cartpole(seed, delay), cart)
    assert seen.delay.samples == delay, seen.delay.log_evidence
    assert seen.sampling.rate == pytest.approx(30)
    assert [p.quantisation for p in seen.positions] == [None, None]
    np.testing.assert_allclose([p.noise for p in seen.positions], [1e-3, 2e-3], rtol=0.25)
    suggested = seen.suggestion()
    assert (suggested.m_q, suggested.m_u) == (2, 1 + delay)
    assert isinstance(suggested.sensor, GaussianNoise)
    settings = vfpilco.Settings().replace(m_q=suggested.m_q, m_u=suggested.m_u)
    Plan(vfpilco.task("cartpole"), settings, seed=0, trials=1).check()
    assert list(suggested.reasons) == ["m_q", "m_u", "sensor"]
    assert all(reason.endswith(".") for reason in suggested.reasons.values())


@pytest.mark.parametrize(("seed", "delay"), [(10, 0), (11, 1), (12, 2)])
def test_furuta_with_all_its_faults(rotary, seed, delay):
    seen = inspect(*furuta(seed, delay), rotary)
    assert seen.delay.samples == delay, seen.delay.log_evidence
    assert [p.quantisation.step for p in seen.positions] == pytest.approx([STEP, STEP], rel=1e-4)
    # The plant takes its samples a millisecond early or late, and the time stamps do not show it.
    assert max(p.timing for p in seen.positions) == pytest.approx(1e-3, rel=0.4)


def test_encoders_without_other_faults_are_suggested_as_such(rotary):
    seen = inspect(*furuta(1, 1, latency=0.0, jitter=0.0, coulomb=0.0), rotary)
    assert seen.delay.samples == 1
    suggested = seen.suggestion()
    assert isinstance(suggested.sensor, Quantised)
    assert suggested.sensor.step == pytest.approx((STEP, STEP), rel=1e-4)
    assert "rounding" in suggested.reasons["sensor"]


def test_positions_that_follow_their_command_are_exact_beside_a_camera():
    task = vfpilco.task("ballplate")
    trial = execute(task, task.machine.plant(), task.explorer(0, 0), 0)
    seen = inspect(np.arange(len(trial.q)) * task.machine.sampling_time, trial.q, trial.u, Channels.of(task))
    assert as_code(seen.suggestion().sensor) == "Quantised((0.001, 0.001, 0, 0))" == as_code(task.machine.sensor)


@pytest.mark.parametrize(("machine", "seed"), [(cartpole, 0), (cartpole, 3), (furuta, 1)])
def test_inputs_that_are_logged_one_line_late_are_detected(cart, rotary, machine, seed):
    times, q, u = machine(seed, 0)
    late = np.concatenate([np.zeros((1, 1)), u])
    seen = inspect(times, q, late, cart if machine is cartpole else rotary)
    assert seen.delay.samples == -1, (seen.delay.log_evidence, seen.delay.one_line_late)
    assert "inputs seem to be logged one line late" in seen.delay.sentence
    assert seen.suggestion().m_u == 1
    assert "moved up by one line" in seen.suggestion().reasons["m_u"]


def test_weak_evidence_of_inputs_that_are_logged_late_is_no_delay(rotary):
    times, q, u = furuta(0, 0)
    found = inspect(times, q, np.concatenate([np.zeros((1, 1)), u]), rotary).delay
    assert found.samples is None
    assert "or logged one line late" in found.sentence


def test_settings_are_not_taken_from_inputs_that_are_logged_late(tmp_path):
    _, q, u = cartpole(0, 0)
    late = np.concatenate([np.zeros((1, 1)), u])
    (tmp_path / "late.csv").write_text(trial_to_csv(q, late[:-1], H, ["p", "alpha", "force"]))
    with pytest.raises(vfpilco.UserError, match=r"late\.csv seem to be logged one line late: move them up by one line"):
        settings_from([tmp_path / "late.csv"], vfpilco.task("cartpole"))


def test_settings_from_recordings_are_keyword_arguments_of_learn(tmp_path):
    _, q, u = cartpole(0, 1)
    (tmp_path / "log.csv").write_text(trial_to_csv(q, u, H, ["p", "alpha", "force"]))
    task = vfpilco.task("cartpole")
    found = settings_from([tmp_path / "log.csv"], task)
    assert (found.m_q, found.m_u, type(found.sensor)) == (2, 2, GaussianNoise)
    assert found.keywords() == {"m_q": 2, "m_u": 2, "sensor": found.sensor}
    settings = vfpilco.Settings().replace(**found.keywords())
    assert (settings.state, settings.sensor) == (vfpilco.VelocityFree(m_q=2, m_u=2), found.sensor)


def test_settings_come_from_recordings_whose_columns_have_other_names(tmp_path):
    _, q, u = cartpole(0, 1)
    (tmp_path / "log.csv").write_text(trial_to_csv(q, u, H, ["x", "theta", "force"]))
    task, renamed = vfpilco.task("cartpole"), {"p": "x", "alpha": "theta"}
    assert settings_from([tmp_path / "log.csv"], task, renamed).m_q == 2
    with pytest.raises(vfpilco.UserError, match="no columns called 'p' and 'alpha'"):
        settings_from([tmp_path / "log.csv"], task)


def test_settings_from_recordings_keep_the_timing_jitter_of_the_machine(tmp_path):
    _, q, u = furuta(1, 0)
    (tmp_path / "log.csv").write_text(trial_to_csv(q, u, H, ["arm", "pendulum", "voltage"]))
    task, own = vfpilco.task("furuta"), TimingJitter(ENCODERS, 0.03)
    task = dataclasses.replace(task, machine=dataclasses.replace(task.machine, sensor=own))
    found = settings_from([tmp_path / "log.csv"], task)
    assert found.sensor is not None
    assert found.keywords()["sensor"] == TimingJitter(found.sensor, own.std, own.affected)


@pytest.mark.parametrize("gain", [0.2, 1.0])
def test_inputs_computed_from_the_positions_are_not_logged_late(cart, gain):
    plant = CartPole(H, GaussianNoise((1e-3, 2e-3)), substeps=4)
    q, u = [plant.reset(0)], []
    for t in range(90):
        p, alpha = q[-1]
        speed = (q[-1] - q[max(t - 1, 0)]) / H
        asked = p - np.sin(alpha) + 0.3 * speed @ (1, -1) + 0.8 * np.sin(2.1 * t * H)
        u.append(10 * np.tanh(gain * np.array([asked])))
        q.append(plant.step(u[-1]))
    assert inspect(np.arange(91) * H, np.array(q), np.array(u), cart).delay.samples != -1


def test_the_delay_of_a_recording_without_excitation_is_unknown(cart):
    times, q, u = cartpole(0, 0)
    other = FilteredNoise().inputs(np.random.default_rng(99), 90, H, np.array([10.0]))
    assert inspect(times, q, other, cart).delay.samples is None
    still = inspect(times, q, np.zeros_like(u), cart)
    assert still.delay.samples is None
    assert "cannot be determined: the inputs do not move" in still.delay.sentence
    assert still.suggestion().m_u == 1
    short = inspect(times[:15], q[:15], u[:14], cart)
    assert "cannot be determined: fewer than" in short.delay.sentence
    assert short.suggestion().sensor is None


def test_noise_larger_than_the_movement_needs_more_memory(cart):
    times, q, u = cartpole(3, 0, noise=40)
    assert inspect(times, q, u, cart).suggestion().m_q > 2


def test_gaps_and_missing_values_are_left_out(cart):
    times, q, u = cartpole(1, 1, steps=120)
    q[50] = np.nan
    keep = np.r_[0:90, 94:121]
    seen = inspect(times[keep], q[keep], u[keep[:-1]], cart)
    assert seen.delay.samples == 1
    assert seen.sampling.interval == pytest.approx(H)
    assert seen.sampling.worst < 1e-9


def test_ranges_wraps_limits_and_held_inputs(cart):
    times, q, _ = cartpole(0, 0)
    u = np.repeat(np.linspace(-9, 9, 30)[:, None], 3, axis=0)
    u[:9] = 10.0
    q[:, 1] = np.arctan2(np.sin(q[:, 1] + 8 * times), np.cos(q[:, 1] + 8 * times))
    times = times + 1e-3 * np.sin(np.arange(91))
    seen = inspect(times, q, u, cart)
    assert [p.wraps for p in seen.positions] == [False, True]
    assert (seen.positions[0].low, seen.positions[0].high) == (q[:, 0].min(), q[:, 0].max())
    assert seen.inputs[0].saturated == pytest.approx(np.mean(np.abs(u) >= 9.99))
    assert seen.inputs[0].held == pytest.approx(3, rel=0.15)
    assert seen.sampling.jitter == pytest.approx(np.diff(times).std())


# -- quantisation ------------------------------------------------------------------------------------------------


def wave(seed: int, samples: int = 91) -> np.ndarray:
    rng, t = np.random.default_rng(seed), np.linspace(0, 6, samples)
    return (
        np.sin(t * rng.uniform(0.5, 2) + rng.uniform(0, 6)) + 0.3 * np.sin(5 * t) + 1e-4 * rng.standard_normal(samples)
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", [STEP, 1e-3, 2e-3, 0.05, 2 * np.pi / 2**18])
def test_steps_are_found_and_continuous_values_have_none(seed, step):
    x = wave(seed)
    q = np.round(x / step) * step
    for values in (q, q + 0.3, q.astype(np.float32).astype(float)):
        found = find_step(values)
        assert found is not None
        assert not found.printed
        assert found.step == pytest.approx(step, rel=1e-3)
    assert find_step(x) is None
    assert find_step(x, 1e-16) is None


@pytest.mark.parametrize("seed", range(5))
def test_printed_digits_are_distinguished_from_steps(seed):
    x = wave(seed)
    for digits in (3, 4):
        found = find_step(np.round(x, digits), 10.0**-digits)
        assert found is not None
        assert found.printed
        assert found.step == pytest.approx(10.0**-digits)
    encoder = find_step(np.round(np.round(x / STEP) * STEP, 5), 1e-5)
    assert encoder is not None
    assert not encoder.printed
    assert encoder.step == pytest.approx(STEP, rel=1e-3)
    camera = find_step(np.round(x, 3), 1e-6)
    assert camera is not None
    assert (camera.printed, camera.step) == (False, pytest.approx(1e-3))


def test_too_few_values_have_no_step():
    assert find_step(np.zeros(50)) is None
    assert find_step(np.array([0.0, 1.0, np.nan])) is None


def test_numbers_are_readable():
    assert [count(n, "sample") for n in (0, 1, 21)] == ["0 samples", "1 sample", "21 samples"]
    assert [readable(v) for v in (-0.0, 123456.7, 0.00123456, 12.0)] == ["0", "123457", "0.001235", "12"]
    assert [seconds(v, 3) for v in (4.22, 0.0333333, 1.5e-5, 0.0)] == ["4.22 s", "33.3 ms", "15 µs", "0 s"]


# -- the command -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    for seed in (0, 1):
        _, q, u = cartpole(seed, 1)
        (folder / f"{seed}.csv").write_text(trial_to_csv(q, u, H, ["p", "alpha", "force"]))
    lines = (folder / "0.csv").read_text().splitlines()
    lines[9] = lines[9].replace(",", ",?", 1)
    (folder / "bad.csv").write_text("\n".join(lines))
    return folder


def test_inspect_prints_json_and_draws(files, capsys, tmp_path):
    picture = tmp_path / "picture.png"
    argv = [str(files / "0.csv"), str(files / "1.csv"), "--task", "cartpole", "--json", "--out", str(picture)]
    assert main(["inspect", *argv]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["delay"]["samples"] == 1
    assert printed["suggested"]["m_u"] == 2
    assert printed["suggested"]["sensor"].startswith("GaussianNoise((")
    assert [file["findings"] for file in printed["files"]] == [[], []]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_shows_target_safe_range_and_limits_and_no_legend_covers_data(files, monkeypatch, tmp_path):
    figures = []
    monkeypatch.setattr(picture, "save", lambda figure, file, dpi: figures.append(figure))
    argv = [str(files / "0.csv"), "--task", str(RAIL), "--out", str(tmp_path / "a.png")]
    assert main(["inspect", *argv]) == 0
    (figure,) = figures
    shown = {axis.get_ylabel(): axis.get_legend_handles_labels()[1] for axis in figure.axes}
    assert {"measured", "target"} <= set(shown["p [m]"])
    assert any("safe range" in label for label in shown["p [m]"])
    assert "limit" in shown["force [N]"]
    figure.draw_without_rendering()
    legends = [axis for axis in figure.axes if axis.get_legend() is not None]
    assert len(legends) >= 3
    for axis in legends:
        assert axis.get_legend().get_window_extent().y0 >= axis.get_window_extent().y1


def test_inspect_prints_what_it_guessed_and_what_it_found(files, capsys):
    assert main(["inspect", str(files / "0.csv")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "positions p, alpha; inputs force; angles alpha" in printed
    assert "1 sample, clear" in printed
    assert "m_u 2 Inputs act 1 sample late." in printed


def test_a_file_that_cannot_be_learned_from_is_reported_with_exit_code_2(files, capsys):
    assert main(["inspect", str(files / "bad.csv"), "--task", "cartpole"]) == 2
    printed = capsys.readouterr()
    assert "line 10  p is '?" in printed.out
    assert printed.err.count("\n") == 1
    assert "bad.csv cannot be learned from, it has an error on line 10" in printed.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "FILE"),
        (["nowhere.csv"], "There is no file 'nowhere.csv'"),
        (["nowhere.csv", "--task", "cartpol"], "did you mean 'cartpole'?"),
        (["0.csv", "--task", "cartpole", "--inputs", "u"], "leave out --positions"),
        (["0.csv", "--inputs", "forc"], "did you mean 'force'?"),
        (["0.csv", "--rate", "-1"], "rate must be positive"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(files, capsys, monkeypatch, argv, words):
    monkeypatch.chdir(files)
    assert main(["inspect", *argv]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert words in printed.err


def test_a_recording_reads_and_inspects_alike(files, cart):
    (files / "short.csv").write_text("\n".join((files / "0.csv").read_text().splitlines()[:42]))
    recording = read_recording(files / "short.csv", cart)
    seen = inspect_recordings([recording])
    alone = inspect(recording.times, recording.raw, recording.u, cart)
    assert seen.delay.log_evidence == alone.delay.log_evidence
    assert as_code(seen.suggestion().sensor).startswith("GaussianNoise((0.00")
