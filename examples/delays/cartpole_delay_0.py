"""The cart-pole without a delay: vfpilco learn examples/delays/cartpole_delay_0.py."""

from delayed import delayed

task = delayed(0)
