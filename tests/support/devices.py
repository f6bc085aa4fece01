"""Gradient steps in a process of its own, with a number of devices: `python devices.py DEVICES SHARDS`.

It prints the costs and the parameters afterwards, as hexadecimal numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np

STEPS, PARTICLES, HORIZON = 3, 8, 6


def steps_on(devices: int, shards: int) -> np.ndarray:
    """The costs of some gradient steps and the parameters after them, in a process with so many devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    done = subprocess.run(
        [sys.executable, __file__, str(devices), str(shards)],
        env={**os.environ, "XLA_FLAGS": flags}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.array([float.fromhex(word) for word in done.stdout.split()])


def main(devices: int, shards: int) -> None:
    """Make the steps, and print what they gave."""
    import jax

    import vfpilco
    from vfpilco.rollout.gradient import Objective, Sampling, begin, gradient_steps
    from vfpilco.rollout.schedule import Phase
    from vfpilco.studies.bench.problem import Problem

    vfpilco.configure()
    assert len(jax.devices()) == devices
    problem = Problem.cartpole(60).with_policy(vfpilco.RBF(8))
    simulator, params = replace(problem.simulator, horizon=HORIZON), problem.params("float32")
    objective = Objective.of(simulator, problem.posterior(0).cast("float32"), params, None, shards)
    start = begin(params, jax.random.key(0), shards)
    after, costs = gradient_steps(simulator, start, objective, Phase(STEPS, 0.01, 0.25), Sampling(PARTICLES, shards))
    numbers = [np.ravel(costs), *(np.ravel(leaf) for leaf in jax.tree.leaves(after.params))]
    print(*(float(number).hex() for number in np.concatenate(numbers)))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
