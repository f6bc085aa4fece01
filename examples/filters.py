"""What filters cost MC-PILCO4PMS: its model learned with only a part of the offline filter's errors.

    python examples/filters.py noise --seed 100 --trials 3

`noise` leaves what the filter lets through of the sensor's noise, `smear` what it does to noise-free positions, `none`
neither of them. The policy sees velocities through the online filter as ever. More words go to `vfpilco learn`.
"""

import sys

import numpy as np

from vfpilco.cli import main as cli
from vfpilco.state.filtered import Filtered, State
from vfpilco.data.trial import Trial

PARTS = ("noise", "smear", "none")


def states(filtered: Filtered, trial: Trial, part: str) -> tuple[np.ndarray, State]:
    """The smoothed states of a simulated trial with one part of their errors alone."""
    assert filtered.offline is not None
    true = np.stack([trial.true, trial.velocity])
    smeared, seen = (np.stack(filtered.offline.smooth(q, filtered.sampling_time)) for q in (trial.true, trial.q))
    q, v = {"noise": true + (seen - smeared), "smear": smeared, "none": true}[part]
    return np.arange(1, trial.steps), State(q[1:-1], v[1:-1])


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(PARTS)} [--seed N] [--trials N] [--out FOLDER] …")
    part = sys.argv[1]
    Filtered.states = lambda self, trial: states(self, trial, part)
    if part == "none":
        Filtered.least_noise = lambda self, noise: [0.0] * self.d_q
    sys.exit(cli.main(["learn", "cartpole", "--method", "pms", "--kernel", "se", "--noise", "white", *sys.argv[2:]]))
