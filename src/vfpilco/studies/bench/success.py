"""How long it takes until the cart-pole is swung up for the first time, and what that time is spent on."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from typing import Any

import jax

from vfpilco.data.watcher import Watcher
from vfpilco.rollout import optimise
from vfpilco.trials.learn import learn

COMPILING = ("/jax/core/compile/backend_compile_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration")
"""What JAX calls the times of a compilation."""


@dataclass(frozen=True)
class TimeToSuccess:
    """One run, from its first exploration to its first success; the simulated machine takes no real time."""

    seconds: float
    trials: int
    """Policies that were executed."""
    gradient_steps: int
    """With those of policies that lost a race."""
    compiling: float
    fitting: float
    """Seconds for models, without compiling."""
    optimising: float
    """Seconds for policies, likewise."""
    predicting: float
    """Seconds for predictions, likewise."""
    peak_mb: float
    """Peak memory of the process."""


@dataclass
class Stopwatch(Watcher):
    """Measures the phases of a run, and how much of each was compiling."""

    spent: dict[str, float] = field(default_factory=dict)
    compiled: dict[str, float] = field(default_factory=dict)
    now: str = "starting"
    since: float = field(default_factory=time.perf_counter)

    def phase(self, trial: int, name: str) -> None:
        """The phase before ends."""
        later = time.perf_counter()
        self.spent[self.now] = self.spent.get(self.now, 0.0) + later - self.since
        self.now, self.since = name, later

    def note(self, text: str) -> None:
        """Nothing is shown."""

    def compiling(self, event: str, duration_secs: float, **kwargs: str | int) -> None:
        """JAX has compiled something."""
        if event in COMPILING:
            self.compiled[self.now] = self.compiled.get(self.now, 0.0) + duration_secs

    def without_compiling(self, name: str) -> float:
        """Seconds of a phase, in all trials together."""
        return max(self.spent.get(name, 0.0) - self.compiled.get(name, 0.0), 0.0)


def measure_success(seed: int) -> TimeToSuccess:
    """Learn the cart-pole until the first success."""
    watch, steps, begin = Stopwatch(), 0, time.perf_counter()
    jax.monitoring.register_event_duration_secs_listener(watch.compiling)
    make_steps = optimise.gradient_steps

    def counted(simulator: Any, state: Any, objective: Any, phase: Any, sampling: Any) -> Any:
        nonlocal steps
        steps += phase.steps
        return make_steps(simulator, state, objective, phase, sampling)

    optimise.gradient_steps = counted  # this process measures nothing else
    result = learn("cartpole", seed=seed, until_successes=1, watch=watch)
    watch.phase(0, "done")
    return TimeToSuccess(
        seconds=time.perf_counter() - begin,
        trials=len(result.successes),
        gradient_steps=steps,
        compiling=sum(watch.compiled.values()),
        fitting=watch.without_compiling("learning the model"),
        optimising=watch.without_compiling("optimising the policy"),
        predicting=watch.without_compiling("predicting"),
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )
