"""The built-in cart-pole with inputs that act later."""

import dataclasses

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole

swing_up = vfpilco.task("cartpole")
machine = swing_up.machine


def delayed(samples: int) -> vfpilco.Task:
    """The swing-up with a delay of so many samples."""
    latency = samples * machine.sampling_time
    plant = lambda: CartPole(machine.sampling_time, machine.sensor, latency=latency)  # noqa: E731
    return dataclasses.replace(
        swing_up, name=f"cartpole-delay-{samples}", machine=dataclasses.replace(machine, plant=plant)
    )
