"""Settings as options with plain values, and options applied to settings."""

import dataclasses

import pytest

import vfpilco
from vfpilco.model.kernels import SE, Poly
from vfpilco.model.prior_mean import ZeroMean
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF
from vfpilco.state.filtered import Filtered
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise, Quantised, TimingJitter
from vfpilco.trials.options import Options, apply_options, options_of
from vfpilco.trials.settings import Settings

CARTPOLE, FURUTA = vfpilco.task("cartpole").machine, vfpilco.task("furuta").machine


@dataclasses.dataclass(frozen=True)
class OwnKernel(SE):
    """A kernel without a text form."""


@dataclasses.dataclass(frozen=True)
class OwnPolicy(RBF):
    """A policy without a text form."""


@dataclasses.dataclass(frozen=True)
class OwnState(VelocityFree):
    """A state without a text form."""


@dataclasses.dataclass(frozen=True)
class OwnSensor(GaussianNoise):
    """A sensor without a text form."""


OWN = Settings().replace(kernel=OwnKernel(), policy=OwnPolicy(7), state=OwnState(1, 0), sensor=OwnSensor((0.1, 0.2)))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings().replace(state=VelocityFree(3, 0, "positions"), kernel=SE() + Poly(2), prior_mean=ZeroMean()),
        Settings().replace(state=Filtered(Kalman(5.0), LowPass(0.3)), policy=MLP(12), gentle=0.5, steps=30),
        Settings().replace(sensor=Quantised((0.25, 0.5)), inducing=0),
        Settings().replace(state=VelocityFree(m_u=2, policy_m_u=1)),
    ],
)
def test_built_in_settings_and_options_describe_each_other(settings):
    assert Options(**options_of(settings, CARTPOLE)).settings(CARTPOLE) == settings


def test_options_change_only_what_they_describe():
    assert apply_options(OWN, {}, CARTPOLE) == OWN
    changed = apply_options(OWN, {"steps": 30, "gentle": 0.5, "inducing": 16, "prior_mean": "zero"}, CARTPOLE)
    assert changed == OWN.replace(steps=30, gentle=0.5, inducing=16, prior_mean=ZeroMean())
    assert apply_options(OWN, {"kernel": "se"}, CARTPOLE) == OWN.replace(kernel=SE())
    assert apply_options(OWN, {"sensor": "task"}, CARTPOLE) == OWN.replace(sensor=None)
    assert apply_options(OWN, {"policy": "mlp", "basis_functions": 9}, CARTPOLE) == OWN.replace(policy=MLP(9))


def test_options_that_belong_together_change_one_component():
    base = Settings().replace(state=VelocityFree(3, 2), policy=RBF(50))
    assert apply_options(base, {"m_u": 0}, CARTPOLE).state == VelocityFree(3, 0)
    assert apply_options(base, {"policy_m_u": 2}, CARTPOLE).state == VelocityFree(3, 2, policy_m_u=2)
    assert apply_options(base, {"policy": "mlp"}, CARTPOLE).policy == MLP(50)
    changed = apply_options(base, {"method": "pms", "offline": "kalman", "acceleration": 5.0}, CARTPOLE)
    assert changed.state == Filtered(LowPass(), Kalman(5.0))


@pytest.mark.parametrize("changed", [{"basis_functions": 30}, {"m_q": 2}, {"encoding": "positions"}])
def test_options_of_a_built_in_component_are_refused_for_another_one(changed):
    with pytest.raises(vfpilco.UserError, match=r"can only be given for a built-in .* choose a built-in one with --"):
        apply_options(OWN, changed, CARTPOLE)


def test_wrong_values_are_refused():
    with pytest.raises(vfpilco.UserError, match="particles must be"):
        apply_options(OWN, {"particles": 0}, CARTPOLE)
    with pytest.raises(vfpilco.UserError, match="no method setting called 'vff'"):
        apply_options(OWN, {"method": "vff"}, CARTPOLE)


def test_jitter_is_added_to_any_sensor():
    late = 0.1 * CARTPOLE.sampling_time
    for base in (Settings(), OWN):
        found = apply_options(base, {"jitter": late}, CARTPOLE).sensor
        assert isinstance(found, TimingJitter)
        assert found.sensor == (base.sensor or CARTPOLE.sensor)
        assert found.std == pytest.approx(0.1)
    assert apply_options(OWN, {"jitter": 0.0}, CARTPOLE) == OWN


def test_the_jitter_of_a_machine_is_kept_unless_it_is_given():
    own = TimingJitter(FURUTA.sensor, 0.03)
    jittering = dataclasses.replace(FURUTA, sensor=own)
    encoders = Quantised((0.5, 0.25))
    changed = apply_options(Settings(), {"sensor": "step:0.5,0.25"}, jittering)
    assert changed.sensor == dataclasses.replace(own, sensor=encoders)
    assert apply_options(Settings(), {"sensor": "step:0.5,0.25", "jitter": 0.0}, jittering).sensor == encoders
    assert apply_options(Settings(), {"jitter": 0.0}, jittering).sensor == own.sensor
    without = Settings().replace(sensor=own.sensor)
    assert apply_options(without, {"steps": 3}, jittering).sensor == own.sensor
    assert apply_options(without, {"sensor": "step:0.5,0.25"}, jittering).sensor == encoders
