"""The cart-pole on a rail that ends 50 cm to both sides: the built-in task with a safe range.

vfpilco learn examples/safety/cartpole_on_a_rail.py --max-risk 0.2 --abort-outside 0.999
"""

import dataclasses

import vfpilco

swing_up = vfpilco.task("cartpole")
cart, pole = swing_up.machine.positions
rail = dataclasses.replace(cart, safe=(-0.5, 0.5))
task = dataclasses.replace(
    swing_up,
    name="cartpole-on-a-rail",
    machine=dataclasses.replace(swing_up.machine, positions=(rail, pole)),
)
