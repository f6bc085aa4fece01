"""What policies are made of, spelled out as arrays for other programs.

The inputs are u = u_max tanh( y / u_max ), where y is a sum of chains: each chain begins with x*, and hands it from
layer to layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Basis:
    """y = Σ_i w_i exp(-‖a_i - s∘x‖²)."""

    scale: np.ndarray
    """s, (d_x)."""
    centers: np.ndarray
    """a, (n, d_x)."""
    weights: np.ndarray
    """w, (n, d_y)."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers go in and come out."""
        return self.centers.shape[1], self.weights.shape[1]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Everything in it, by name."""
        return {"scale": self.scale, "centers": self.centers, "weights": self.weights}


@dataclass(frozen=True)
class Dense:
    """y = xᵀ W + b, or the tanh of it."""

    weights: np.ndarray
    """W, (d_x, d_y)."""
    bias: np.ndarray
    """b, (d_y)."""
    squash: bool = False
    """Whether the tanh is taken."""

    @property
    def sizes(self) -> tuple[int, int]:
        """How many numbers go in and come out."""
        return self.weights.shape[0], self.weights.shape[1]

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Everything in it, by name."""
        return {"weights": self.weights, "bias": self.bias}


Chains = list[list[Basis | Dense]]
"""The chains of a policy."""
