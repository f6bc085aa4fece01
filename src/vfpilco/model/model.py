"""The learned dynamics of a machine."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from vfpilco.common.compiled import compiled
from vfpilco.model.evidence import Hyperparameters
from vfpilco.model.kernels import Kernel
from vfpilco.model.posterior import FLOOR, Posterior, joint, predict

MOST_ROUNDING = 0.1
"""The most that rounding may add to a predicted variance, relative to that of the noise."""
PADDING = 256
"""Predictions are made for a multiple of so many inputs."""

_predict = compiled()(predict)


@dataclass(frozen=True, repr=False)
class Model:
    """The learned dynamics: hyperparameters of all joints (stacked), their posterior, and remarks made on the way."""

    kernel: Kernel
    """The covariance function."""
    kinds: tuple[str, ...]
    """The kind of every entry of x̃."""
    hyperparameters: Hyperparameters
    posterior: Posterior
    points: int
    """Training points, N."""
    score: tuple[float, ...]
    """The log evidence of each joint's hyperparameters with their hyperprior, up to a constant."""
    remarks: tuple[str, ...] = ()
    jitter: float = 0.0
    """The timing jitter that was found in the data, relative to the sampling time."""
    m_q: int = 0
    """The position memory that was found in the data; 0 if none was looked for."""

    def __repr__(self) -> str:
        noise = ", ".join(f"{std:.3g}" for std in self.noise)
        kind = "exact" if self.exact else f"{self.posterior.w.shape[1]} inducing points"
        return (
            f"Model({self.posterior.joints} GPs on {self.points} points, {kind}, noise {noise}, kernel {self.kernel})"
        )

    @property
    def noise(self) -> np.ndarray:
        """The noise found on each Δq, in its unit."""
        return np.exp(self.hyperparameters.log_noise) * np.asarray(self.posterior.y_scale)

    @property
    def lengthscales(self) -> np.ndarray:
        """The lengthscales of each joint's GP, in the units of x̃: of its first kernel that has some."""
        found = self.kernel.lengthscales(self.hyperparameters.kernel)
        return (
            np.full((self.posterior.joints, self.posterior.z.shape[2]), np.inf) if found is None else np.asarray(found)
        )

    @property
    def rounding(self) -> np.ndarray:
        """The smallest variance that float32 can tell from zero, relative to that of the noise, per joint."""
        posterior = self.posterior
        priors = [
            np.max(self.kernel.diagonal(joint(posterior.params, j), jnp.asarray(posterior.z[j])))
            for j in range(posterior.joints)
        ]
        return FLOOR["float32"] * np.array(priors) / np.exp(2 * np.asarray(self.hyperparameters.log_noise))

    def precision(self, wanted: str) -> str:
        """`wanted`, or float64 where float32 is not enough: where the signal is far above the noise."""
        return "float64" if max(self.rounding) > MOST_ROUNDING else wanted

    @property
    def exact(self) -> bool:
        """Whether the posterior keeps every point and direction, or is projected on inducing points."""
        return self.posterior.w.shape[1] == self.posterior.w.shape[2]

    def predict(self, x: Float[np.ndarray, "N d_x"]) -> tuple[np.ndarray, np.ndarray]:
        """Latent mean and variance of Δq less its prior mean, in float64."""
        mean, variance = _predict(self.posterior, padded_inputs(x))
        return np.asarray(mean)[: len(x)], np.asarray(variance)[: len(x)]


def padded_inputs(x: Float[np.ndarray, "N d_x"]) -> Float[np.ndarray, "rows d_x"]:
    """GP inputs with rows of zeros below, so that nothing is compiled again for every number of them."""
    return np.pad(x, ((0, -len(x) % PADDING), (0, 0)))
