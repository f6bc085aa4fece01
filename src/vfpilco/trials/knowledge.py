"""What a run knows about its machine: the delay, sensor noise, end stops and timing jitter that its data show."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from vfpilco.model.dynamics import Dynamics
from vfpilco.recordings.stops import Stops, find_stops
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.machine import Machine
from vfpilco.trials.choosing import can_jitter, choose_memory, with_jitter
from vfpilco.trials.exploring import explorations_words
from vfpilco.trials.plan import dynamics_of
from vfpilco.trials.result import RunResult
from vfpilco.trials.sensing import Sensing, choose_sensor

Found = TypeVar("Found")
FAR = 1e4
"""How many times as far as the explorations particles may move; what a model predicts there is meaningless."""


class Knowledge:
    """What the trials of a run show of its machine; what is given by hand is not looked for.

    `open_loop` says that the inputs of explorations depended on no measurement.
    """

    def __init__(self, result: RunResult, *, open_loop: bool) -> None:
        self.result, self.open_loop = result, open_loop
        self.settings, self.declared = result.settings, result.task.machine
        self._found: dict[tuple[str, int], object] = {}

    @property
    def machine(self) -> Machine:
        """The machine with the sensor that is assumed: the declared one unless the data clearly disagree."""
        sensing = self._sensing
        if sensing is None or sensing.sensor is self.declared.sensor:
            return self.declared
        return dataclasses.replace(self.declared, sensor=sensing.sensor)

    @property
    def dynamics(self) -> Dynamics:
        """How the GPs see the machine, with the position memory and the timing jitter that the last model found."""
        model, memory = self.result.model, self.memory
        if memory is not None and model is not None and model.m_q:
            memory = dataclasses.replace(memory, m_q=model.m_q)
        dynamics = dataclasses.replace(
            dynamics_of(self.settings, self.machine, memory), stops=self.stops, reach=self.reach
        )
        if model is None or not model.jitter:
            return dynamics
        return dataclasses.replace(dynamics, sensor=with_jitter(dynamics.sensor, self.machine, model.jitter))

    @property
    def can_jitter(self) -> bool:
        """Whether a timing jitter can be found."""
        return can_jitter(dynamics_of(self.settings, self.machine))

    @property
    def memory(self) -> VelocityFree | None:
        """The state that suits the delay of the machine, found in the explorations; None if it is given by hand."""
        chosen = self._chosen_memory
        return None if chosen is None else chosen[0]

    @property
    def stops(self) -> Stops | None:
        """The end stops of the machine; None if none was found, or with a baseline."""
        explored = self.result.explored
        if not self.open_loop or not self._velocity_free:
            return None
        later = [trial for trial in self.result.trials if not any(trial is one for one in explored)]
        return self._once("stops", len(self.result.trials), lambda: find_stops(explored, later, self.machine))

    @property
    def reach(self) -> tuple[float, ...] | None:
        """How far particles may move: many times as far as the explorations went, to a power of ten."""
        explored = self.result.explored
        if not explored or not self._velocity_free:
            return None
        measured = np.max([np.abs(trial.q).max(0) for trial in explored], axis=0)
        size = np.maximum(measured, [p.scale for p in self.declared.positions])
        return tuple((FAR * 10 ** np.ceil(np.log10(size))).tolist())

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found before the first model, in a sentence each."""
        memory, sensing, stops = self._chosen_memory, self._sensing, self.stops
        found = (*self._explorations, *(() if memory is None else (memory[1],)))
        found += () if sensing is None else sensing.remarks
        return found if stops is None else (*found, f"{stops.sentence(self.machine)}. Particles stop there, too.")

    @property
    def _explorations(self) -> list[str]:
        """How many explorations there were and how large their inputs became, if there is something to say."""
        explored = self.result.explored
        if not self.open_loop or not explored:
            return []
        return explorations_words(self.result.task, explored, self.settings.limits.first_share)

    @property
    def _chosen_memory(self) -> tuple[VelocityFree, str] | None:
        """The memory that was chosen, and why."""
        explored = self.result.explored
        if self.settings.state is not None or not explored:
            return None
        return self._once("memory", len(explored), lambda: choose_memory(explored, self.declared, self.open_loop))

    @property
    def _sensing(self) -> Sensing | None:
        """The sensor that is assumed, and why; None if it is given by hand, or with a baseline."""
        explored = self.result.explored
        if self.settings.sensor is not None or not explored or not self._velocity_free:
            return None
        m_u = getattr(self.memory or self.settings.state, "m_u", 1)
        return self._once("sensor", len(explored), lambda: choose_sensor(explored, self.declared, m_u, self.open_loop))

    @property
    def _velocity_free(self) -> bool:
        """Whether the state is the velocity-free one, not that of a baseline."""
        return isinstance(self.settings.state or VelocityFree(), VelocityFree)

    def _once(self, what: str, data: int, find: Callable[[], Found]) -> Found:
        """What is found in that much data, which is looked for only once."""
        if (what, data) not in self._found:
            self._found[what, data] = find()
        return self._found[what, data]  # pyright: ignore[reportReturnType]
