"""A kernel of your own: Matérn 5/2, which expects rougher dynamics than the squared exponential.

vfpilco learn examples/extending/kernel.py
"""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

import vfpilco
from vfpilco.model.kernels import ScaledKernel


@dataclass(frozen=True)
class Matern(ScaledKernel):
    """k(x, z) = λ² (1 + r + r²/3) exp(-r) with r² = 5 Σ_d (x_d - z_d)² / ℓ_d².

    Lengthscales, signal and their hyperprior come from `ScaledKernel`, derivatives from automatic differentiation.
    """

    def cross(self, params, x, z):
        inverse = jnp.exp(-params["log_lengthscales"])
        x, z = x * inverse, z * inverse
        square = (x * x).sum(-1, keepdims=True) + (z * z).sum(-1) - 2 * x @ z.T
        r = jnp.sqrt(5 * jnp.maximum(square, 1e-12))  # the square root has no derivative at zero
        return jnp.exp(2 * params["log_scale"]) * (1 + r + r * r / 3) * jnp.exp(-r)

    def lengthscales(self, params):
        return np.exp(params["log_lengthscales"])


kernel = Matern() * vfpilco.Poly(1, on=("rates", "inputs"))
task = replace(vfpilco.task("cartpole"), name="cartpole-matern", settings={"kernel": kernel})
