"""Help texts, advice after a failed run, and the examination of a computer."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import vfpilco
from vfpilco.cli import commands, doctor
from vfpilco.cli.advice import next_steps
from vfpilco.cli.help import REST, SHORT, help_text
from vfpilco.cli.main import main
from vfpilco.data.results import CostBand
from vfpilco.trials.options import Options

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "samples" / "run-format4"
COMMANDS = [module.name for module in pkgutil.iter_modules(commands.__path__)]


def shown(capsys, *argv: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(argv))
    assert not stopped.value.code
    return capsys.readouterr().out


# -- help --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns_and_explains_every_argument(command):
    cls = importlib.import_module(f"{commands.__name__}.{command}").Arguments
    defaults = {"settings": Options()} if command in ("learn", "tell") else {}
    text = help_text(cls, command, defaults, everything=True, width=80)
    assert max(map(len, text.splitlines())) <= 80
    for f in dataclasses.fields(cls):
        if f.name != "settings" and "Positional" not in str(f.type):
            assert f"{f.name.replace('_', '-')}" in text
    assert "VALUE" not in text


def test_the_list_of_commands_is_complete_and_fits_80_columns(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert sorted(re.findall(r"^  vfpilco (\w+)", text, flags=re.M)) == sorted(COMMANDS)


def test_help_shows_what_people_use_and_help_all_the_rest(capsys):
    short, long = shown(capsys, "learn", "--help"), shown(capsys, "learn", "furuta", "--help-all")
    assert re.findall(r"^(\w[\w ]*):$", short, flags=re.M) == ["arguments", *SHORT, "options"]
    assert set(REST) <= set(re.findall(r"^(\w[\w ]*):$", long, flags=re.M))
    assert 12 <= len(re.findall(r"^  (--[\w-]+)", short, flags=re.M)) <= 19
    assert "--kernel" not in short
    assert "--kernel TEXT" in long
    assert "--help-all shows the settings of the method" in " ".join(short.split())
    assert "(default: 6)" in long  # that of the task


def test_every_setting_is_in_one_group():
    listed = [name for names in (*SHORT.values(), *REST.values()) for name in names]
    assert len(set(listed)) == len(listed)
    assert {f.name for f in dataclasses.fields(Options)} <= set(listed)


# -- advice ------------------------------------------------------------------------------------------------------


@pytest.fixture
def failed(tmp_path) -> vfpilco.Result:
    return vfpilco.Result.load(shutil.copytree(SAMPLE, tmp_path / "run"))


def test_after_a_failed_run_more_trials_and_the_report_are_suggested(failed):
    first, *_, last = next_steps(failed, ["my_rig.py", "--plant", "tcp://a:1"], Path("runs/a b"))
    assert first.endswith("learn my_rig.py --plant tcp://a:1 --out 'runs/a b' --resume --trials 5")
    assert last.endswith("report 'runs/a b' --open")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ended_s": 0.5}, "--gentle"),
        ({"cost": 50.0, "predicted_cost": CostBand(50.0, 40.0, 60.0), "success_chance": 0.1}, "fails on the model too"),
        ({"cost": 70.0, "predicted_cost": CostBand(50.0, 40.0, 60.0)}, "did worse than the model predicted"),
    ],
)
def test_the_advice_fits_what_happened(failed, changes, words):
    failed.rows[-1] = dataclasses.replace(failed.rows[-1], **changes)
    assert words in " ".join(next_steps(failed, ["cartpole"], Path("a")))


def test_an_earlier_success_is_named(failed):
    failed.rows[1] = dataclasses.replace(failed.rows[1], success=True)
    assert "evaluate a --trial 1" in " ".join(next_steps(failed, ["cartpole"], Path("a")))


# -- doctor ------------------------------------------------------------------------------------------------------


def test_doctor_says_what_is_there_and_how_to_install_what_is_not(capsys, monkeypatch):
    monkeypatch.setitem(doctor.PARTS, "plot", ("no-such-package", "figures and pictures"))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert f"vfpilco {vfpilco.__version__}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "missing (figures and pictures): pip install 'vfpilco[plot]'" in text
    assert "C compiler          missing" in text
    for part in ("devices", "real-time priority", "kernel", "compilation cache"):
        assert re.search(rf"^{part} ", text, flags=re.M)
    assert main(["doctor", "--json"]) == 0
    found = {row["part"]: row for row in json.loads(capsys.readouterr().out)["findings"]}
    assert found["plot"]["remedy"] == "pip install 'vfpilco[plot]'"
    assert set(doctor.PARTS) <= set(found)


def test_doctor_asks_for_no_ffmpeg_if_a_package_has_it(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda package: "1.0")
    assert "ffmpeg" not in [finding.part for finding in doctor.examine()]


def test_the_parts_are_the_extras_of_the_package():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(doctor.PARTS) == set(extras) - {"dev", "docs"}
    for extra, (package, _) in doctor.PARTS.items():
        assert any(re.match(rf"{package}\b", requirement) for requirement in extras[extra])
