"""The Furuta pendulum with a cable that ends its arm's way 1.2 rad to both sides: the built-in task with a safe range.

vfpilco learn examples/safety/furuta_with_a_cable.py --max-risk 0.2 --abort-outside 0.999
"""

import dataclasses

import vfpilco

swing_up = vfpilco.task("furuta")
arm, pendulum = swing_up.machine.positions
limited = dataclasses.replace(arm, safe=(-1.2, 1.2))
task = dataclasses.replace(
    swing_up,
    name="furuta-with-a-cable",
    machine=dataclasses.replace(swing_up.machine, positions=(limited, pendulum)),
)
