"""The log evidence of kernels and position memories on the data of a run: how clearly the data speak for one of them.

    python examples/evidence.py runs/furuta-seed0

Every model predicts the same samples, at most 400. A difference of 3 nats is what `learn` asks for before it changes
its choice. The timing jitter and the delay are those that the run has chosen.
"""

import dataclasses
import sys
from pathlib import Path

from vfpilco import Result, VelocityFree
from vfpilco.model.dynamics import Dynamics
from vfpilco.model.fit import fit, stretches
from vfpilco.model.kernels import Kernel
from vfpilco.model.kernels.expression import to_text
from vfpilco.trials.choosing import KERNELS, MEMORIES
from vfpilco.trials.knowledge import Knowledge

MOST = 400


def evidence(run: Result, kernel: Kernel, m_q: int) -> float:
    """Of a model with this kernel and this position memory, summed over the positions."""
    known = Knowledge(run, open_loop=False).dynamics
    assert isinstance(known.state, VelocityFree)
    dynamics: Dynamics = dataclasses.replace(known, state=dataclasses.replace(known.state, m_q=m_q))
    data = dynamics.training_sets(run.trials, since=max(MEMORIES))
    some = data.at(stretches(len(data.x), MOST))._replace(capacity=0)
    kinds, least = tuple(dynamics.state.input_kinds()), dynamics.least_noise()
    return sum(fit(some, kernel=kernel, kinds=kinds, least_noise=least).score)


def table(run: Result) -> list[tuple[str, float]]:
    """The evidence of every kernel, and of every memory with the best kernel."""
    kernels = {kernel: evidence(run, kernel, MEMORIES[0]) for kernel in KERNELS}
    best = max(kernels, key=lambda kernel: kernels[kernel])
    memories = [(f"m_q = {m_q}, with the best kernel", evidence(run, best, m_q)) for m_q in MEMORIES[1:]]
    return [(str(to_text(kernel)), score) for kernel, score in kernels.items()] + memories


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, score in table(Result.load(Path(sys.argv[1]))):
        print(f"{score:10.1f}  {name}")
