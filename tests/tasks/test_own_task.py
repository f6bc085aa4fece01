import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import vfpilco
from vfpilco import envs
from vfpilco.tasks import file as taskfile
from vfpilco import machines as tasks
from vfpilco.cli.main import main
from vfpilco.trials.dryrun import dry_run
from vfpilco.common.errors import number_tuple
from vfpilco.trials.execute import connect, execute
from vfpilco.plants.gym import GymPlant
from vfpilco.storage.runfolder import RunFolder

EXAMPLES = Path(__file__).parent.parent / "examples"
TINY = ["--trials", "1", "--steps", "4", "--particles", "4", "--basis-functions", "5", "--inducing", "16"]


def refuse(capsys, argv):
    """Run a command that must fail with one sentence and exit code 2."""
    code = main([str(word) for word in argv])
    said = capsys.readouterr()
    assert code == 2
    assert said.err.count("\n") == 1
    return said.err


# -- task files --------------------------------------------------------------------------------------------------


def test_the_starting_point_is_written_once_and_learns_as_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "my_rig.py"]) == 0
    assert "vfpilco learn my_rig.py" in capsys.readouterr().out
    before = Path("my_rig.py").read_bytes()
    assert "exists already" in refuse(capsys, ["new", "my_rig.py"])
    assert Path("my_rig.py").read_bytes() == before
    assert main(["learn", "my_rig.py", "--out", "run", "--json", *TINY]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in said["results"]] == ["explore", "policy"]
    header = RunFolder("run").header()
    assert header["task_file"] == str(tmp_path / "my_rig.py")
    assert header["settings"]["particles"] == 4
    assert header["settings"]["dropout"] == 0.25
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    assert "of 2 episodes" in capsys.readouterr().out
    Path("my_rig.py").rename("moved.py")
    assert "is not there: name its file with --task" in refuse(capsys, ["evaluate", "run"])
    assert main(["evaluate", "run", "--episodes", "2", "--task", "moved.py"]) == 0


def test_the_settings_of_a_task_file_are_the_defaults_of_the_command_line(tmp_path, capsys):
    assert main(["new", str(tmp_path / "my_rig.py")]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["learn", str(tmp_path / "my_rig.py"), "--help"])
    assert "(default: 500)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("task = 3\n", "has no task"),
        ("x = 1\n", "has no task"),
        ("\n\nimport nothing_like_this\n", "failed in line 3 (ModuleNotFoundError"),
        ("def task():\n    return 1 / 0\n", "failed in line 2 (ZeroDivisionError"),
        ("task = (\n", "failed in line 1 (SyntaxError"),
    ],
)
def test_a_file_that_holds_no_task_is_told_with_its_line(tmp_path, capsys, content, words):
    file = tmp_path / "rig.py"
    file.write_text(content)
    assert words in refuse(capsys, ["learn", file])


def test_a_missing_file_or_wrong_name_is_told(tmp_path, capsys):
    assert "vfpilco new nothing.py" in refuse(capsys, ["learn", tmp_path / "nothing.py"])
    assert "ends in .py" in refuse(capsys, ["new", tmp_path / "rig.txt"])


def test_a_run_folder_cannot_make_us_execute_a_file_in_it(tmp_path, capsys):
    file, run = tmp_path / "rig.py", tmp_path / "run"
    assert main(["new", str(file)]) == 0
    assert main(["learn", str(file), "--out", str(run), "--quiet", *TINY]) == 0
    folder = RunFolder(run)
    (run / "evil.py").write_text("raise SystemExit('executed')\n")
    folder.write_header({**folder.header(), "task_file": str(run / "evil.py")})
    capsys.readouterr()
    assert "would be a file in that folder" in refuse(capsys, ["evaluate", run])


