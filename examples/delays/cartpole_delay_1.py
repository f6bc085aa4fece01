"""The cart-pole whose inputs act one sample late: vfpilco learn examples/delays/cartpole_delay_1.py."""

from delayed import delayed

task = delayed(1)
