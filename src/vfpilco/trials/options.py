"""Settings as flat names with plain values: for the command line, for reports, and for run folders of format 3."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from vfpilco.common.errors import DATA_ERRORS, UserError, unknown
from vfpilco.data.records import from_json_types
from vfpilco.model.kernels.expression import parse, to_text
from vfpilco.model.noise import CorrelatedNoise, WhiteNoise
from vfpilco.model.prior_mean import ConstantVelocity, ZeroMean
from vfpilco.policy.limits import InputLimits
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF
from vfpilco.rollout.settings import OptimiserSettings
from vfpilco.state.base import State
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.sensors import GaussianNoise, Quantised, Sensor, TimingJitter
from vfpilco.trials.settings import ModelSettings, Settings

POLICIES = {"rbf": RBF, "linear-rbf": LinearRBF, "mlp": MLP}
PRIOR_MEANS = {"zero": ZeroMean, "constant-velocity": ConstantVelocity}
NOISES = {"white": WhiteNoise, "correlated": CorrelatedNoise}
FILTERS = {"low-pass": LowPass, "kalman": Kalman}
SENSORS = {"noise": GaussianNoise, "step": Quantised}


@dataclass(frozen=True)
class ComponentOptions:
    """The components of the method, each described by plain values."""

    method: Literal["vf", "pms", "full-state"] = "vf"
    """VF-MC-PILCO; or a baseline: MC-PILCO4PMS with filters, or MC-PILCO with the true state of a simulated plant."""
    m_q: int | None = None
    """Position memory: how many past positions the GPs and the policy see; 2 if not given."""
    m_u: int | None = None
    """Control memory: how many past inputs the GPs see; if no memory is given, chosen by the delay of the machine."""
    policy_m_u: int = 0
    """How many past inputs the policy sees, at most m_u; on a machine with a delay those still on their way."""
    encoding: Literal["differences", "positions"] = "differences"
    """Past positions as consecutive differences, or the positions themselves ("naive" in the paper)."""
    kernel: str = "auto"
    """Covariance function of the GPs, such as `se * poly1(rates, inputs)`; auto: chosen from the data. `se`, one
    lengthscale per input, is the paper's."""
    prior_mean: Literal["zero", "constant-velocity"] = "constant-velocity"
    """What the GPs expect before seeing data: no movement, or the last movement again."""
    noise: Literal["white", "correlated"] = "correlated"
    """Noise of the GPs' targets: independent, or made of the measurement errors that targets share."""
    inducing: int | None = None
    """Inducing points of the GP posterior, if the last trial has more training points; 0: always exact; if not given
    128, 256 or 512, the least that loses next to nothing."""
    sensor: str = "task"
    """The sensor: that of the task, or `noise:STD,STD,…` or `step:STEP,STEP,…`, a number for every position."""
    jitter: float | None = None
    """Standard deviation of the sampling instants, s; that of the task's sensor if not given."""
    policy: Literal["rbf", "linear-rbf", "mlp"] = "linear-rbf"
    """RBF network, one with additional linear feedback, or a small neural network."""
    basis_functions: int = 200
    """Basis functions of an RBF network, or units per hidden layer of the neural network."""
    online: Literal["low-pass", "kalman"] = "low-pass"
    """pms: filter that estimates velocities for the policy."""
    offline: Literal["low-pass", "kalman"] = "low-pass"
    """pms: filter or smoother that estimates velocities for the model."""
    cutoff: float = 0.5
    """pms: cut-off frequency of the low-pass filters, as a fraction of half the sampling rate."""
    acceleration: float = 20.0
    """pms: acceleration that the Kalman filters expect (standard deviation, in units of a position per s²)."""


