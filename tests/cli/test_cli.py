import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from folders import TINY_FLAGS

import vfpilco
from vfpilco.cli.main import main
from vfpilco.exports import check as checking
from vfpilco.trials.options import Options


def refuse(capsys, argv):
    """Run a command that must fail with one sentence and exit code 2."""
    code = main(argv)
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    assert said.err.startswith("vfpilco: ")
    assert said.err.count("\n") == 1
    return said.err


def test_tasks_and_version(capsys):
    assert main(["tasks"]) == 0
    listed = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert listed["cartpole"].startswith("swing a pole up")
    assert listed.keys() == {"ballplate", "ballplate-rough", "cartpole", "furuta", "ur5"}
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"vfpilco {vfpilco.__version__}\n"


def test_help_shows_every_setting_with_its_default(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["learn", "cartpole", "--help-all"])
    assert stopped.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for field in dataclasses.fields(Options):
        assert f"--{field.name.replace('_', '-')}" in text
    assert "(default: constant-velocity)" in text


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run made by the real program."""
    folder = tmp_path_factory.mktemp("cli") / "a"
    command = [sys.executable, "-m", "vfpilco", "learn", "cartpole", "--seed", "3", "--out", str(folder), "--json"]
    done = subprocess.run([*command, *TINY_FLAGS], capture_output=True, text=True, timeout=300, check=True)
    return folder, json.loads(done.stdout)


def test_learn_json_and_run_folder(run):
    folder, said = run
    assert said["run"] == str(folder)
    assert [row["kind"] for row in said["results"]] == ["explore", "policy"]
    assert Path(said["pictures"][0]).read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "run.json").read_text())["settings"]["policy"]["basis_functions"] == 5


def test_evaluate_prints_rate_and_cost(run, capsys):
    folder, _ = run
    assert main(["evaluate", str(folder), "--episodes", "3", "--trial", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["episodes"] == len(found["costs"]) == 3
    assert len(set(found["costs"])) == 3
    assert main(["evaluate", str(folder), "--episodes", "2"]) == 0
    assert "of 2 episodes succeeded" in capsys.readouterr().out


@pytest.mark.parametrize("to", ["c", "onnx", "numpy"])
def test_export_writes_a_program_that_agrees(run, to, capsys, tmp_path, monkeypatch):
    folder, _ = run
    assert checking.HISTORIES == 10_000
    expected = 1000 if to == "c" else 400  # all of them take seconds
    monkeypatch.setattr(checking, "HISTORIES", expected)
    command = ["export", str(folder), "--to", to, "--out"]
    assert main([*command, str(tmp_path / "a"), "--check", "--trial", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["export"] == str(tmp_path / "a")
    assert said["check"]["histories"] == expected
    assert said["check"]["trial_samples"] == 91
    assert max(said["check"]["error"], said["check"]["trial_error"]) < 1e-6
    assert main([*command, str(tmp_path / "b")]) == 0
    assert f"{tmp_path / 'b'}: README.md, policy" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "trials"), [("cartpole", 5), ("ur5", 3), ("furuta", 6)])
def test_a_task_has_its_own_number_of_trials(name, trials, capsys):
    with pytest.raises(SystemExit):
        main(["learn", name, "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert f"How many policies to learn and run on the plant. (default: {trials})" in said


def test_human_display_ends_with_table_and_places(tmp_path, capfd):
    assert main(["learn", "cartpole", "--out", str(tmp_path / "a"), *TINY_FLAGS]) == 0
    output = capfd.readouterr().out
    assert "predicted cost (95 % band)" in output
    assert f"run       {tmp_path / 'a'}\n" in output
    assert main(["learn", "cartpole", "--out", str(tmp_path / "b"), *TINY_FLAGS, "--quiet"]) == 0
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--m-q", "0"], "m_q must be an integer of at least 1, got 0"),
        (["--m-u", "-1"], "m_u must be"),
        (["--particles", "0"], "particles must be"),
        (["--particles", "25"], "shards must divide particles"),
        (["--trials", "0"], "trials must be"),
        (["--dropout", "1.5"], "dropout must be"),
        (["--learning-rate", "nan"], "learning_rate must be"),
        (["--m-q", "200"], "does not fit in a trial of 90 samples"),
        (["--seed", "-1"], "seed must be"),
    ],
)
def test_bad_settings_are_refused_and_nothing_is_written(capsys, tmp_path, flags, words):
    assert words in refuse(capsys, ["learn", "cartpole", *flags, "--out", str(tmp_path / "a")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["learn"], "Missing from vfpilco learn: TASK"),
        (["learn", "cartpole", "--particle", "3"], "did you mean '--particles'?"),
        (["learn", "cartpole", "--particles", "1e3"], "--particles: an integer is needed, got '1e3'"),
        (["learn", "cartpole", "--kernel", "rbf"], "no kernel called 'rbf'"),
        (["learn", "cartpole", "--kernel", "se(rate)"], "did you mean 'rates'"),
        (["learn", "cartpole", "--kernel", "se *"], "cannot be parsed"),
        (["learn", "cartpole", "--seed", "9" * 30], "seed must be an integer of at most"),
        (["learn", "cartpole", "--out", "/proc/x", "--trials", "1"], "/proc/x cannot be used"),
        (["learn", "cartpole", "--columns", "p=x"], "name these with --inspected"),
        (["evaluate"], "Missing from vfpilco evaluate: RUN"),
        (["tasks", "x"], "Unrecognized options: x"),
    ],
)
def test_bad_arguments_are_reported_in_one_sentence(capsys, argv, words):
    assert words in refuse(capsys, argv)


def test_unknown_names_suggest_the_right_one(capsys):
    assert "did you mean 'cartpole'?" in refuse(capsys, ["learn", "cartpol"])
    assert "did you mean 'learn'?" in refuse(capsys, ["lern", "cartpole"])


def test_a_folder_in_use_is_refused(run, capsys, tmp_path):
    folder, _ = run
    before = {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    assert "holds another run" in refuse(capsys, ["learn", "cartpole", "--out", str(folder)])
    assert {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()} == before
    (tmp_path / "file").write_text("mine")
    assert "is not empty" in refuse(capsys, ["learn", "cartpole", "--out", str(tmp_path)])
    assert "is a file" in refuse(capsys, ["learn", "cartpole", "--out", str(tmp_path / "file")])


def test_evaluate_refuses_what_is_not_a_run(run, capsys, tmp_path):
    folder, _ = run
    assert "holds no run" in refuse(capsys, ["evaluate", str(tmp_path)])
    assert "no policy of trial 9: it has [1]" in refuse(capsys, ["evaluate", str(folder), "--trial", "9"])
    assert "episodes must be" in refuse(capsys, ["evaluate", str(folder), "--episodes", "0"])
    (tmp_path / "run.json").write_text("{\n")
    assert "run.json is damaged or was not written by vfpilco" in refuse(capsys, ["evaluate", str(tmp_path)])
    (tmp_path / "run.json").write_text('{"format": 99}\n')
    assert "its format is 99, this version reads 3, 4 and 5" in refuse(capsys, ["evaluate", str(tmp_path)])


@pytest.mark.long
def test_the_wheel_works_outside_the_checkout(tmp_path):
    root = Path(__file__).parents[2]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(tmp_path),
            str(root),
        ],
        check=True,
        capture_output=True,
        timeout=300,
    )
    wheel = next(tmp_path.glob("vfpilco-*.whl"))
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path / "site"), str(wheel)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    learn = ["learn", "cartpole", "--out", "run", "--quiet", *TINY_FLAGS]
    code = f"import vfpilco, sys; from vfpilco.cli.main import main; print(vfpilco.__file__); sys.exit(main({learn}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith(str(tmp_path / "site"))
    assert (tmp_path / "run/policy.safetensors").exists()
