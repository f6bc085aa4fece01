"""FMUs as plants."""

from __future__ import annotations

import dataclasses
import json
import sys
import zipfile
from pathlib import Path

import fmus
import numpy as np
import pytest
from folders import one_sentence
from variants import variant

import vfpilco
from vfpilco.cli.main import main
from vfpilco.data.failures import PlantError
from vfpilco.machines.runs import on_plant
from vfpilco.plants.fmu import FMUPlant, open_fmu
from vfpilco.tasks import file as taskfile
from vfpilco.tasks.plant import Closeable, EndsEarly, KnowsPositions, Plant
from vfpilco.trials.execute import connect, execute

TASK = """
import jax.numpy as jnp
import vfpilco

task = vfpilco.Task(
    name="slide",
    machine=vfpilco.Machine(
        plant="fmu:rig.fmu?mass=4",
        positions=(vfpilco.Position("x", "m"),),
        inputs=(vfpilco.Input("force", "N", limit=5.0, variable="drive.force"),),
        sampling_time=0.05,
        sensor=vfpilco.GaussianNoise((1e-3,)),
    ),
    horizon=30,
    cost=lambda q: 1 - jnp.exp(-((q[..., 0] - 1) ** 2)),
    start=vfpilco.GaussianStart(mean=(0.5,), std=(0.1,)),
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fmu")
    fmus.build(folder / "rig.fmu", 2)
    fmus.build(folder / "rig3.fmu", 3)
    (folder / "slide.py").write_text(TASK)
    return folder


@pytest.fixture
def slide(folder):
    return taskfile.load(folder / "slide.py")


def changed(task, **fields):
    """The task with changes of its only position or input."""
    position = {name: value for name, value in fields.items() if name in ("unit", "variable", "angle")}
    inputs = {name: value for name, value in fields.items() if name in ("limit", "input_variable")}
    inputs = {"variable" if name == "input_variable" else name: value for name, value in inputs.items()}
    machine = task.machine
    return variant(
        task,
        positions=(dataclasses.replace(machine.positions[0], **position),),
        inputs=(dataclasses.replace(machine.inputs[0], **inputs),),
    )


@pytest.mark.parametrize("name", ["rig.fmu", "rig3.fmu"])
def test_an_fmu_is_simulated_as_its_equations_say(folder, slide, name):
    plant = open_fmu(f"{folder / name}?mass=4&damping=0.5", slide)
    for protocol in (Plant, EndsEarly, KnowsPositions, Closeable):
        assert isinstance(plant, protocol)
    inputs = np.sin(np.arange(40))[:, None]
    for seed in (3, 4):  # the second time after a reset
        measured = [plant.reset(seed)]
        x, v, h, due = plant.true_positions[0], 0.0, 0.05, []
        assert abs(x - 0.5) < 0.5
        true = []
        for u in 5 * inputs:
            measured.append(plant.step(u))
            a = (u[0] - 0.5 * v) / 4
            x, v = x + h * v + h * h / 2 * a, v + h * a
            due.append(x)
            true.append(plant.true_positions[0])
        np.testing.assert_allclose(true, due, rtol=1e-12)
        noise = np.ravel(measured)[1:] - due
        assert 5e-4 < noise.std() < 2e-3
    first = plant.reset(3)
    assert first[0] == plant.reset(3)[0] != plant.reset(4)[0]
    unpacked = Path(plant.folder)
    plant.close()
    assert not unpacked.exists()


def test_the_task_names_the_fmu_next_to_its_file_and_its_start_values(slide):
    plant = connect(slide)
    assert isinstance(plant, FMUPlant)
    trial = execute(slide, plant, lambda q: np.array([4.0]), 0)
    assert trial.steps == 30
    assert trial.true[-1, 0] - trial.true[0, 0] == pytest.approx(0.5 * 1.5**2, rel=1e-9)  # 4 N on 4 kg for 1.5 s


def test_a_variable_in_another_unit_is_converted(folder, slide):
    plant = open_fmu(str(folder / "rig.fmu"), changed(slide, unit="rad", angle=True, variable="angle"))
    plant.reset(0)
    plant.step(np.array([5.0]))
    assert plant.true_positions[0] == pytest.approx(np.pi / 2 * 0.5 * 0.05**2 * 2.5)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"variable": "y"},
            "no variable of .*rig.fmu called 'y': choose one of angle, x. Name that of 'x' with variable=",
        ),
        ({"input_variable": "drive.fore"}, "did you mean 'drive.force'"),
        ({"unit": "mm"}, "x of .*rig.fmu is in m, but 'x' in mm: use the same unit"),
        (
            {"variable": "mass"},
            "mass of .* has the causality parameter and the type Real, but position 'x' needs an output",
        ),
        (
            {"input_variable": "x"},
            "x of .* has the causality output and the type Real, but input 'force' needs an input",
        ),
        ({"limit": 9.0}, "takes drive.force up to 8, got a limit of 9: lower it"),
    ],
)
def test_an_fmu_that_does_not_fit_the_task_is_refused(folder, slide, fields, words):
    with pytest.raises(vfpilco.UserError, match=words) as error:
        open_fmu(str(folder / "rig.fmu"), changed(slide, **fields))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("mas=4", "did you mean 'mass'"),
        ("mass=heavy", "must be a number, got 'heavy'"),
        ("angle=1", "angle of .* takes no start value"),
    ],
)
def test_a_start_value_that_cannot_be_set_is_refused(folder, slide, values, words):
    with pytest.raises(vfpilco.UserError, match=words):
        open_fmu(f"{folder / 'rig.fmu'}?{values}", slide)


def test_files_that_cannot_be_simulated_are_refused(folder, slide, tmp_path, monkeypatch):
    (tmp_path / "text.fmu").write_text("no archive")
    with zipfile.ZipFile(tmp_path / "exchange.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", fmus.description(2, "ModelExchange"))
    with zipfile.ZipFile(tmp_path / "elsewhere.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", fmus.description(2))
        archive.writestr("binaries/win32/rig.dll", b"")
    for name, words in {
        "text.fmu": "is not an FMU",
        "exchange.fmu": "export it as a co-simulation FMU",
        "elsewhere.fmu": "runs on win32, not on",
        "none.fmu": "There is no FMU",
        "": "There is no FMU",
    }.items():
        with pytest.raises(vfpilco.UserError, match=words) as error:
            open_fmu(str(tmp_path / name) if name else "", slide)
        assert "\n" not in str(error.value)
    monkeypatch.setitem(sys.modules, "fmpy", None)
    with pytest.raises(vfpilco.UserError, match=r"pip install 'vfpilco\[fmi\]'"):
        open_fmu(str(folder / "rig.fmu"), slide)


@pytest.mark.parametrize("name", ["rig.fmu", "rig3.fmu"])
def test_an_fmu_may_end_a_trial_and_its_failure_is_reported(folder, slide, name):
    plant = open_fmu(f"{folder / name}?x=99.9", slide)
    plant.reset(0)
    while not plant.terminated:
        plant.step(np.array([5.0]))
    assert 100 < plant.true_positions[0] < 101
    plant = open_fmu(f"{folder / name}?x=201", slide)
    plant.reset(0)
    with pytest.raises(PlantError, match=r"rig3?.fmu failed at 0 s"):
        plant.step(np.array([5.0]))


def test_the_command_line_takes_an_fmu(folder, capsys, tmp_path):
    (tmp_path / "slide.py").write_text(TASK.replace('plant="fmu:rig.fmu?mass=4"', "plant=None"))
    address = f"fmu:{folder / 'rig3.fmu'}?mass=3"
    command = ["learn", str(tmp_path / "slide.py"), "--dry-run", "--json", "--plant"]
    assert main([*command, address]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 30
    assert main([*command, "fmu:none.fmu"]) == 2
    assert "There is no FMU 'none.fmu'" in one_sentence(capsys.readouterr().err)
    assert main([*command, "fmi:none.fmu"]) == 2
    assert "gym:ID or fmu:FILE" in one_sentence(capsys.readouterr().err)


def test_a_run_folder_alone_never_starts_an_fmu(slide):
    class Folder:
        def header(self):
            return type("Header", (), {"plant": "fmu:evil.fmu"})

    with pytest.raises(vfpilco.UserError, match=r"so name it with --plant fmu:evil\.fmu"):
        on_plant(slide, None, Folder(), print)  # type: ignore[arg-type]
