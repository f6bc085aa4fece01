"""Learn to control a machine from raw position measurements: VF-MC-PILCO.

One verb, `learn(task, …)`, gives a result with the policy, the trials and the model; `result.policy(q)` are the inputs
for the positions just measured.
"""

from vfpilco import stopping

if stopping.is_program():
    stopping.while_loading()

from importlib.metadata import version

from vfpilco import engine
from vfpilco.controller import LearnedPolicy
from vfpilco.errors import PlantError, UserError
from vfpilco.evaluate import evaluate
from vfpilco.exploration import Cosines, FilteredNoise, RandomPD, TriangularWaves
from vfpilco.export import export
from vfpilco.journal import Result
from vfpilco.learn import learn
from vfpilco.plants.tcp import RemotePlant
from vfpilco.realtime import Clock, RealTime
from vfpilco.representation import Features
from vfpilco.sensors import GaussianNoise, Quantised
from vfpilco.serve import serve
from vfpilco.settings import Settings
from vfpilco.start import GaussianStart, UniformStart
from vfpilco.task import Input, Measure, Position, Task
from vfpilco.tasks import load as task
from vfpilco.tell import ask, tell
from vfpilco.watch import Watcher

__version__ = version("vfpilco")
__all__ = [
    "Clock",
    "Cosines",
    "Features",
    "FilteredNoise",
    "GaussianNoise",
    "GaussianStart",
    "Input",
    "LearnedPolicy",
    "Measure",
    "PlantError",
    "Position",
    "Quantised",
    "RandomPD",
    "RealTime",
    "RemotePlant",
    "Result",
    "Settings",
    "Task",
    "TriangularWaves",
    "UniformStart",
    "UserError",
    "Watcher",
    "ask",
    "engine",
    "evaluate",
    "export",
    "learn",
    "serve",
    "task",
    "tell",
]
