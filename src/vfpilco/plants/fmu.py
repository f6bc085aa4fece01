"""FMUs as plants: machines that Simulink, Modelica tools and others export for co-simulation (FMI 2 and 3)."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np

from vfpilco.common.errors import UserError, describe_exception, unknown
from vfpilco.common.random import NumpyRandom
from vfpilco.common.units import converted
from vfpilco.data.failures import PlantError
from vfpilco.plants.simulation import Sensed
from vfpilco.tasks.machine import Input, Position
from vfpilco.tasks.task import Task

REALS = ("Real", "Float64", "Float32")
DISCARD = 2
"""The status of a step that the FMU did not want to complete."""
SAME = {"N.m": "N·m", "Nm": "N·m", "N*m": "N·m", "1": "", "-": "", "°": "deg"}
"""Spellings of units."""


class Variable(NamedTuple):
    """A variable of an FMU that is a position or an input of the task."""

    reference: int
    kind: str
    """Its type: Real, Float64 or Float32."""
    factor: float
    """Its value times this is in the unit of the task."""
    settable: bool
    """Whether it accepts a start value."""


class FMUPlant(Sensed):
    """Simulates an FMU and measures its variables with the task's sensor.

    Every position and input is the variable that it names with `variable`, or the one of its own name. A position whose
    variable accepts a start value starts where the task's start distribution says; other start values are given in the
    address: `fmu:crane.fmu?mass=3.5&damping=0.1`. An FMU contains compiled code that is executed: use only files that
    you trust.

    Args:
        path: The file.
        task: The task.
        start: Start values of variables.

    Raises:
        UserError: If FMPy is missing, or the file is no FMU for co-simulation on this computer that fits the task.
    """

    def __init__(self, path: Path, task: Task, start: Mapping[str, str | float] | None = None) -> None:
        self.path, self.task, self.sensor, self.terminated = path, task, task.machine.sensor, False
        self.fmpy, self.fmu, self.started = library(), None, False
        try:
            self.description = self.fmpy.read_model_description(str(path), validate=False)
        except Exception as error:  # FMPy raises many kinds of errors for files that are no FMU.
            raise UserError(f"{path} is not an FMU ({describe_exception(error)}): export it again.") from error
        self.known = {variable.name: variable for variable in self.description.modelVariables}
        self._check_kind()
        self.positions = [self._variable(p, ("output", "local")) for p in task.machine.positions]
        self.inputs = [self._variable(i, ("input",)) for i in task.machine.inputs]
        self.start = {name: self._start_value(name, value) for name, value in (start or {}).items()}
        self.rng, self.time = np.random.default_rng(0), 0.0
        self._instantiate()

    # -- what fits the task ----------------------------------------------------------------------------------------

    def _check_kind(self) -> None:
        version = str(self.description.fmiVersion)
        if self.description.coSimulation is None or version[0] not in "23":
            raise UserError(f"{self.path} is not for co-simulation with FMI 2 or 3: export it as a co-simulation FMU.")
        platforms = self.fmpy.supported_platforms(str(self.path))
        own = {self.fmpy.platform, self.fmpy.platform_tuple}
        if not own & set(platforms):
            raise UserError(
                f"{self.path} runs on {', '.join(platforms) or 'no platform'}, not on {self.fmpy.platform} like this "
                "computer: export it for this one."
            )

    def _variable(self, one: Position | Input, causalities: Sequence[str]) -> Variable:
        name, kind = one.variable or one.name, "input" if isinstance(one, Input) else "position"
        if name not in self.known:
            fitting = [v.name for v in self.known.values() if v.causality in causalities and v.type in REALS]
            message = unknown(f"variable of {self.path}", name, fitting)
            raise UserError(f"{message} Name that of {one.name!r} with variable=….")
        found = self.known[name]
        if found.type not in REALS or found.dimensions or found.causality not in causalities:
            raise UserError(
                f"{name} of {self.path} has the causality {found.causality} and the type {found.type}, but {kind} "
                f"{one.name!r} needs an {causalities[0]} that is a single real number: name another variable."
            )
        if isinstance(one, Input):
            self._check_limit(one, found)
        settable = found.initial in ("exact", "approx") and found.variability != "constant"
        return Variable(found.valueReference, found.type, self._factor(one, found), settable)

    def _factor(self, one: Position | Input, found: Any) -> float:
        unit = found.unit or getattr(found.declaredType, "unit", None) or ""
        given, due = SAME.get(unit, unit), SAME.get(one.unit, one.unit)
        if not given or not due or given == due:
            return 1.0
        goal, factor = converted(given)
        if goal != due:
            raise UserError(
                f"{found.name} of {self.path} is in {unit}, but {one.name!r} in {one.unit}: use the same unit in the "
                "task."
            )
        return factor

    def _check_limit(self, one: Input, found: Any) -> None:
        ends = [abs(float(end)) for end in (found.min, found.max) if end is not None]
        most = min(ends, default=math.inf) * self._factor(one, found)
        if one.limit > most * (1 + 1e-9):
            raise UserError(
                f"{self.path} takes {found.name} up to {most:.4g}, got a limit of {one.limit:.4g}: lower it."
            )

    def _start_value(self, name: str, value: str | float) -> float:
        if name not in self.known:
            raise unknown(f"variable of {self.path}", name, self.known)
        try:
            number = float({"true": 1, "false": 0}.get(str(value).lower(), value))
        except ValueError:
            raise UserError(f"The start value of {name} must be a number, got {value!r}.") from None
        if self.known[name].type in ("String", "Binary") or not self.fmpy.simulation.settable_in_instantiated(
            self.known[name]
        ):
            raise UserError(f"{name} of {self.path} takes no start value: choose a parameter, or a variable with one.")
        return number

    # -- simulation ------------------------------------------------------------------------------------------------

    def _instantiate(self) -> None:
        self.folder = self.fmpy.extract(str(self.path))
        try:
            self.fmu = self.fmpy.instantiate_fmu(str(self.folder), self.description, "CoSimulation")
        except Exception as error:
            self.close()
            raise UserError(f"{self.path} cannot be started ({describe_exception(error)}): export it again.") from error

    def reset(self, seed: int) -> np.ndarray:
        self.rng, self.time, self.terminated = np.random.default_rng(seed), 0.0, False
        fmu: Any = self.fmu
        try:
            if self.started:
                fmu.reset()
            self.started = True
            self._set_start_values()
            if str(self.description.fmiVersion)[0] == "2":
                fmu.setupExperiment(startTime=0.0)
                fmu.enterInitializationMode()
            else:
                fmu.enterInitializationMode(startTime=0.0)
            self._apply(np.zeros(len(self.inputs)))
            fmu.exitInitializationMode()
        except Exception as error:
            raise PlantError(f"{self.path} cannot be initialised ({describe_exception(error)}).") from error
        return self.first_measurement()

    def _set_start_values(self) -> None:
        drawn = np.asarray(self.task.start.sample(NumpyRandom(self.rng), 1))[0]
        for variable, value in zip(self.positions, drawn, strict=True):
            if variable.settable:
                self._set(variable.kind, variable.reference, float(value) / variable.factor)
        for name, value in self.start.items():
            self._set(self.known[name].type, self.known[name].valueReference, value)

    def _set(self, kind: str, reference: int, value: float) -> None:
        kind = {"Enumeration": "Integer" if str(self.description.fmiVersion)[0] == "2" else "Int64"}.get(kind, kind)
        number = value if kind in REALS else bool(value) if kind == "Boolean" else int(value)
        getattr(self.fmu, f"set{kind}")([reference], [number])

    def _apply(self, u: np.ndarray) -> None:
        for variable, value in zip(self.inputs, u.tolist(), strict=True):
            self._set(variable.kind, variable.reference, value / variable.factor)

    @property
    def true_positions(self) -> np.ndarray:
        """The values of the variables, without the sensor's error."""
        values = [getattr(self.fmu, f"get{v.kind}")([v.reference])[0] * v.factor for v in self.positions]
        return np.array(values, dtype=float)

    def step(self, u: np.ndarray) -> np.ndarray:
        sampling_time, fmu = self.task.machine.sampling_time, self.fmu
        try:
            self._apply(u)
            done: Any = fmu.doStep(currentCommunicationPoint=self.time, communicationStepSize=sampling_time)  # type: ignore[union-attr]
            self.terminated = isinstance(done, tuple) and bool(done[1])
        except Exception as error:
            if getattr(error, "status", None) != DISCARD:
                raise PlantError(f"{self.path} failed at {self.time:.4g} s ({describe_exception(error)}).") from error
            self.terminated = True
        self.time += sampling_time
        return self.measurement()

    def stop(self) -> None:
        """Do nothing: a simulation need not be stopped."""

    def close(self) -> None:
        """Unload the FMU and remove what was unpacked."""
        fmu, self.fmu = self.fmu, None
        if fmu is not None:
            fmu.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)


def library() -> Any:
    """The package FMPy; a `UserError` with the pip command if it is not installed."""
    try:
        import fmpy
        import fmpy.simulation
    except ImportError as error:
        raise UserError("FMUs need the package FMPy: pip install 'vfpilco[fmi]'.") from error
    return fmpy


def open_fmu(address: str, task: Task) -> FMUPlant:
    """The plant at an address without its scheme, such as `crane.fmu?mass=3.5`.

    Raises:
        UserError: If there is no such file, or it does not fit the task.
    """
    name, _, values = address.partition("?")
    folders = [Path(), *([] if task.file is None else [Path(task.file).parent])]
    path = next((folder / name for folder in folders if name and (folder / name).is_file()), None)
    if path is None:
        raise UserError(f"There is no FMU {name[:200]!r}: give its file, as in fmu:crane.fmu.")
    start = dict(parse_qsl(values, keep_blank_values=True))
    return FMUPlant(path, task, start)
