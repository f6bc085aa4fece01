"""Gymnasium environments as plants, and plants as Gymnasium environments."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from folders import TINY_FLAGS, one_sentence
from gymnasium.utils.env_checker import check_env
from variants import variant

import vfpilco
from vfpilco import envs
from vfpilco.cli.main import main
from vfpilco.machines.load import names
from vfpilco.plants.gym import GymPlant, options
from vfpilco.storage.runfolder import RunFolder
from vfpilco.tasks import file as taskfile
from vfpilco.tasks.plant import Closeable, EndsEarly, Plant
from vfpilco.trials.execute import connect, execute

PENDULUM = Path(__file__).parents[2] / "examples/pendulum.py"


def pendulum(**changes):
    return variant(taskfile.load(PENDULUM), **changes)


def refused(capsys, argv) -> str:
    """The error of a command that must fail with one sentence and exit code 2."""
    code = main([str(word) for word in argv])
    output = capsys.readouterr()
    assert code == 2
    return one_sentence(output.err)


def test_an_angle_can_be_measured_as_its_sine_and_cosine():
    task = pendulum()
    plant = connect(task)
    assert isinstance(plant, GymPlant)
    for protocol in (Plant, EndsEarly, Closeable):
        assert isinstance(plant, protocol)
    q = plant.reset(3)
    np.testing.assert_allclose(np.abs(plant.true_positions), [np.pi])
    assert 0 < np.abs(np.abs(q) - np.pi) < 0.01  # measured by the sensor of the task
    trial = execute(task, plant, lambda q: np.array([2.0]), 0)
    assert trial.steps == 100
    state = plant.env.unwrapped.state
    assert np.cos(trial.true[-1, 0]) == pytest.approx(np.cos(state[0]), abs=1e-6)
    assert 5e-4 < np.std(trial.q - trial.true) < 2e-3
    assert np.abs(np.diff(trial.q[:, 0])).max() < 1  # unwrapped


def test_another_plant_can_be_used_for_a_task(capsys, tmp_path):
    assert isinstance(connect(pendulum(plant="gym:Pendulum-v1")), GymPlant)
    assert main(["learn", str(PENDULUM), "--plant", "gym:Pendulum-v1", "--dry-run", "--json"]) == 2
    output = capsys.readouterr()
    assert json.loads(output.out)["samples"] == 100
    assert "It started with angle at" in output.err  # anywhere, not hanging as in the example
    for place, words in (("gym:Pendulum-v99", "cannot make"), ("ftp://x", "There is no plant at"), ("gym:", "cannot")):
        assert words in refused(capsys, ["learn", "cartpole", "--plant", place, "--out", tmp_path / "a"])
    assert not (tmp_path / "a").exists()


def test_a_run_remembers_which_plant_was_used(capsys, tmp_path):
    run = tmp_path / "a"
    assert main(["learn", str(PENDULUM), "--plant", "gym:Pendulum-v1", "--out", str(run), "--quiet", *TINY_FLAGS]) == 0
    folder = RunFolder(run)
    assert folder.header().plant == "gym:Pendulum-v1"
    capsys.readouterr()
    assert "name it with --plant gym:Pendulum-v1" in refused(capsys, ["evaluate", run])
    assert main(["evaluate", str(run), "--episodes", "1", "--plant", "gym:Pendulum-v1"]) == 0
    assert main(["learn", str(PENDULUM), "--plant", "gym:Pendulum-v1", "--out", str(run), "--resume", "--quiet"]) == 0
    assert folder.header().plant == "gym:Pendulum-v1"  # the last one that was used
    capsys.readouterr()
    assert "is a run of task" in refused(capsys, ["evaluate", run, "--task", "cartpole"])


POSITION, TORQUE = pendulum().machine.positions[0], pendulum().machine.inputs[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"positions": (dataclasses.replace(POSITION, entry=7),)}, "has 3 entries"),
        ({"positions": (dataclasses.replace(POSITION, entry=(1, 0), angle=False),)}, "say angle=True"),
        ({"positions": (dataclasses.replace(POSITION, entry=None),)}, "say which is which"),
        ({"inputs": (TORQUE, dataclasses.replace(TORQUE, name="b"))}, "has 2 inputs"),
        ({"inputs": (dataclasses.replace(TORQUE, limit=5.0),)}, "lower it"),
        ({"plant": "gym:CartPole-v1"}, "discrete actions"),
        ({"plant": None}, "has no plant"),
    ],
)
def test_an_environment_that_does_not_fit_is_refused(changes, words):
    with pytest.raises(vfpilco.UserError, match=words):
        connect(pendulum(**changes))


def test_another_sampling_time_is_reported(caplog):
    connect(pendulum(sampling_time=0.1))
    assert "simulates 0.05 s per step, but task 'pendulum' has a sampling time of 0.1 s" in caplog.text


def test_the_end_of_an_episode_ends_the_trial():
    task = pendulum(plant=lambda: gymnasium.make("Pendulum-v1", max_episode_steps=30))
    trial = execute(task, connect(task), lambda q: np.zeros(1), 0)
    assert trial.steps == 30
    assert trial.ended.startswith("the time limit of Pendulum-v1 cut its episode short: give it more steps")


class Goal(gymnasium.Wrapper):
    """Ends its episode after five steps."""

    count = 0

    def reset(self, **options):
        self.count = 0
        return super().reset(**options)

    def step(self, action):
        self.count += 1
        observed, reward, _, _, info = super().step(action)
        return observed, reward, self.count == 5, False, info


@pytest.mark.parametrize("good", [True, False])
def test_the_task_says_whether_the_end_of_an_episode_is_a_success(good):
    task = pendulum(plant=lambda: Goal(gymnasium.make("Pendulum-v1")), end_is_success=good)
    trial = execute(task, connect(task), lambda q: np.zeros(1), 0)
    assert (trial.steps, trial.ended) == (5, "Pendulum-v1 ended its episode")
    assert task.evaluate(trial.evaluated, trial.reached).success is good


def test_the_time_limit_of_an_environment_is_no_success():
    task = pendulum(plant="gym:Pendulum-v1?max_episode_steps=30", end_is_success=True)
    trial = execute(task, connect(task), lambda q: np.zeros(1), 0)
    assert trial.steps == 30
    assert not task.evaluate(trial.evaluated, trial.reached).success


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("gym:Pendulum-v1?max_episode_steps", "Options of an environment are name=value"),
        ("gym:Pendulum-v1?gravity=3&=4", "Options of an environment are name=value"),
        ("gym:Pendulum-v1?colour=red", "check the options after"),
    ],
)
def test_wrong_options_of_an_environment_are_reported(address, words):
    with pytest.raises(vfpilco.UserError, match=words):
        connect(pendulum(plant=address))


def test_options_are_given_to_the_environment():
    assert connect(pendulum(plant="gym:Pendulum-v1?g=3.5")).env.unwrapped.g == 3.5
    assert options("a=1&b=0.5&c=true&d=rgb_array") == {"a": 1, "b": 0.5, "c": True, "d": "rgb_array"}


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (gymnasium.error.DependencyNotInstalled('run `pip install "gymnasium[box2d]"`'), "'gymnasium[box2d]'."),
        (gymnasium.error.DependencyNotInstalled("no simulator"), "install it."),
        (ModuleNotFoundError("No module named 'imageio'", name="imageio"), "pip install 'gymnasium[mujoco]'."),
        (ModuleNotFoundError("No module named 'far.off'", name="far.off"), "pip install far."),
        (gymnasium.error.NamespaceNotFound("Namespace ALE not found"), "pip install 'gymnasium[atari]'."),
    ],
)
def test_a_missing_part_of_gymnasium_is_named_with_its_command(monkeypatch, error, remedy):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(gymnasium, "make", fail)
    with pytest.raises(vfpilco.UserError, match=re.escape(remedy)):
        connect(pendulum(plant="gym:ALE/LunarLander-v3"))


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")
@pytest.mark.parametrize("name", names())
def test_the_built_in_plants_are_valid_gymnasium_environments(name):
    env = gymnasium.make(f"vfpilco.envs:vfpilco/{name}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert isinstance(env.unwrapped, envs.TaskEnv)
    env.reset(seed=1)
    task, rewards, ended = vfpilco.task(name), [], False
    for _ in range(task.horizon):
        _, reward, terminated, truncated, _ = env.step(np.zeros(len(task.machine.inputs)))
        rewards.append(reward)
        ended = terminated or truncated
        if ended:
            break
    assert ended
    assert -2 <= min(rewards) <= max(rewards) <= 0