def test_a_dry_run_moves_nothing_and_tells_what_it_sees(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    applied = []

    class Rig(type(connect(vfpilco.task("cartpole")))):
        def step(self, u):
            applied.append(u)
            return super().step(u)

    base = vfpilco.task("cartpole")
    tried = dry_run(dataclasses.replace(base, plant=lambda: Rig(base.sampling_time, base.sensor)))
    assert np.all(np.array(applied) == 0)
    assert tried.samples == 90
    assert tried.positions["p"]["noise"] == pytest.approx(base.sensor.spread()[0], rel=0.3)
    assert 0 < tried.explores[base.inputs[0].name] <= 1
    assert any("faster than real time" in sentence for sentence in tried.sentences())
    assert main(["learn", "cartpole", "--dry-run"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_dry_run_tells_why_it_ended_and_how_gentle_an_exploration_would_be(capsys):
    base = vfpilco.task("cartpole")
    seen = []
    drifting = dataclasses.replace(base, ends=lambda q: seen.append(q) or len(seen) in (10, 11))
    tried = dry_run(drifting, dataclasses.replace(base.settings, gentle=0.2, slew=0.1))
    assert "of 90 samples: the task's end was reached." in tried.problems[0]
    assert 0 < tried.explores["force"] <= 0.2
    assert main(["learn", "cartpole", "--dry-run", "--gentle", "0.2"]) == 0
    said = capsys.readouterr().out
    assert "will go up to 20% of its limit" in said
    assert "It answers as it should" in said
    lost = dataclasses.replace(base, start=vfpilco.GaussianStart((0.0, 3.1), (0.01, 0.01)))
    assert "It started with alpha" in dry_run(lost).problems[0]


def test_common_slips_in_a_task_are_told(tmp_path, monkeypatch, capsys):
    base = vfpilco.task("cartpole")
    plant = connect(base)
    slips = {
        "must be what makes it, got a CartPole": lambda: dataclasses.replace(base, plant=plant),
        "index positions as": lambda: dataclasses.replace(base, cost=lambda q: q[..., 5] ** 2),
        "A start needs two numbers for every position": lambda: vfpilco.GaussianStart((0.0,), (1.0, 1.0)),
        "The sampling time is in seconds, got 33": lambda: dataclasses.replace(base, sampling_time=33),
        "it has 1 numbers for 2 positions": lambda: dataclasses.replace(base, start=vfpilco.GaussianStart((0,), (1,))),
    }
    for words, made in slips.items():
        with pytest.raises(vfpilco.UserError, match=words):
            made().check()
    with pytest.raises(vfpilco.UserError, match=r"The noise must be numbers in a tuple.*needs a comma"):
        number_tuple(2e-3, "The noise")

    class Silent(type(plant)):
        def step(self, u):
            super().step(u)

    with pytest.raises(vfpilco.UserError, match="returned nothing at sample 1"):
        execute(base, Silent(base.sampling_time, base.sensor), lambda q: np.zeros(1), 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.py").write_text("")
    assert "did you mean the file arm.py?" in refuse(capsys, ["learn", "arm"])


def test_a_plant_that_fails_leaves_a_run_to_go_on_with(tmp_path, capsys):
    file = tmp_path / "rig.py"
    file.write_text(
        "import vfpilco\nbase = vfpilco.task('cartpole')\n"
        "class Rig(type(base.plant())):\n"
        "    def step(self, u):\n        self.n = getattr(self, 'n', 0) + 1\n"
        "        assert self.n < 5, 'cable'\n        return super().step(u)\n"
        "import dataclasses\n"
        "task = dataclasses.replace(base, plant=lambda: Rig(base.sampling_time, base.sensor))\n"
    )
    said = refuse(capsys, ["learn", file, "--out", tmp_path / "a", *TINY])
    assert "(AssertionError: cable, rig.py line 6): mend it." in said
    assert "The 5 samples until then are kept" in said
    again = f"learn {file} --out {tmp_path / 'a'} --resume"
    assert again in said
    # Nothing was learned yet: what was wrong in the task may be mended too.
    file.write_text(file.read_text().replace("assert self.n < 5, 'cable'", "pass"))
    file.write_text(file.read_text() + "task = dataclasses.replace(task, horizon=80)\n")
    assert main([*again.split(), "--quiet"]) == 0
    assert RunFolder(tmp_path / "a").header()["task"]["horizon"] == 80
    file.write_text(file.read_text() + "task = dataclasses.replace(task, horizon=70)\n")
    assert "another task.horizon" in refuse(capsys, [*again.split(), "--trials", "2"])


def test_wait_asks_before_every_trial(tmp_path):
    command = [sys.executable, "-m", "vfpilco", "learn", "cartpole", "--wait", "--out", str(tmp_path / "a"), *TINY]
    done = subprocess.run([*command, "--quiet"], input="\n\n", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("then press Enter") == 2
    nobody = subprocess.run(
        [*command[:-1], "17", "--out", str(tmp_path / "b")], input="", capture_output=True, text=True, timeout=300
    )
    assert nobody.returncode == 2
    assert "Nobody is there to press Enter" in nobody.stderr
    assert not (tmp_path / "b").exists()


# -- Gymnasium ---------------------------------------------------------------------------------------------------


def pendulum(**changes):
    return dataclasses.replace(taskfile.load(EXAMPLES / "pendulum.py"), **changes)


def test_an_angle_may_come_as_its_sine_and_cosine():
    task = pendulum()
    plant = connect(task)
    assert isinstance(plant, GymPlant)
    q = plant.reset(3)
    np.testing.assert_allclose(np.abs(q), [np.pi])
    trial = execute(task, plant, lambda q: np.array([2.0]), 0)
    assert trial.steps == 100
    state = plant.env.unwrapped.state
    assert np.cos(trial.q[-1, 0]) == pytest.approx(np.cos(state[0]), abs=1e-6)
    assert np.abs(np.diff(trial.q[:, 0])).max() < 1  # unwrapped


def test_another_plant_can_be_put_under_a_task(capsys, tmp_path):
    task = pendulum(plant="gym:Pendulum-v1")
    assert isinstance(connect(task), GymPlant)
    said = main(["learn", str(EXAMPLES / "pendulum.py"), "--plant", "gym:Pendulum-v1", "--dry-run", "--json"])
    assert said == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out)["samples"] == 100
    assert "It started with angle at" in shown.err  # anywhere, and not hanging as the example's own
    for place, words in (("gym:Pendulum-v99", "cannot make"), ("ftp://x", "There is no plant at"), ("gym:", "cannot")):
        assert words in refuse(capsys, ["learn", "cartpole", "--plant", place, "--out", tmp_path / "a"])
    assert not (tmp_path / "a").exists()


def test_a_run_remembers_the_plant_that_was_put_under_its_task(capsys, tmp_path):
    file, run = EXAMPLES / "pendulum.py", tmp_path / "a"
    assert main(["learn", str(file), "--plant", "gym:Pendulum-v1", "--out", str(run), "--quiet", *TINY]) == 0
    folder = RunFolder(run)
    assert folder.header()["plant"] == "gym:Pendulum-v1"
    capsys.readouterr()
    assert main(["evaluate", str(run), "--episodes", "1"]) == 0
    said = capsys.readouterr().out
    assert "The plant is gym:Pendulum-v1" in said
    assert "episode 1" in said
    folder.write_header({**folder.header(), "plant": "gym:Pendulum-v99"})
    assert "Pendulum-v99" in refuse(capsys, ["evaluate", run])
    assert "Pendulum-v99" in refuse(capsys, ["learn", file, "--out", run, "--resume", "--trials", "2"])
    folder.write_header({**folder.header(), "plant": "gym:os:Evil-v0"})
    assert "if you trust it" in refuse(capsys, ["evaluate", run])
    assert main(["evaluate", str(run), "--episodes", "1", "--plant", "gym:Pendulum-v1"]) == 0
    assert main(["learn", str(file), "--plant", "gym:Pendulum-v1", "--out", str(run), "--resume", "--quiet"]) == 0
    assert folder.header()["plant"] == "gym:Pendulum-v1"  # the last one that was named
    capsys.readouterr()
    assert "is a run of task" in refuse(capsys, ["evaluate", run, "--task", "cartpole"])


def test_a_run_that_is_older_than_a_setting_goes_on_without_it(tmp_path):
    run = tmp_path / "a"
    old = ["--jitter", "0", "--credit", "1", "--noise", "white"]
    assert main(["learn", "furuta", "--out", str(run), "--quiet", *TINY, *old]) == 0
    folder = RunFolder(run)
    header = folder.header()
    for name in ("jitter", "credit", "noise"):
        header["settings"].pop(name)
    folder.write_header(header)
    assert main(["learn", "furuta", "--out", str(run), "--resume", "--quiet"]) == 0


def test_an_environment_that_does_not_fit_is_told():
    position, torque = pendulum().positions[0], pendulum().inputs[0]
    for changes, words in [
        ({"positions": (dataclasses.replace(position, entry=7),)}, "has 3 entries"),
        ({"positions": (dataclasses.replace(position, entry=(1, 0), angle=False),)}, "say angle=True"),
        ({"positions": (dataclasses.replace(position, entry=None),)}, "say which is which"),
        ({"inputs": (torque, dataclasses.replace(torque, name="b"))}, "has 2 inputs"),
        ({"inputs": (dataclasses.replace(torque, limit=5.0),)}, "lower it"),
        ({"plant": "gym:CartPole-v1"}, "discrete actions"),
        ({"plant": None}, "has no plant"),
    ]:
        with pytest.raises(vfpilco.UserError, match=words):
            connect(pendulum(**changes))


def test_the_end_of_an_episode_ends_the_trial():
    task = pendulum(plant=lambda: gymnasium.make("Pendulum-v1", max_episode_steps=30))
    trial = execute(task, connect(task), lambda q: np.zeros(1), 0)
    assert trial.steps == 30


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")
@pytest.mark.parametrize("name", tasks.names())
def test_our_plants_are_gymnasium_environments(name):
    env = gymnasium.make(f"vfpilco.envs:vfpilco/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert isinstance(env.unwrapped, envs.TaskEnv)
    env.reset(seed=1)
    task, rewards, over = vfpilco.task(name), [], False
    for _ in range(task.horizon):
        _, reward, terminated, truncated, _ = env.step(np.zeros(len(task.inputs)))
        rewards.append(reward)
        over = terminated or truncated
        if over:
            break
    assert over
    assert -2 <= min(rewards) <= max(rewards) <= 0
