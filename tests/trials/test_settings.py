from __future__ import annotations

import dataclasses
import json

import pytest

from vfpilco.common.errors import UserError
from vfpilco.machines import load
from vfpilco.model.kernels import SE, Linear
from vfpilco.model.noise import CorrelatedNoise, WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, ZeroMean
from vfpilco.policy.limits import InputLimits
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import LinearRBF
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.exploration import SumOfSines
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, TimingJitter
from vfpilco.trials.settings import ModelSettings, Settings

CHANGED = Settings().replace(
    state=Filtered(online=Kalman(3.0)),
    kernel=SE() + Linear(on=("features",)),
    prior_mean=ZeroMean(),
    noise=WhiteNoise(),
    inducing=0,
    policy=MLP(12),
    sensor=TimingJitter(PerPosition((Quantised((1e-3,)), GaussianNoise((0.1,)))), 0.03),
    steps=30,
    gradient_decay=1.0,
    gentle=0.4,
    exploration=SumOfSines(count=5),
)


def test_the_defaults_are_the_documented_ones():
    settings = Settings()
    assert settings.state is None
    assert settings.model == ModelSettings(None, ConstantVelocity(), CorrelatedNoise(), None)
    assert settings.policy == LinearRBF(200)
    optimiser = settings.optimiser
    assert (optimiser.particles, optimiser.steps, optimiser.gradient_decay, optimiser.clip) == (100, 1000, 0.0, 3.0)
    assert settings.sensor is None


def test_single_settings_are_replaced_in_their_group():
    assert CHANGED.state == Filtered(online=Kalman(3.0))
    assert CHANGED.model == ModelSettings(SE() + Linear(on=("features",)), ZeroMean(), WhiteNoise(), 0)
    assert CHANGED.policy == MLP(12)
    assert CHANGED.optimiser == OptimiserSettings(steps=30, gradient_decay=1.0)
    assert CHANGED.limits == InputLimits(gentle=0.4)
    assert CHANGED.sensor == TimingJitter(PerPosition((Quantised((1e-3,)), GaussianNoise((0.1,)))), 0.03)
    assert Settings().replace() == Settings()
    assert Settings().optimiser.steps == 1000  # settings are immutable


def test_settings_of_components_and_complete_groups_can_be_replaced():
    settings = Settings().replace(m_q=1, basis_functions=30, limits=InputLimits(slew=0.1), steps=5)
    assert settings.state == VelocityFree(m_q=1)
    assert settings.policy == LinearRBF(30)
    assert settings.limits.slew == 0.1
    seeing = Settings().replace(policy_m_u=2, m_u=2)  # in either order
    assert seeing.state == VelocityFree(m_u=2, policy_m_u=2)
    assert seeing.replace(m_u=0, policy_m_u=0).state == VelocityFree(m_u=0)
    assert Settings().replace(policy=LinearRBF(400), basis_functions=20).policy == LinearRBF(20)
    assert Settings().replace(policy=MLP(), units=20).policy == MLP(20)
    assert Settings().replace(state=Filtered(), online=Kalman()).state == Filtered(online=Kalman())


def test_an_unknown_setting_is_rejected_with_a_suggestion():
    with pytest.raises(UserError, match="There is no setting called 'stepps': did you mean 'steps'"):
        Settings().replace(stepps=3)
    with pytest.raises(UserError, match="There is no setting called 'm_q'"):
        Settings().replace(state=FullState(), m_q=1)
    with pytest.raises(UserError, match="There is no setting called 'bound'"):
        Settings().replace(bound=None)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"particles": 0}, "particles must be an integer of at least 1, got 0"),
        ({"particles": 2.5}, "particles must be an integer of at least 1, got 2.5"),
        ({"steps": "many"}, "steps must be an integer of at least 1, got 'many'"),
        ({"shards": 3}, "shards must divide particles, got 3 and 100: change one of them"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"tolerance": -1}, "tolerance must be between 0 and 1, got -1"),
        ({"learning_rate": 0}, "learning_rate must be between 0 and 1, got 0: 0.01 is typical"),
        (
            {"gradient_decay": 2},
            r"gradient_decay must be between 0 \(the best of several\) and 1 \(exact gradients\), got 2",
        ),
        ({"clip": 0.5}, r"clip must be 0 \(never\) or more than 1, got 0.5"),
        ({"input_penalty": float("nan")}, "input_penalty must be at least 0, got nan"),
        ({"precision": "float16"}, "There is no precision called 'float16'"),
        ({"gentle": 0}, r"gentle must be more than 0 and at most 1 \(the full limits\), got 0"),
        ({"slew": 3}, r"slew must be between 0 \(no limit\) and 2 \(from one limit to the other\), got 3"),
        ({"inducing": 4}, r"inducing must be 0 \(always exact\) or at least 8, got 4"),
        ({"m_q": 0}, "m_q must be an integer of at least 1, got 0"),
        ({"encoding": "naive"}, "There is no encoding called 'naive'"),
    ],
)
def test_an_impossible_value_is_rejected_in_a_sentence(changes, message):
    with pytest.raises(UserError, match=message) as refused:
        Settings().replace(**changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("settings", [Settings(), CHANGED], ids=["default", "changed"])
def test_settings_survive_their_description(settings):
    description = json.loads(json.dumps(settings.described()))
    assert description["type"] == "Settings"
    assert Settings.from_description(description) == settings


@pytest.mark.parametrize("name", load.names())
def test_the_settings_of_built_in_tasks_survive_their_description(name):
    settings = Settings().replace(**load.load(name).settings)
    assert Settings.from_description(json.loads(json.dumps(settings.described()))) == settings


def test_flat_settings_are_complete_and_can_be_replaced_by_name():
    flat = CHANGED.flat()
    groups = (ModelSettings, OptimiserSettings, InputLimits)
    names = [f.name for group in groups for f in dataclasses.fields(group)]
    assert sorted(flat) == sorted([*names, "state", "policy", "sensor", "exploration"])
    assert flat["steps"] == 30
    assert flat["kernel"] == CHANGED.model.kernel
    assert Settings().replace(**flat) == CHANGED


@dataclasses.dataclass(frozen=True)
class Matern(SE):
    """A kernel of a user."""

    smoothness: float = 1.5


def test_settings_with_a_users_component_need_its_class():
    settings = Settings().replace(kernel=Matern(smoothness=2.5) + Linear(), sensor=GaussianNoise((1e-3, 2e-3)))
    description = settings.described()
    with pytest.raises(UserError, match="'Matern' is not a component of vfpilco: use the task file that defines it"):
        Settings.from_description(description)
    assert Settings.from_description(description, {"kernel": Matern()}) == settings


@pytest.mark.parametrize(
    "description",
    [
        {"type": "SE", "on": []},
        {"type": "Settings", "speed": 3},
        {"type": "Settings", "optimiser": {"type": "RBF", "x": 1}},
    ],
)
def test_a_description_of_something_else_is_rejected_in_a_sentence(description):
    with pytest.raises(UserError, match="These are not settings of this version"):
        Settings.from_description(description)
