"""The cart-pole whose inputs act two samples late: vfpilco learn examples/delays/cartpole_delay_2.py."""

from delayed import delayed

task = delayed(2)
