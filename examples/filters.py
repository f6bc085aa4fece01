"""What filters cost MC-PILCO4PMS: its model is learned with only a part of the offline filter's errors.

    python examples/filters.py noise --seed 100 --trials 3

`noise` keeps the part of the sensor's noise that passes the filter, `smear` keeps what the filter does to noise-free
positions, `none` keeps neither. The policy still receives velocities from the online filter. All other arguments are
those of `vfpilco learn`.
"""

import sys

import numpy as np

from vfpilco.cli.main import main
from vfpilco.data.trial import Trial
from vfpilco.state.filtered import Filtered, State

PARTS = ("noise", "smear", "none")


def states(filtered: Filtered, trial: Trial, part: str) -> tuple[np.ndarray, State]:
    """The smoothed states of a simulated trial with only one part of their errors."""
    signals = filtered.signals
    true = np.stack([trial.true, trial.velocity])
    smeared, measured = (
        np.stack(filtered.offline.smooth(q, signals.std, signals.sampling_time)) for q in (trial.true, trial.q)
    )
    q, v = {"noise": true + (measured - smeared), "smear": smeared, "none": true}[part]
    return np.arange(1, trial.steps), State(q[1:-1], v[1:-1])


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(PARTS)} [--seed N] [--trials N] [--out FOLDER] …")
    part = sys.argv[1]
    Filtered.states = lambda self, trial: states(self, trial, part)
    if part == "none":
        Filtered.least_noise = lambda self, std: [0.0] * self.signals.d_q
    sys.exit(main(["learn", "cartpole", "--method", "pms", "--kernel", "se", "--noise", "white", *sys.argv[2:]]))
