"""How particles draw the model's errors: anew at every step, or one function for a complete trial.

A GP is a distribution over functions. For the optimisation errors are drawn independently at every step, as in the
paper. A prediction has to say where the machine may go: there every particle carries one function, drawn from the
posterior, for the complete trial. What the model gets wrong at one sample it gets wrong at the next one too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from vfpilco.model.posterior import FLOOR, Posterior, sample

AT_ONCE = 2
"""Particles with a function each that are simulated together on a processor: then all that they remember, which is read
again at every step, stays in its cache."""


@runtime_checkable
class Draws(Protocol):
    """Draws the change of every particle, step by step."""

    @property
    def at_once(self) -> int | None:
        """How many particles are best simulated together, if they are only simulated; None: all."""
        return None

    def begin(self, posterior: Posterior, particles: int, steps: int) -> Any:
        """What is known before the first step."""
        ...

    def draw(
        self, posterior: Posterior, known: Any, x: Float[Array, "M d_x"], z: Float[Array, "M J"]
    ) -> tuple[Float[Array, "M J"], Any]:
        """The drawn change, without the prior mean, and what is known afterwards.

        Args:
            posterior: The learned dynamics.
            known: What was known before.
            x: The GP inputs x̃ of all particles.
            z: Standard normal numbers.
        """
        ...


@dataclass(frozen=True)
class Independent(Draws):
    """Errors are drawn anew at every step; differentiable."""

    def begin(self, posterior: Posterior, particles: int, steps: int) -> None:
        """Nothing."""

    def draw(
        self, posterior: Posterior, known: None, x: Float[Array, "M d_x"], z: Float[Array, "M J"]
    ) -> tuple[Float[Array, "M J"], None]:
        """Mean, and standard deviation times z."""
        return sample(posterior, x, z), None


class Drawn(NamedTuple):
    """The values that every particle has drawn so far; rows after the latest step are zero.

    Each particle's own values are next to each other in memory, where products need them.
    """

    step: Array
    x: Float[Array, "M T d_x"]
    """Where they were drawn."""
    v: Float[Array, "J M T R"]
    """k(x, Z) W there: what the posterior knows."""
    inverse: Float[Array, "J M T T"]
    """The inverse of the Cholesky factor of their covariance, row by row."""
    z: Float[Array, "J M T"]
    """The numbers they were drawn with."""


@dataclass(frozen=True)
class OneFunction(Draws):
    """Every particle carries one function, by conditioning on the values that it has drawn before.

    With the posterior covariance c = cov(f_t, f_<t) = k(x_t, x_<t) - v_t v_<tᵀ and the Cholesky factor L of that of the
    values before, f_t = mean + aᵀ z_<t + s z_t, where a = L⁻¹ c and s² = var(f_t) - ‖a‖²: exact, and nothing to set.
    """

    @property
    def at_once(self) -> int | None:
        """Few on a processor; all on other devices."""
        return AT_ONCE if jax.default_backend() == "cpu" else None

    def begin(self, posterior: Posterior, particles: int, steps: int) -> Drawn:
        """No values."""
        (joints, _, rank), dtype = posterior.w.shape, posterior.a.dtype
        return Drawn(
            jnp.zeros((), int),
            jnp.zeros((particles, steps, posterior.z.shape[2]), dtype),
            jnp.zeros((joints, particles, steps, rank), dtype),
            jnp.zeros((joints, particles, steps, steps), dtype),
            jnp.zeros((joints, particles, steps), dtype),
        )

    def draw(
        self, posterior: Posterior, known: Drawn, x: Float[Array, "M d_x"], z: Float[Array, "M J"]
    ) -> tuple[Float[Array, "M J"], Drawn]:
        """Mean, and the deviation of each particle's own function."""
        mean, v, prior, covariance = _parts(posterior, x, known.x)
        covariance = covariance - jnp.einsum("jmr,jmtr->jmt", v, known.v)
        covariance = jnp.where(jnp.arange(known.x.shape[1]) < known.step, covariance, 0)
        a = jnp.einsum("jmti,jmi->jmt", known.inverse, covariance)
        least = FLOOR[str(prior.dtype)] * prior
        variance, explained = jnp.maximum(prior - (v * v).sum(-1), least), (a * a).sum(-1)
        # Values cannot explain more than there is. By rounding they would, where they are almost dependent.
        a = jnp.where(explained > variance, jnp.sqrt(variance / jnp.maximum(explained, least)), 1)[..., None] * a
        s = jnp.sqrt(jnp.maximum(variance - explained, least))
        deviation = jnp.einsum("jmt,jmt->jm", a, known.z) + s * z.T
        row = -jnp.einsum("jmt,jmti->jmi", a, known.inverse) / s[..., None]
        row = jnp.where(jnp.arange(known.x.shape[1]) == known.step, 1 / s[..., None], row)
        filled = (
            jax.lax.dynamic_update_index_in_dim(rows, latest, known.step, axis)
            for rows, latest, axis in zip(known[1:], (x, v, row, z.T), (1, 2, 2, 2), strict=True)
        )
        scale = posterior.y_scale[:, None]
        return ((mean + deviation) * scale).T, Drawn(known.step + 1, *filled)


def _parts(posterior: Posterior, x: Float[Array, "M d_x"], past: Float[Array, "M T d_x"]) -> tuple[Array, ...]:
    """Of every joint: mean, k(x, Z) W, prior variance, and the prior covariance of each particle's x with its past."""

    def one(part: Posterior) -> tuple[Array, ...]:
        def with_past(x: Array, past: Array) -> Array:
            return part.kernel.cross(part.params, x[None], past)[0]

        k = part.kernel.cross(part.params, x, part.z)
        return k @ part.a, k @ part.w, part.kernel.diagonal(part.params, x), jax.vmap(with_past)(x, past)

    return jax.vmap(one)(posterior)