@dataclass(frozen=True)
class Options(InputLimits, OptimiserSettings, ComponentOptions):  # the last one's fields come first
    """Settings of the method; a task may have other defaults."""

    def __post_init__(self) -> None:
        hints = get_type_hints(Options)
        for f in dataclasses.fields(self):
            choices = [choice for choice in get_args(hints[f.name]) if isinstance(choice, str)]
            if choices and getattr(self, f.name) not in choices:
                raise unknown(f"{f.name} setting", str(getattr(self, f.name)), choices)
        OptimiserSettings.__post_init__(self)
        InputLimits.__post_init__(self)

    def settings(self, machine: Machine) -> Settings:
        """The settings that these options describe, for a machine."""
        size = {"units" if self.policy == "mlp" else "basis_functions": self.basis_functions}
        sensor = self._sensor(machine)
        return Settings(
            state=self._state(),
            model=ModelSettings(
                kernel=None if self.kernel == "auto" else parse(self.kernel),
                prior_mean=PRIOR_MEANS[self.prior_mean](),
                noise=NOISES[self.noise](),
                inducing=self.inducing,
            ),
            policy=POLICIES[self.policy](**size),
            optimiser=_part(self, OptimiserSettings),
            limits=_part(self, InputLimits),
            sensor=None if sensor == machine.sensor else sensor,
        )

    def _state(self) -> State | None:
        if self.method == "full-state":
            return FullState()
        if self.method == "pms":
            values = {"low-pass": self.cutoff, "kalman": self.acceleration}
            online, offline = (FILTERS[name](values[name]) for name in (self.online, self.offline))
            return Filtered(online, offline)
        if (self.m_q, self.m_u, self.encoding, self.policy_m_u) == (None, None, "differences", 0):
            return None
        m_q, m_u = 2 if self.m_q is None else self.m_q, 1 if self.m_u is None else self.m_u
        return VelocityFree(m_q, m_u, self.encoding, self.policy_m_u)

    def _sensor(self, machine: Machine, own: Sensor | None = None) -> Sensor:
        """The sensor; `own` is the one that "task" means, that of the machine if not given."""
        sensor = own or machine.sensor
        if self.sensor != "task":
            sensor = parse_sensor(self.sensor, len(machine.positions))
        if self.jitter is None:
            keeps = isinstance(machine.sensor, TimingJitter) and self.sensor != "task"
            return dataclasses.replace(machine.sensor, sensor=sensor) if keeps else sensor  # pyright: ignore
        if not 0 <= self.jitter < float("inf"):
            raise UserError(f"jitter must be 0 or a positive time in seconds, got {self.jitter}.")
        inner = sensor.sensor if isinstance(sensor, TimingJitter) else sensor
        if not self.jitter:
            return inner
        affected = tuple(p.commanded is None for p in machine.positions)
        return TimingJitter(inner, float(self.jitter / machine.sampling_time), () if all(affected) else affected)


def _part(options: Options, cls: type) -> Any:
    return cls(**{f.name: getattr(options, f.name) for f in dataclasses.fields(cls)})


def options_of(settings: Settings, machine: Machine) -> dict[str, Any]:
    """The options that describe settings; components of the user's own have none and are left out."""
    found: dict[str, Any] = {
        f.name: getattr(part, f.name)
        for part in (settings.optimiser, settings.limits)
        for f in dataclasses.fields(part)
    }
    model = settings.model
    named = {
        "kernel": "auto" if model.kernel is None else to_text(model.kernel),
        "prior_mean": _name(PRIOR_MEANS, model.prior_mean),
        "noise": _name(NOISES, model.noise),
        "inducing": model.inducing,
        "policy": _name(POLICIES, settings.policy),
        "basis_functions": getattr(settings.policy, "basis_functions", getattr(settings.policy, "units", None)),
        **_state_options(settings.state),
        **_sensor_options(settings.sensor, machine),
    }
    return {**found, **{name: value for name, value in named.items() if value is not None}}


def _state_options(state: State | None) -> dict[str, Any]:
    if state is None:
        return {"method": "vf"}
    if type(state) is VelocityFree:
        return {"method": "vf", **{name: getattr(state, name) for name in ("m_q", "m_u", "policy_m_u", "encoding")}}
    if type(state) is FullState:
        return {"method": "full-state"}
    if type(state) is not Filtered:
        return {}
    used = {"online": _name(FILTERS, state.online), "offline": _name(FILTERS, state.offline)}
    values = {
        {LowPass: "cutoff", Kalman: "acceleration"}[type(f)]: next(iter(vars(f).values()))
        for f in (state.online, state.offline)
        if type(f) in (LowPass, Kalman)
    }
    return {"method": "pms", **used, **values}


def _sensor_options(sensor: Sensor | None, machine: Machine) -> dict[str, Any]:
    if sensor is None:
        return {"sensor": "task"}
    if isinstance(sensor, TimingJitter):
        return {**_sensor_options(sensor.sensor, machine), "jitter": sensor.std * machine.sampling_time}
    own = machine.sensor.sensor if isinstance(machine.sensor, TimingJitter) else machine.sensor
    jitter = {"jitter": 0.0} if own is not machine.sensor else {}
    return {"sensor": "task" if sensor == own else sensor_text(sensor), **jitter}


COMPONENTS = {
    **dict.fromkeys(("method", "m_q", "m_u", "policy_m_u", "encoding"), "state"),
    **dict.fromkeys(("online", "offline", "cutoff", "acceleration"), "state"),
    **dict.fromkeys(("policy", "basis_functions"), "policy"),
    **dict.fromkeys(("sensor", "jitter"), "sensor"),
}
"""The options that describe a component together; every other one is a setting of the same name."""
CHOICES = {"state": "method", "policy": "policy"}
"""The option that chooses the class of such a component."""


