"""What a run is going to do: task, settings, seed, number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vfpilco.common.checks import check_integer
from vfpilco.common.errors import UserError
from vfpilco.common.memory import available_memory
from vfpilco.common.versions import computer, versions
from vfpilco.data.trial import Trial
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.inducing import SIZES
from vfpilco.model.kernels import GPInputs
from vfpilco.policy.base import Policy
from vfpilco.rollout.constraint import SafeRanges
from vfpilco.rollout.draws import Independent, OneFunction
from vfpilco.rollout.particles import Simulator
from vfpilco.state.base import CanMove, Signals, State
from vfpilco.state.window import VelocityFree
from vfpilco.storage.header import RunHeader, TaskDescription, ended
from vfpilco.tasks.machine import Machine
from vfpilco.tasks.plant import KnowsPositions, KnowsVelocities, Plant
from vfpilco.tasks.sensors import Sensor
from vfpilco.tasks.start import Moving
from vfpilco.tasks.task import Task
from vfpilco.trials.settings import Settings, default_settings

MOST_POINTS = 10_000
"""The most training points that can be learned from."""


@dataclass(frozen=True)
class Plan:
    """What a run is going to do; everything it does follows from this, to the bit."""

    task: Task
    settings: Settings
    seed: int = 0
    trials: int = 5
    until_successes: int = 0
    """The run ends earlier, after so many successes in a row; 0: never."""

    def __post_init__(self) -> None:
        exploration = self.settings.exploration
        if exploration is not None:
            object.__setattr__(self, "task", replace(self.task, exploration=exploration))

    def ended(self, successes: Sequence[bool]) -> bool:
        """Whether a run whose trials had these successes has come to its end."""
        return ended(successes, self.trials, self.until_successes)

    def check(self, plant: Plant | None = None) -> None:
        """Raise a `UserError` if the run cannot work, before the plant moves."""
        check_integer("trials", self.trials, 1)
        check_integer("until_successes", self.until_successes, 0)
        check_integer("seed", self.seed, 0, 2**63 - 1)
        state, horizon = self.dynamics.state, self.task.horizon
        if state.longest_memory >= horizon - 1:
            shown = self.settings.state or VelocityFree()
            raise UserError(f"The memory of {shown} does not fit in a trial of {horizon} samples: shorten it.")
        kinds = tuple(self.dynamics.state.input_kinds())
        ones = np.ones(len(kinds))
        kernel = self.settings.model.kernel
        if kernel is not None:
            kernel.hyperprior(GPInputs(kinds, ones, ones))  # one that does not fit is refused
        self._check_memory(len(kinds))
        if isinstance(self.task.start, Moving) and not isinstance(state, CanMove):
            raise UserError(
                f"Task {self.task.name!r} starts in motion, and a state of class {type(state).__name__} cannot: give "
                "the class a method moving(q, v) that returns such a state."
            )
        knows = isinstance(plant, KnowsPositions) and isinstance(plant, KnowsVelocities)
        if plant is not None and state.full_state and not knows:
            raise UserError(
                f"The plant of task {self.task.name!r} does not know its true state (true_positions, true_velocities), "
                "as the method full-state needs: choose --method vf or pms."
            )

    def _check_memory(self, features: int) -> None:
        """Refuse particles that do not fit in memory: their states at every sample, and kernels for the gradient."""
        rows, optimiser = self.capacity([]), self.settings.optimiser
        inducing = self.settings.model.inducing
        points = min(rows, SIZES[0] if inducing is None else inducing or rows)
        machine = self.task.machine
        numbers = (self.task.horizon + 1) * (features + len(machine.columns)) + 2 * len(machine.positions) * points
        needed, available = 4 * optimiser.particles * numbers, available_memory()
        if available is not None and needed > available:
            raise UserError(
                f"{optimiser.particles} particles need at least {needed / 1e9:.3g} GB of memory, and this computer has "
                f"{available / 1e9:.3g} GB left: use at most {int(available / (4 * numbers))} particles."
            )

    @property
    def sensor(self) -> Sensor:
        """The sensor that is assumed."""
        return self.settings.sensor or self.task.machine.sensor

    @property
    def risk_bound(self) -> float:
        """The fraction of the particles that may leave a safe range in the optimisation."""
        return min(self.settings.optimiser.risk_bound, self.settings.limits.max_risk)

    @property
    def dynamics(self) -> Dynamics:
        """What the GPs learn."""
        return dynamics_of(self.settings, self.task.machine)

    def simulator(
        self, dynamics: Dynamics, policy: Policy, *, predicting: bool = False, typical_cost: float = 1.0
    ) -> Simulator:
        """The particle simulation of this task under `policy`, for the optimisation or for a prediction.

        `typical_cost` is what a sample costs before anything is learned, the unit of the penalty on changes of inputs.
        """
        task, optimiser = self.task, self.settings.optimiser
        limits = task.machine.limits
        return Simulator(
            dynamics=dynamics,
            policy=policy,
            start=task.start,
            cost=task.cost,
            horizon=task.horizon,
            reference=None if task.reference is None else tuple(map(tuple, task.reference.tolist())),
            slew=self.settings.limits.slew_limit(limits),
            penalty=_weights(optimiser.input_penalty, limits),
            change_penalty=_weights(optimiser.input_change_penalty * typical_cost, limits),
            safe=SafeRanges.of(task.machine.positions) if self.risk_bound < 1 and not predicting else None,
            redraw_dropout=optimiser.dropout_draw == "step",
            draws=OneFunction() if predicting else Independent(),
        )

    def capacity(self, explored: list[Trial]) -> int:
        """The size that the training set has in the last trial; arrays are padded to it from the first one on."""
        state = self.dynamics.state
        full = state.rows(self.task.horizon)
        exploring = sum(max(state.rows(trial.steps), 0) for trial in explored)
        rows = (self.trials - 1) * full + max(self.task.explorations * full, exploring)
        if rows > MOST_POINTS:
            raise UserError(
                f"{self.trials} trials of {self.task.horizon} samples would be {rows} training points, and at most "
                f"{MOST_POINTS} can be learned from: reduce the number of trials."
            )
        return rows

    def header(self, *, external: bool = False) -> RunHeader:
        """The run.json of this run; `external` if its trials are executed elsewhere."""
        return RunHeader(
            task=TaskDescription.of(self.task),
            task_file=self.task.file,
            plant=self.task.plant,
            settings=self.settings.described(),
            seed=self.seed,
            trials=self.trials,
            until_successes=self.until_successes,
            versions=versions(),
            machine=computer(),
            external=external,
            summary=self.task.summary,
            measures={measure.name: measure.unit for measure in self.task.measures},
            defaults=default_settings(self.task).described(),
            target=None if self.task.target is None else list(self.task.target),
            drawing=self.task.machine.drawing.name,
        )


def _weights(penalty: float, limits: np.ndarray) -> tuple[float, ...] | None:
    """What the square of every input costs if those of all, relative to their limits, cost `penalty` in the mean."""
    return tuple(penalty / len(limits) / limit**2 for limit in limits.tolist()) if penalty else None


def dynamics_of(settings: Settings, machine: Machine, state: State | None = None) -> Dynamics:
    """What the GPs learn of a machine; `state` is the one that was chosen, if the settings leave it open."""
    sensor, model = settings.sensor or machine.sensor, settings.model
    state = state or settings.state or VelocityFree()
    return Dynamics(state.bind(Signals.of(machine, sensor)), model.prior_mean, model.noise, sensor)
