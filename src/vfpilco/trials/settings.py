"""The settings of the method, grouped by component."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vfpilco.common.checks import check_integer
from vfpilco.common.components import classes, describe, rebuild
from vfpilco.common.errors import DATA_ERRORS, UserError, unknown
from vfpilco.model.files import KERNELS
from vfpilco.model.kernels import Kernel
from vfpilco.model.noise import CorrelatedNoise, NoiseModel, WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, PriorMean, ZeroMean
from vfpilco.policy.base import Policy
from vfpilco.policy.learned import COMPONENTS
from vfpilco.policy.limits import InputLimits
from vfpilco.policy.rbf import LinearRBF
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.state.base import State
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.exploration import (
    Cosines,
    Exploration,
    Feedback,
    FilteredNoise,
    RandomPD,
    SumOfSines,
    TriangularWaves,
)
from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter
from vfpilco.tasks.task import Task


@dataclass(frozen=True)
class ModelSettings:
    """What the GPs are."""

    kernel: Kernel | None = None
    """Covariance function, such as `SE() * Poly(1, on=("rates", "inputs"))`; chosen from the data if None. `SE()`, one
    lengthscale per input, is the paper's."""
    prior_mean: PriorMean = field(default_factory=ConstantVelocity)
    """What the GPs expect before seeing data: the last movement again, or no movement (`ZeroMean`, the paper's)."""
    noise: NoiseModel = field(default_factory=CorrelatedNoise)
    """Noise of the targets: made of the measurement errors that they share, or independent (`WhiteNoise`)."""
    inducing: int | None = None
    """Inducing points of the GP posterior, if the last trial has more training points; 0: always exact; None: 128, 256
    or 512, the least that loses next to nothing."""

    def __post_init__(self) -> None:
        if self.inducing is None:
            return
        check_integer("inducing", self.inducing, 0)
        if 0 < self.inducing < 8:
            raise UserError(f"inducing must be 0 (always exact) or at least 8, got {self.inducing}.")


@dataclass(frozen=True)
class Settings:
    """Settings of the method, grouped by component.

    `learn` also takes single ones as keyword arguments: `learn(task, kernel=SE(), steps=300)`.

    Example:
        >>> Settings().replace(steps=300, m_q=1).state
        VelocityFree(m_q=1, m_u=1, encoding='differences')
    """

    state: State | None = None
    """The state representation: `VelocityFree`, or a baseline, `Filtered` (MC-PILCO4PMS) or `FullState` (MC-PILCO); if
    None, `VelocityFree` with memories that are chosen from the data."""
    model: ModelSettings = field(default_factory=ModelSettings)
    """What the GPs are."""
    policy: Policy = field(default_factory=LinearRBF)
    """The policy: `LinearRBF`, `RBF` (the paper's), `MLP`, or one of your own."""
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    """How the policy is optimised."""
    limits: InputLimits = field(default_factory=InputLimits)
    """How carefully inputs are used."""
    sensor: Sensor | None = None
    """The sensor that is assumed; the machine's own if None."""
    exploration: Exploration | Feedback | None = None
    """How inputs are chosen before anything is known; as the task says if None."""

    def replace(self, **changes: Any) -> Settings:
        """The same settings with some changed, by name: groups, or single settings of any group.

        Raises:
            UserError: If there is no setting of that name.
        """
        own = {f.name for f in dataclasses.fields(self)}
        settings = dataclasses.replace(self, **{name: value for name, value in changes.items() if name in own})
        groups: dict[str, dict[str, Any]] = {}  # the changes of a group belong together: m_u bounds policy_m_u
        for name in [name for name in changes if name not in own]:
            groups.setdefault(settings._group(name), {})[name] = changes[name]
        parts = {group: dataclasses.replace(settings._part(group), **some) for group, some in groups.items()}
        return dataclasses.replace(settings, **parts)

    def _group(self, name: str) -> str:
        """The group that has a single setting of this name."""
        own = {f.name for f in dataclasses.fields(self)}
        # A component of the user's own may have a field of the same name as a setting: it comes last.
        for group in sorted(own, key=lambda group: (group in ("state", "policy", "sensor", "exploration"), group)):
            part = self._part(group)
            if dataclasses.is_dataclass(part) and name in _public(part):
                return group
        raise unknown("setting", name, [*own, *self.flat()])

    def _part(self, group: str) -> Any:
        """The group or component of that name; where it is chosen from the data, the one that is changed by hand."""
        part = getattr(self, group)
        return VelocityFree() if group == "state" and part is None else part

    def flat(self) -> dict[str, Any]:
        """Every single setting by name; components such as kernel and policy are one each."""
        groups = (self.model, self.optimiser, self.limits)
        flat = {name: getattr(group, name) for group in groups for name in _public(group)}
        own = {"policy": self.policy, "sensor": self.sensor, "exploration": self.exploration}
        return {"state": self.state, **flat, **own}

    def described(self) -> dict[str, Any]:
        """The settings as JSON, for run.json."""
        return describe(self)

    @staticmethod
    def from_description(description: Mapping[str, Any], *components: Any) -> Settings:
        """The settings in a run.json.

        Args:
            description: What `described` returned.
            components: Objects of the user's own classes that it may name.

        Raises:
            UserError: If it names an unknown class, or does not describe settings.
        """
        try:
            # Earlier versions also had settings of predictions.
            known = {name: value for name, value in description.items() if name != "prediction"}
            if isinstance(known.get("optimiser"), dict):
                known["optimiser"] = {"input_change_penalty": 0.0, **known["optimiser"]}  # unknown to them
            found = rebuild(known, {**CLASSES, **classes(*components)})
        except DATA_ERRORS as error:
            raise UserError(f"These are not settings of this version ({error}).") from error
        if not isinstance(found, Settings):
            raise UserError("These are not settings of this version.")
        return found


def default_settings(task: Task) -> Settings:
    """The settings that a run of a task has by default."""
    return Settings().replace(**task.settings)


CLASSES: dict[str, type] = {
    **COMPONENTS,
    **KERNELS,
    **{
        cls.__name__: cls
        for cls in (
            *(Settings, ModelSettings, OptimiserSettings, InputLimits),
            *(ConstantVelocity, ZeroMean, CorrelatedNoise, WhiteNoise),
            *(GaussianNoise, PerPosition, Quantised, TimingJitter),
            *(Cosines, FilteredNoise, RandomPD, SumOfSines, TriangularWaves),
        )
    },
}
"""The classes that a run.json may name."""


def _public(part: Any) -> list[str]:
    """The fields of a component that a user sets."""
    return [f.name for f in dataclasses.fields(part) if f.init and f.name not in ("bound", "a", "b")]
