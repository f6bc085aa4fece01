"""The trials, the policy and the model of a result, each with a plot of its own."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vfpilco.data.trial import Trial
from vfpilco.model.model import Model
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.report.figures import model_figure, policy_figure
from vfpilco.report.movie import Film, film_of, render, trial_name
from vfpilco.report.picture import trial_figure
from vfpilco.storage.scenes import draw
from vfpilco.trials.plan import dynamics_of

if TYPE_CHECKING:
    from vfpilco.interactive.result import Result


@dataclass(frozen=True, repr=False)
class PlottedTrial(Trial):
    """A trial of a run, with a plot and a film."""

    run: Result = field(kw_only=True, compare=False)
    """The run that it belongs to."""
    index: int = field(kw_only=True, compare=False)
    """Which execution of that run it is, from 0."""

    def plot(self) -> Any:
        """A figure of the trial: positions and inputs over what was predicted, with target, safe range and limits."""
        return trial_figure(self.run.task, self, self.run.rows[self.index], self.run.predicted(self.index))

    def animate(self, predicted: bool = True, fps: int = 20, speed: float = 1.0) -> Animation:
        """A film of the machine in this trial, beside what was predicted; a notebook shows it."""
        return Animation(self, predicted, fps, speed)


class PlottedPolicy(LearnedPolicy):
    """The policy of a run, with a plot."""

    def __init__(self, policy: LearnedPolicy, run: Result) -> None:
        vars(self).update(vars(policy))  # the same policy, whatever it is made of
        self.run = run
        self.reset()

    def plot(self) -> Any:
        """A figure of the inputs over every position and its speed, around the end of the last trial."""
        task = self.run.task
        return policy_figure(self, self.run.trials[-1], task.machine.positions, task.machine.inputs, task.targets)


@dataclass(frozen=True, repr=False)
class PlottedModel(Model):
    """The model of a run, with a plot."""

    run: Result = field(kw_only=True, compare=False)
    """The run that it belongs to."""

    def plot(self) -> Any:
        """A figure of its errors one sample ahead on the last trial, which it has not seen, and of what it expected."""
        machine = self.run.task.machine
        policy = self.run.policy
        dynamics = dynamics_of(self.run.settings, machine, None if policy is None else policy.state)
        return model_figure(self, dynamics, self.run.trials[-1], machine.positions)


@dataclass(frozen=True)
class Animation:
    """A film of a trial: a notebook shows it, `save` writes it."""

    trial: PlottedTrial
    predicted: bool = True
    """Whether to show the prediction beside the machine."""
    fps: int = 20
    """Frames per second."""
    speed: float = 1.0
    """How fast it is; 0.5 is half as fast as the machine."""

    def film(self) -> Film:
        """The machine in motion, to be drawn."""
        run, index = self.trial.run, self.trial.index
        scenes = draw(run.drawing, self.trial, run.predicted(index))
        return film_of(scenes, self.trial, trial_name(run.rows[index]), self.predicted)

    def save(self, file: str | Path) -> Path:
        """Write it: .gif or .mp4 for a film, .png or .pdf for a picture of the motion."""
        return render(self.film(), Path(file), fps=self.fps, speed=self.speed)

    @cached_property
    def gif(self) -> bytes:
        """The film as a GIF."""
        with tempfile.TemporaryDirectory(prefix="vfpilco-") as folder:
            return self.save(Path(folder) / "film.gif").read_bytes()

    def _repr_html_(self) -> str:
        return f'<img alt="film of a trial" src="data:image/gif;base64,{base64.b64encode(self.gif).decode()}">'
