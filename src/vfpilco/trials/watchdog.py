"""How long everything in a trial may take before another thread stops the machine."""

from __future__ import annotations

import math

from vfpilco.plants.serve.watchdog import WatchedMotion
from vfpilco.plants.tcp import REPORT
from vfpilco.tasks.plant import Plant, StopsAside
from vfpilco.tasks.realtime import RealTime


def watched(plant: Plant, rules: RealTime | None, sampling_time: float) -> WatchedMotion:
    """The motion of a plant in a trial; without rules everything may take as long as it likes.

    A plant that is stopped aside has a program of its own, which may report first that it hangs.
    """
    aside = plant.stop_aside if isinstance(plant, StopsAside) else None
    step = math.inf if rules is None else sampling_time + rules.step_timeout + (REPORT if aside else 0)
    reset = math.inf if rules is None else rules.reset_timeout
    return WatchedMotion(plant.stop, {"reset": reset, "step": step, "controller": step}, aside)