def apply_options(base: Settings, changed: Mapping[str, Any], machine: Machine) -> Settings:
    """Settings with some options changed; components that these options do not describe stay the objects they are.

    Args:
        base: The settings before; they may have components of the user's own classes.
        changed: The options that change.
        machine: The machine.

    Raises:
        UserError: If a value is wrong, or belongs to a built-in component where the settings have another one.

    Example:
        >>> import vfpilco
        >>> base = Settings().replace(policy=RBF(50))
        >>> apply_options(base, {"steps": 300}, vfpilco.task("cartpole").machine).policy.basis_functions
        50
    """
    before, own = options_of(base, machine), base.flat()
    options = Options(**{**before, **changed})
    touched = {COMPONENTS.get(name, name) for name in changed}
    wanted, described = (each.settings(machine).flat() for each in (options, Options(**before)))
    for component in touched & {"state", "policy"}:
        if CHOICES[component] not in changed and described[component] != own[component]:
            names = " and ".join(f"--{name.replace('_', '-')}" for name in changed if COMPONENTS.get(name) == component)
            raise UserError(
                f"{names} can only be given for a built-in {component}, but the settings have {own[component]}: leave "
                f"it out, or choose a built-in one with --{CHOICES[component]}."
            )
    if "sensor" in touched and "sensor" not in changed:  # Only the jitter changes, whatever the sensor is.
        sensor = dataclasses.replace(options, sensor="task")._sensor(machine, base.sensor)
        wanted["sensor"] = None if sensor == machine.sensor else sensor
    return base.replace(**{name: wanted[name] for name in touched})


def _name(names: Mapping[str, type], component: object) -> str | None:
    return next((name for name, cls in names.items() if type(component) is cls), None)


def as_flags(settings: Settings, default: Settings, machine: Machine) -> list[str]:
    """The command-line flags for those settings that differ from the default ones."""
    before, after = options_of(default, machine), options_of(settings, machine)
    changed = [(name, value) for name, value in after.items() if before.get(name, _DEFAULTS.get(name)) != value]
    return [word for name, value in changed for word in (f"--{name.replace('_', '-')}", str(value))]


def differences(before: Settings, after: Settings, machine: Machine) -> dict[str, tuple[Any, Any]]:
    """The settings that differ, with both values: by the names of options, or of components that have none."""
    then, now = before.flat(), after.flat()
    changed = {name: (then[name], value) for name, value in now.items() if value != then[name]}
    if not changed:
        return {}
    then, now = {**then, **options_of(before, machine)}, {**now, **options_of(after, machine)}
    options = [name for name in _DEFAULTS if then.get(name) != now.get(name)]
    return {name: (then.get(name), now.get(name)) for name in options} or changed


_DEFAULTS = {f.name: f.default for f in dataclasses.fields(Options)}


def parse_sensor(text: str, positions: int) -> Sensor:
    """The sensor that a text describes: `noise:STD,…` or `step:STEP,…`, with a number for every position."""
    kind, _, numbers = text.partition(":")
    try:
        values = tuple(float(number) for number in numbers.split(","))
        cls = SENSORS[kind]
    except (ValueError, KeyError):
        raise UserError(f"sensor must be task, noise:STD,… or step:STEP,…, got {text[:100]!r}.") from None
    if len(values) != positions:
        raise UserError(f"sensor must have {positions} numbers, one for every position, got {text[:100]!r}.")
    return cls(values)


def sensor_text(sensor: Sensor) -> str | None:
    """A sensor as text; None if it cannot be written that way."""
    if isinstance(sensor, GaussianNoise):
        return "noise:" + ",".join(f"{std:.6g}" for std in sensor.std)
    if isinstance(sensor, Quantised):
        return "step:" + ",".join(f"{step:.9g}" for step in sensor.step)
    return None


RENAMED = {"inputs": "encoding", "credit": "gradient_decay", "settled": "tolerance"}
"""Names of format 3, and what they are called now."""
FORMAT_3 = {
    **{"m_q": 2, "m_u": 1, "kernel": "se", "noise": "white", "inducing": 128, "jitter": 0.0},
    **{"policy": "rbf", "gradient_decay": 1.0, "clip": 0.0, "input_change_penalty": 0.0},
}
"""What a run of format 3 did where it does not say: nothing was chosen from the data, and gradients were exact."""


def settings_of_format_3(flat: Mapping[str, Any], machine: Machine) -> Settings:
    """The settings of a run of format 3; it may be older than some of them."""
    known: dict[str, Any] = {**FORMAT_3, **{RENAMED.get(name, name): value for name, value in flat.items()}}
    known.pop("persistence", None)
    if known.get("encoding") == "naive":
        known["encoding"] = "positions"
    try:
        unknown_names = set(known) - set(_DEFAULTS)
        if unknown_names:
            raise ValueError(f"there is no {sorted(unknown_names)[0]!r}")
        return from_json_types(known, Options).settings(machine)
    except DATA_ERRORS as error:
        raise UserError(f"These are not settings of this version ({error}).") from error


def recorded_settings(description: Mapping[str, Any], machine: Machine, *components: Any) -> Settings:
    """The settings in a run.json of any readable format; `components` are objects of the user's own classes."""
    if "type" in description:
        return Settings.from_description(description, *components)
    return settings_of_format_3(description, machine)
