from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from vfpilco.common.components import classes, describe, rebuild
from vfpilco.common.errors import UserError
from vfpilco.model.kernels import SE, Friction, Linear, Poly
from vfpilco.model.noise import CorrelatedNoise, WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, ZeroMean
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.limits import InputLimits, Slew
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF, PhysicalRBF
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.state.base import Signals
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.exploration import Cosines, FilteredNoise, RandomPD, SumOfSines, TriangularWaves
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter
from vfpilco.trials.settings import CLASSES, ModelSettings, Settings

SIGNALS = Signals((False, True), 1, 0.1, std=(1e-3, 2e-3))
INPUTS = PolicyInputs((1.0, 0.5), (10.0,), (True, True), ((-1.0, 2.0),))
COMPONENTS = [
    SE(),
    SE(on=("angles", "rates")),
    SE(signal=0.5),
    Poly(3, on=("inputs",)),
    Friction(on=("rates",)),
    Linear(),
    SE() * Poly(1, on=("rates", "inputs")),
    SE() + Linear(on=("features",)),
    (SE() + Linear()) * Poly(2),
    ConstantVelocity(),
    ZeroMean(),
    CorrelatedNoise(),
    WhiteNoise(),
    VelocityFree(),
    VelocityFree(1, 3, "positions").bind(SIGNALS),
    VelocityFree(m_u=2, policy_m_u=2),
    Filtered(),
    Filtered(Kalman(5.0), LowPass(0.3)).bind(SIGNALS),
    FullState().bind(SIGNALS),
    LowPass(0.25),
    Kalman(3.0),
    SIGNALS,
    RBF(30),
    RBF(30).bind(INPUTS),
    PhysicalRBF(30).bind(INPUTS),
    LinearRBF().bind(INPUTS),
    MLP(7),
    INPUTS,
    Slew((0.1, 0.2)),
    GaussianNoise((1e-3, 2e-3)),
    Quantised((1e-3, 0.0)),
    PerPosition((Quantised((1e-3,)), GaussianNoise((2e-3,)))),
    TimingJitter(Quantised((1e-3, 0.0)), 0.03, (True, False)),
    Cosines(),
    FilteredNoise(cutoff=2.0),
    RandomPD(((0.0,), (1.0,))),
    SumOfSines(5, (0.2, 1.0)),
    TriangularWaves(),
    OptimiserSettings(particles=40, precision="float64"),
    InputLimits(0.5, 0.1),
    ModelSettings(SE(), ZeroMean(), WhiteNoise(), 0),
    Settings(),
    Settings().replace(exploration=SumOfSines(), first_share=1.0),
    Settings().replace(state=Filtered(), kernel=SE(), policy=MLP(5), sensor=GaussianNoise((1e-3,)), steps=7),
]


@dataclass(frozen=True)
class Camera(Sensor):
    """A component of a user."""

    lag: int
    inner: GaussianNoise = field(default_factory=lambda: GaussianNoise((1e-3,)))
    calibration: Callable[[float], float] | None = None
    hidden: int = field(default=3, repr=False)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: type(component).__name__)
def test_every_component_is_rebuilt_from_its_description(component):
    description = json.loads(json.dumps(describe(component)))
    assert description["type"] == type(component).__name__
    again = rebuild(description, CLASSES)
    assert type(again) is type(component)
    assert again == component
    assert hash(again) == hash(component)
    assert repr(again) == repr(component)


def test_every_class_that_a_run_may_name_is_tested_here():
    assert {type(component).__name__ for component in COMPONENTS} == CLASSES.keys()


def test_descriptions_are_readable():
    assert describe(SE() * Poly(1, on=("rates", "inputs"))) == {
        "type": "Product",
        "factors": [{"type": "SE", "on": []}, {"type": "Poly", "on": ["rates", "inputs"], "degree": 1}],
    }
    assert describe(VelocityFree()) == {"type": "VelocityFree", "m_q": 2, "m_u": 1, "encoding": "differences"}
    assert describe({"a": (np.float64(0.5), np.arange(2)), "b": None}) == {"a": [0.5, [0, 1]], "b": None}


def test_a_users_component_needs_its_class():
    mine = Camera(2, GaussianNoise((1e-3, 2e-3)))
    description = describe(mine)
    assert description == {
        "type": "Camera",
        "lag": 2,
        "inner": {"type": "GaussianNoise", "std": [1e-3, 2e-3]},
        "calibration": None,
    }
    with pytest.raises(UserError) as refused:
        rebuild(description, CLASSES)
    assert str(refused.value) == ("'Camera' is not a component of vfpilco: use the task file that defines it (--task).")
    assert rebuild(description, {**CLASSES, **classes({"sensor": mine})}) == mine
    assert rebuild(describe(Camera(1, hidden=4)), classes(mine)).hidden == 4


def test_the_classes_of_components_are_found_at_any_depth():
    found = classes({"sensor": TimingJitter(Camera(1), 0.1), "kernel": (SE() + Linear(), [RBF(3)])}, Kalman())
    assert set(found) == {"TimingJitter", "Camera", "GaussianNoise", "Sum", "SE", "Linear", "RBF", "Kalman"}
    assert found["Camera"] is Camera
    assert classes() == {}


@pytest.mark.parametrize("name", [5, None, ["SE"], "os.system", "x" * 1000])
def test_a_description_of_something_else_is_rejected(name):
    with pytest.raises(UserError, match="is not a component of vfpilco") as refused:
        rebuild({"type": name}, CLASSES)
    assert len(str(refused.value)) < 200


def test_a_description_with_other_fields_is_rejected():
    with pytest.raises(TypeError, match="SE has no 'wide'"):
        rebuild({"type": "SE", "wide": 3}, CLASSES)


def test_a_function_cannot_be_described():
    with pytest.raises(UserError, match="cannot be written to a file: keep functions in methods of its class"):
        describe(Camera(2, calibration=lambda x: x))
