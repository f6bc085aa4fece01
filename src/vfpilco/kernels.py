"""Covariance functions on GP inputs: sums of products of a few elementary ones, each on chosen entries.

A form such as "se * poly1(rates, inputs)" says which; its values are the fitted hyperparameters. An entry that takes no
part has an infinite scale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.errors import UserError, unknown

Rows = Float[Array, "M d_x"]
Points = Float[Array, "U d_x"]
Cross = Float[Array, "M U"]
Weights = Float[Array, "U"] | Float[Array, "M U"]
"""One weight per point, the same for every row or not."""


class Kernel(Protocol):
    """k(x, z) and its derivatives; every field is an array, or a tuple of kernels."""

    def cross(self, x: Rows, z: Points) -> Cross:
        """k(x, z) for every pair."""
        ...

    def slope(self, x: Rows, z: Points, c: Weights, others: Cross | None = None) -> Rows:
        """∂/∂x Σ_n c_n k(x, z_n), or of a product with `others`, which are held constant.

        Covariances are written down here once more; the compiler computes them once.
        """
        ...

    def diagonal(self, x: Rows) -> Float[Array, "M"]:
        """k(x, x) for every row."""
        ...

    def diagonal_slope(self, x: Rows) -> Rows:
        """∂/∂x k(x, x)."""
        ...

    def rescale(self, log_factor: float) -> Any:
        """The same kernel for targets that are `exp(log_factor)` times as large."""
        ...


class SquaredExponential(NamedTuple):
    """k(x, z) = λ² exp(-½ Σ_d (x_d - z_d)² / ℓ_d²), one lengthscale per input entry (Eq. 2)."""

    log_lengthscales: Float[Array, "*J d_x"]
    log_scale: Float[Array, "*J"]
    """log λ."""

    def rescale(self, log_factor: float) -> SquaredExponential:
        return self._replace(log_scale=self.log_scale + log_factor)

    def cross(self, x: Rows, z: Points) -> Cross:
        """k(x, z) for every pair; the square is expanded so that the work is one matrix product."""
        inverse = jnp.exp(-self.log_lengthscales)
        x, z = x * inverse, z * inverse
        exponent = x @ z.T - 0.5 * (x * x).sum(-1, keepdims=True) + (2 * self.log_scale - 0.5 * (z * z).sum(-1))
        return jnp.exp(exponent)

    def slope(self, x: Rows, z: Points, c: Weights, others: Cross | None = None) -> Rows:
        """Σ_n c_n k(x, z_n) (z_n - x) / ℓ²."""
        points = jnp.concatenate([jnp.ones((len(z), 1), z.dtype), z], axis=1)
        sums = _weighted(_times(self.cross(x, z), others), c, points)
        return (sums[:, 1:] - sums[:, :1] * x) * jnp.exp(-2 * self.log_lengthscales)

    def diagonal(self, x: Rows) -> Float[Array, "M"]:
        return jnp.full(x.shape[0], jnp.exp(2 * self.log_scale), x.dtype)

    def diagonal_slope(self, x: Rows) -> Rows:
        return jnp.zeros_like(x)


class Polynomial(NamedTuple):
    """k(x, z) = λ² (1 + Σ_d x_d z_d / s_d²), and powers of it; linear: without the 1."""

    log_scales: Float[Array, "*J d_x"]
    """log s."""
    log_scale: Float[Array, "*J"]
    """log λ."""

    degree = 1
    offset = 1.0

    def rescale(self, log_factor: float) -> Polynomial:
        return self._replace(log_scale=self.log_scale + log_factor)

    def cross(self, x: Rows, z: Points) -> Cross:
        base = self.offset + x @ (z * jnp.exp(-2 * self.log_scales)).T
        return jnp.exp(2 * self.log_scale) * base**self.degree

    def slope(self, x: Rows, z: Points, c: Weights, others: Cross | None = None) -> Rows:
        """Σ_n c_n n λ² (1 + Σ_d x_d z_d / s_d²)^(n-1) z_n / s²."""
        z_s = z * jnp.exp(-2 * self.log_scales)
        if self.degree > 1:
            others = _times((self.offset + x @ z_s.T) ** (self.degree - 1), others)
        if others is None:
            others = jnp.ones((len(x), len(z)), x.dtype)
        return _weighted(others, c, self.degree * jnp.exp(2 * self.log_scale) * z_s)

    def diagonal(self, x: Rows) -> Float[Array, "M"]:
        base = self.offset + (x * x * jnp.exp(-2 * self.log_scales)).sum(-1)
        return jnp.exp(2 * self.log_scale) * base**self.degree

    def diagonal_slope(self, x: Rows) -> Rows:
        x_s = x * jnp.exp(-2 * self.log_scales)
        base = self.offset + (x * x_s).sum(-1, keepdims=True)
        return 2 * self.degree * jnp.exp(2 * self.log_scale) * base ** (self.degree - 1) * x_s


class Linear(Polynomial):
    """k(x, z) = λ² Σ_d x_d z_d / s_d²."""

    offset = 0.0


class Polynomial2(Polynomial):
    """k(x, z) = λ² (1 + Σ_d x_d z_d / s_d²)²."""

    degree = 2


class Polynomial3(Polynomial):
    """k(x, z) = λ² (1 + Σ_d x_d z_d / s_d²)³."""

    degree = 3


class Product(NamedTuple):
    """The product of kernels."""

    factors: tuple[Any, ...]

    def rescale(self, log_factor: float) -> Product:
        return Product((self.factors[0].rescale(log_factor), *self.factors[1:]))

    def cross(self, x: Rows, z: Points) -> Cross:
        return reduce(mul, [factor.cross(x, z) for factor in self.factors])

    def slope(self, x: Rows, z: Points, c: Weights, others: Cross | None = None) -> Rows:
        return sum(factor.slope(x, z, c, _times(rest.cross(x, z), others)) for factor, rest in self._each())  # pyright: ignore

    def diagonal(self, x: Rows) -> Float[Array, "M"]:
        return reduce(mul, [factor.diagonal(x) for factor in self.factors])

    def diagonal_slope(self, x: Rows) -> Rows:
        return sum(factor.diagonal_slope(x) * rest.diagonal(x)[:, None] for factor, rest in self._each())  # pyright: ignore

    def _each(self) -> list[tuple[Any, Product]]:
        """Every factor, and the product of the others."""
        return [(factor, Product(self.factors[:i] + self.factors[i + 1 :])) for i, factor in enumerate(self.factors)]


class Sum(NamedTuple):
    """The sum of kernels."""

    terms: tuple[Any, ...]

    def rescale(self, log_factor: float) -> Sum:
        return Sum(tuple(term.rescale(log_factor) for term in self.terms))

    def cross(self, x: Rows, z: Points) -> Cross:
        return sum(term.cross(x, z) for term in self.terms)  # pyright: ignore[reportReturnType]

    def slope(self, x: Rows, z: Points, c: Weights, others: Cross | None = None) -> Rows:
        return sum(term.slope(x, z, c, others) for term in self.terms)  # pyright: ignore[reportReturnType]

    def diagonal(self, x: Rows) -> Float[Array, "M"]:
        return sum(term.diagonal(x) for term in self.terms)  # pyright: ignore[reportReturnType]

    def diagonal_slope(self, x: Rows) -> Rows:
        return sum(term.diagonal_slope(x) for term in self.terms)  # pyright: ignore[reportReturnType]


def _times(k: Array, others: Array | None) -> Array:
    return k if others is None else k * others


def _weighted(k: Array, c: Array, points: Array) -> Array:
    """Σ_n k_mn c_n points_n, or with weights c_mn of their own for every row."""
    return k @ (c[:, None] * points) if c.ndim == 1 else (k * c) @ points


# -- forms -------------------------------------------------------------------------------------------------------

ELEMENTARY = {
    "se": SquaredExponential,
    "linear": Linear,
    "poly1": Polynomial,
    "poly2": Polynomial2,
    "poly3": Polynomial3,
}
"""The kernels that a form is made of, by name."""
SELECTIONS = {
    "positions": ("position", "circle"),
    "angles": ("circle",),
    "rates": ("rate",),
    "inputs": ("input",),
    "features": ("feature",),
}
"""The kinds of entries that a name in brackets selects."""
GUARD = 2.0
"""Standard deviation of the logarithm of every hyperparameter around its starting point."""


class Guarded(NamedTuple):
    """Where hyperparameters start, and how far they may go: a Gaussian on their logarithms; of width 0: fixed."""

    centre: Any
    width: Any


@dataclass(frozen=True)
class Form:
    """What a kernel looks like, on inputs of certain kinds."""

    expression: str = "se"
    """Terms joined by +, each of factors joined by *, each with the entries it is on in brackets.

    Without brackets it is on all entries but features.
    """
    kinds: tuple[str, ...] = ()
    """The kind of every entry of the GP input."""

    def parts(self) -> list[list[tuple[type, tuple[str, ...]]]]:
        """The elementary kernels and selections, factors within terms; `UserError` if it is none."""
        return [[_part(factor, self.expression) for factor in term.split("*")] for term in self.expression.split("+")]

    def start(self, spread: np.ndarray, size: np.ndarray | None = None) -> Guarded:
        """Lengthscales and scales of three spreads of the data, unit signal in all.

        A linear kernel is zero at zero: its unit is the `size` of an entry, its root mean square. A cosine that stays
        near 1 has a small spread, and in units of that a linear kernel would expect huge slopes.
        """
        terms = self.parts()
        size = spread if size is None else size
        built = [
            [
                self._elementary(
                    cls, selected, size if cls is Linear else spread, -0.5 * np.log(len(terms)), first=i == 0
                )
                for i, (cls, selected) in enumerate(term)
            ]
            for term in terms
        ]
        return Guarded(*(_assemble([[part[i] for part in term] for term in built]) for i in (0, 1)))

    def _elementary(
        self, cls: type, selected: tuple[str, ...], unit: np.ndarray, log_scale: float, first: bool
    ) -> Guarded:
        """One elementary kernel; within a product only the first one has a signal to be fitted."""
        chosen = self._columns(selected, len(unit))
        if not chosen.any():
            raise UserError(
                f"The kernel {self.expression!r} selects {', '.join(selected)}, of which the GP inputs have none."
            )
        centre = cls(np.where(chosen, np.log(3 * unit), np.inf), np.array(log_scale if first else 0.0))
        return Guarded(centre, cls(GUARD * chosen, np.array(GUARD * first)))

    def _columns(self, selected: tuple[str, ...], entries: int) -> np.ndarray:
        if not selected:
            return np.array([kind != "feature" for kind in self.kinds]) if self.kinds else np.ones(entries, bool)
        kinds = {kind for name in selected for kind in SELECTIONS[name]}
        return np.array([kind in kinds for kind in self.kinds])


PAPER = Form()
"""The paper's kernel: squared exponential, one lengthscale per entry."""


def _part(text: str, expression: str) -> tuple[type, tuple[str, ...]]:
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
    if match is None:
        raise UserError(
            f"The kernel {expression!r} cannot be read: write for example 'se * poly1(rates, inputs) + linear'."
        )
    name, brackets = match.groups()
    if name not in ELEMENTARY:
        raise unknown("kernel", name, ELEMENTARY)
    selected = tuple(word.strip() for word in brackets.split(",")) if brackets is not None else ()
    for word in selected:
        if word not in SELECTIONS:
            raise unknown("selection of GP inputs", word, SELECTIONS)
    return ELEMENTARY[name], selected


def _assemble(terms: list[list[Any]]) -> Any:
    products = [Product(tuple(term)) if len(term) > 1 else term[0] for term in terms]
    return Sum(tuple(products)) if len(products) > 1 else products[0]
