"""Learn to control a machine from raw position measurements: VF-MC-PILCO.

One verb, `learn("cartpole")`, returns a result with the policy, the trials and the model, which prints, plots and
animates itself; `result.policy(q)` computes the inputs for the positions just measured.

What people use is here: verbs, the description of machine and task, parts to choose from, results and errors. What one
subclasses is in its module, as are baselines and the parts of the paper's model: `vfpilco.model.kernels.Kernel`.

Importing this package imports nothing else and changes nothing in the process: every name below is imported when it is
first used, and JAX is configured by `learn` or by `configure()`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vfpilco.common.configuration import configure
    from vfpilco.common.errors import UserError
    from vfpilco.data.failures import NotStopped, PlantError, TooRisky
    from vfpilco.data.trial import Trial
    from vfpilco.data.watcher import Watcher
    from vfpilco.exports import export
    from vfpilco.interactive.learn import learn, tell
    from vfpilco.interactive.result import Result
    from vfpilco.machines.load import load as task
    from vfpilco.model.kernels import SE, Friction, Linear, Poly
    from vfpilco.plants.clock import Clock
    from vfpilco.plants.serve import serve
    from vfpilco.plants.simulation import SimulatedPlant
    from vfpilco.plants.tcp import RemotePlant
    from vfpilco.policy.learned import LearnedPolicy
    from vfpilco.policy.mlp import MLP
    from vfpilco.policy.rbf import RBF, LinearRBF
    from vfpilco.state.window import VelocityFree
    from vfpilco.tasks.exploration import Cosines, FilteredNoise, RandomPD, SumOfSines, TriangularWaves
    from vfpilco.tasks.machine import Drawing, Features, Input, Machine, Position
    from vfpilco.tasks.realtime import RealTime
    from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, TimingJitter
    from vfpilco.tasks.start import GaussianStart, MovingStart, UniformStart
    from vfpilco.tasks.task import Measure, Task
    from vfpilco.trials.dryrun import dry_run
    from vfpilco.trials.evaluate import evaluate
    from vfpilco.trials.settings import Settings
    from vfpilco.trials.tell import ask

_PLACES = {
    "common.configuration": ("configure",),
    "common.errors": ("UserError",),
    "data.failures": ("NotStopped", "PlantError", "TooRisky"),
    "data.trial": ("Trial",),
    "data.watcher": ("Watcher",),
    "exports": ("export",),
    "interactive.learn": ("learn", "tell"),
    "interactive.result": ("Result",),
    "model.kernels": ("SE", "Friction", "Linear", "Poly"),
    "plants.clock": ("Clock",),
    "plants.serve": ("serve",),
    "plants.simulation": ("SimulatedPlant",),
    "plants.tcp": ("RemotePlant",),
    "policy.learned": ("LearnedPolicy",),
    "policy.mlp": ("MLP",),
    "policy.rbf": ("RBF", "LinearRBF"),
    "state.window": ("VelocityFree",),
    "tasks.exploration": ("Cosines", "FilteredNoise", "RandomPD", "SumOfSines", "TriangularWaves"),
    "tasks.machine": ("Drawing", "Features", "Input", "Machine", "Position"),
    "tasks.realtime": ("RealTime",),
    "tasks.sensors": ("GaussianNoise", "PerPosition", "Quantised", "TimingJitter"),
    "tasks.start": ("GaussianStart", "MovingStart", "UniformStart"),
    "tasks.task": ("Measure", "Task"),
    "trials.dryrun": ("dry_run",),
    "trials.evaluate": ("evaluate",),
    "trials.settings": ("Settings",),
    "trials.tell": ("ask",),
}
_EXTENDING = {
    "common.random": ("Random",),
    "model.kernels": ("GPInputs", "Hyperprior", "Kernel", "ScaledKernel"),
    "model.noise": ("CorrelatedNoise", "NoiseModel", "WhiteNoise"),
    "model.prior_mean": ("ConstantVelocity", "PriorMean", "ZeroMean"),
    "policy.base": ("BoundPolicy", "Policy", "PolicyInputs"),
    "policy.rbf": ("PhysicalRBF",),
    "state.base": ("Signals", "State"),
    "state.filtered": ("Filtered", "FullState"),
    "state.filters": ("Kalman", "LowPass"),
    "tasks.exploration": ("Exploration", "Feedback"),
    "tasks.plant": ("Plant",),
    "tasks.sensors": ("Sensor",),
    "tasks.start": ("Start",),
}
"""What version 0.3 had here too; using it from here is deprecated."""


def _modules(places: dict[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: f"vfpilco.{module}" for module, names in places.items() for name in names}


_MODULES, ELSEWHERE = _modules(_PLACES), _modules(_EXTENDING)
"""The modules of the names here, and of those that are imported from their modules."""

__all__ = [
    "MLP",
    "RBF",
    "SE",
    "Clock",
    "Cosines",
    "Drawing",
    "Features",
    "FilteredNoise",
    "Friction",
    "GaussianNoise",
    "GaussianStart",
    "Input",
    "LearnedPolicy",
    "Linear",
    "LinearRBF",
    "Machine",
    "Measure",
    "MovingStart",
    "NotStopped",
    "PerPosition",
    "PlantError",
    "Poly",
    "Position",
    "Quantised",
    "RandomPD",
    "RealTime",
    "RemotePlant",
    "Result",
    "Settings",
    "SimulatedPlant",
    "SumOfSines",
    "Task",
    "TimingJitter",
    "TooRisky",
    "Trial",
    "TriangularWaves",
    "UniformStart",
    "UserError",
    "VelocityFree",
    "Watcher",
    "ask",
    "configure",
    "dry_run",
    "evaluate",
    "export",
    "learn",
    "serve",
    "task",
    "tell",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("vfpilco")
    if name == "task":
        value = importlib.import_module("vfpilco.machines.load").load
    elif name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    elif name in ELSEWHERE:
        return _deprecated(name)
    else:
        raise AttributeError(f"module 'vfpilco' has no attribute {name!r}")
    if isinstance(value, type):
        importlib.import_module("vfpilco.common.documentation").document(value)
    globals()[name] = value
    return value


def _deprecated(name: str) -> Any:
    warnings = importlib.import_module("warnings")
    module = ELSEWHERE[name]
    warnings.warn(f"Import {name} from {module}, not from vfpilco.", DeprecationWarning, stacklevel=3)
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
