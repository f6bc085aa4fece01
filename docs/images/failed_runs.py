"""The failed runs of troubleshooting.md, and their figures: `python docs/images/failed_runs.py`.

Small settings: three trials each, some minutes on two cores. Runs that exist in runs/failed are not repeated.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp

import vfpilco
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.report.picture import draw_run
from vfpilco.storage.runfolder import RunFolder

HERE = Path(__file__).parent
cartpole = vfpilco.task("cartpole")
machine = cartpole.machine


def narrow_cost(q):
    """1 almost everywhere: there is no gradient where the pole hangs."""
    p, alpha = q[..., 0], q[..., 1]
    return -jnp.expm1(-(((jnp.abs(alpha) - jnp.pi) / 0.2) ** 2) - p**2)


worn_out = vfpilco.GaussianNoise((1e-2, 3e-2))  # ten to fifteen times what the task says
FAILURES = {
    "weak-exploration": replace(cartpole, exploration=vfpilco.FilteredNoise(std=0.002)),
    "narrow-cost": replace(cartpole, cost=narrow_cost),
    "noisy-sensor": replace(
        cartpole, machine=replace(machine, plant=lambda: CartPole(machine.sampling_time, worn_out))
    ),
}

if __name__ == "__main__":
    for name, task in FAILURES.items():
        out = Path("runs/failed") / name
        small = {"steps": 200, "particles": 100, "policy": vfpilco.RBF(100)}
        result = vfpilco.learn(task, seed=0, trials=3, out=out, resume=True, **small)
        for row in result.rows:
            print(name, row.kind, f"cost {row.cost:.1f}", row.predicted_cost, row.model and row.model.noise)
        print(draw_run(task, RunFolder(out), HERE / f"failed-{name}.png"))
