"""Learn to control a machine from raw position measurements: VF-MC-PILCO.

One verb, `learn("cartpole")`, returns a result with the policy, the trials and the model, which prints, plots and
animates itself; `result.policy(q)` computes the inputs for the positions just measured.

Importing this package imports nothing else and changes nothing in the process: every name below is imported when it is
first used, and JAX is configured by `learn` or by `configure()`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vfpilco.common.configuration import configure
    from vfpilco.common.errors import UserError
    from vfpilco.common.random import Random
    from vfpilco.data.failures import NotStopped, PlantError, TooRisky
    from vfpilco.data.trial import Trial
    from vfpilco.data.watcher import Watcher
    from vfpilco.exports import export
    from vfpilco.interactive.learn import learn, tell
    from vfpilco.interactive.result import Result
    from vfpilco.machines.load import load as task
    from vfpilco.model.kernels import SE, Friction, GPInputs, Hyperprior, Kernel, Linear, Poly, ScaledKernel
    from vfpilco.model.noise import CorrelatedNoise, NoiseModel, WhiteNoise
    from vfpilco.model.prior_mean import ConstantVelocity, PriorMean, ZeroMean
    from vfpilco.plants.clock import Clock
    from vfpilco.plants.serve import serve
    from vfpilco.plants.simulation import SimulatedPlant
    from vfpilco.plants.tcp import RemotePlant
    from vfpilco.policy.base import BoundPolicy, Policy, PolicyInputs
    from vfpilco.policy.learned import LearnedPolicy
    from vfpilco.policy.mlp import MLP
    from vfpilco.policy.rbf import RBF, LinearRBF, PhysicalRBF
    from vfpilco.state.base import Signals, State
    from vfpilco.state.filtered import Filtered, FullState
    from vfpilco.state.filters import Kalman, LowPass
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
    from vfpilco.tasks.machine import Drawing, Features, Input, Machine, Position
    from vfpilco.tasks.plant import Plant
    from vfpilco.tasks.realtime import RealTime
    from vfpilco.tasks.sensors import GaussianNoise, PerPosition, Quantised, Sensor, TimingJitter
    from vfpilco.tasks.start import GaussianStart, MovingStart, Start, UniformStart
    from vfpilco.tasks.task import Measure, Task
    from vfpilco.trials.dryrun import dry_run
    from vfpilco.trials.evaluate import evaluate
    from vfpilco.trials.settings import Settings
    from vfpilco.trials.tell import ask

_PLACES = {
    "common.configuration": ("configure",),
    "common.errors": ("UserError",),
    "common.random": ("Random",),
    "data.failures": ("NotStopped", "PlantError", "TooRisky"),
    "data.trial": ("Trial",),
    "data.watcher": ("Watcher",),
    "exports": ("export",),
    "interactive.learn": ("learn", "tell"),
    "interactive.result": ("Result",),
    "model.kernels": ("SE", "Friction", "GPInputs", "Hyperprior", "Kernel", "Linear", "Poly", "ScaledKernel"),
    "model.noise": ("CorrelatedNoise", "NoiseModel", "WhiteNoise"),
    "model.prior_mean": ("ConstantVelocity", "PriorMean", "ZeroMean"),
    "plants.clock": ("Clock",),
    "plants.serve": ("serve",),
    "plants.simulation": ("SimulatedPlant",),
    "plants.tcp": ("RemotePlant",),
    "policy.base": ("BoundPolicy", "Policy", "PolicyInputs"),
    "policy.learned": ("LearnedPolicy",),
    "policy.mlp": ("MLP",),
    "policy.rbf": ("RBF", "LinearRBF", "PhysicalRBF"),
    "state.base": ("Signals", "State"),
    "state.filtered": ("Filtered", "FullState"),
    "state.filters": ("Kalman", "LowPass"),
    "state.window": ("VelocityFree",),
    "tasks.exploration": (
        *("Cosines", "Exploration", "Feedback", "FilteredNoise", "RandomPD"),
        *("SumOfSines", "TriangularWaves"),
    ),
    "tasks.machine": ("Drawing", "Features", "Input", "Machine", "Position"),
    "tasks.plant": ("Plant",),
    "tasks.realtime": ("RealTime",),
    "tasks.sensors": ("GaussianNoise", "PerPosition", "Quantised", "Sensor", "TimingJitter"),
    "tasks.start": ("GaussianStart", "MovingStart", "Start", "UniformStart"),
    "tasks.task": ("Measure", "Task"),
    "trials.dryrun": ("dry_run",),
    "trials.evaluate": ("evaluate",),
    "trials.settings": ("Settings",),
    "trials.tell": ("ask",),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "MLP",
    "RBF",
    "SE",
    "BoundPolicy",
    "Clock",
    "ConstantVelocity",
    "CorrelatedNoise",
    "Cosines",
    "Drawing",
    "Exploration",
    "Features",
    "Feedback",
    "Filtered",
    "FilteredNoise",
    "Friction",
    "FullState",
    "GPInputs",
    "GaussianNoise",
    "GaussianStart",
    "Hyperprior",
    "Input",
    "Kalman",
    "Kernel",
    "LearnedPolicy",
    "Linear",
    "LinearRBF",
    "LowPass",
    "Machine",
    "Measure",
    "MovingStart",
    "NoiseModel",
    "NotStopped",
    "PerPosition",
    "PhysicalRBF",
    "Plant",
    "PlantError",
    "Policy",
    "PolicyInputs",
    "Poly",
    "Position",
    "PriorMean",
    "Quantised",
    "Random",
    "RandomPD",
    "RealTime",
    "RemotePlant",
    "Result",
    "ScaledKernel",
    "Sensor",
    "Settings",
    "Signals",
    "SimulatedPlant",
    "Start",
    "State",
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
    "WhiteNoise",
    "ZeroMean",
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
        value = getattr(importlib.import_module(f"vfpilco.{_MODULES[name]}"), name)
    else:
        raise AttributeError(f"module 'vfpilco' has no attribute {name!r}")
    if isinstance(value, type):
        importlib.import_module("vfpilco.common.documentation").document(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
