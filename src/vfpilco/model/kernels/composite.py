"""Sums and products of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, mul

import numpy as np
from jaxtyping import Array, Float

from vfpilco.model.kernels.base import Cross, GPInputs, Gradient, Hyperprior, Kernel, Params, Points, Rows


@dataclass(frozen=True)
class Product(Kernel):
    """The product of kernels; only the first factor has a signal to be fitted."""

    factors: tuple[Kernel, ...]

    @staticmethod
    def of(one: Kernel, other: Kernel) -> Product:
        """The product of two kernels, which may be products themselves."""
        return Product(tuple(f for k in (one, other) for f in (k.factors if isinstance(k, Product) else (k,))))

    def __repr__(self) -> str:
        return " * ".join(f"({f!r})" if isinstance(f, Sum) else repr(f) for f in self.factors)

    def hyperprior(self, inputs: GPInputs, log_scale: float = 0.0, free_scale: bool = True) -> Hyperprior:
        first = self.factors[0].hyperprior(inputs, log_scale, free_scale)
        parts = [first, *(factor.hyperprior(inputs, 0.0, False) for factor in self.factors[1:])]
        return Hyperprior(tuple(part.centre for part in parts), tuple(part.width for part in parts))

    def rescale(self, params: Params, log_factor: float) -> Params:
        return (self.factors[0].rescale(params[0], log_factor), *params[1:])

    def lengthscales(self, params: Params) -> np.ndarray | None:
        return _first_lengthscales(self.factors, params)

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        return reduce(mul, [factor.cross(p, x, z) for factor, p in zip(self.factors, params, strict=True)])

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        ks, gradients = _separately(self.factors, params, x, z)

        def gradient(c: Cross) -> Rows:
            others = [reduce(mul, ks[:i] + ks[i + 1 :], c) for i in range(len(ks))]
            return reduce(add, [each(other) for each, other in zip(gradients, others, strict=True)])

        return reduce(mul, ks), gradient

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        return reduce(mul, [factor.diagonal(p, x) for factor, p in zip(self.factors, params, strict=True)])

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        pairs = list(zip(self.factors, params, strict=True))
        diagonals = [factor.diagonal(p, x)[:, None] for factor, p in pairs]
        gradients = [factor.diagonal_gradient(p, x) for factor, p in pairs]
        products = [reduce(mul, diagonals[:i] + diagonals[i + 1 :], each) for i, each in enumerate(gradients)]
        return reduce(add, products)


@dataclass(frozen=True)
class Sum(Kernel):
    """The sum of kernels, which share the signal's variance at the start."""

    terms: tuple[Kernel, ...]

    @staticmethod
    def of(one: Kernel, other: Kernel) -> Sum:
        """The sum of two kernels, which may be sums themselves."""
        return Sum(tuple(t for k in (one, other) for t in (k.terms if isinstance(k, Sum) else (k,))))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    def hyperprior(self, inputs: GPInputs, log_scale: float = 0.0, free_scale: bool = True) -> Hyperprior:
        share = log_scale - 0.5 * np.log(len(self.terms))
        parts = [term.hyperprior(inputs, share, free_scale) for term in self.terms]
        return Hyperprior(tuple(part.centre for part in parts), tuple(part.width for part in parts))

    def rescale(self, params: Params, log_factor: float) -> Params:
        return tuple(term.rescale(p, log_factor) for term, p in zip(self.terms, params, strict=True))

    def lengthscales(self, params: Params) -> np.ndarray | None:
        return _first_lengthscales(self.terms, params)

    def cross(self, params: Params, x: Rows, z: Points) -> Cross:
        return sum(term.cross(p, x, z) for term, p in zip(self.terms, params, strict=True))  # pyright: ignore

    def cross_and_gradient(self, params: Params, x: Rows, z: Points) -> tuple[Cross, Gradient]:
        ks, gradients = _separately(self.terms, params, x, z)
        return reduce(add, ks), lambda c: reduce(add, [each(c) for each in gradients])

    def diagonal(self, params: Params, x: Rows) -> Float[Array, "M"]:
        return sum(term.diagonal(p, x) for term, p in zip(self.terms, params, strict=True))  # pyright: ignore

    def diagonal_gradient(self, params: Params, x: Rows) -> Rows:
        return sum(term.diagonal_gradient(p, x) for term, p in zip(self.terms, params, strict=True))  # pyright: ignore


def _separately(kernels: tuple[Kernel, ...], params: Params, x: Rows, z: Points) -> tuple[list[Cross], list[Gradient]]:
    """The covariances and gradients of several kernels."""
    found = [kernel.cross_and_gradient(p, x, z) for kernel, p in zip(kernels, params, strict=True)]
    return [k for k, _ in found], [gradient for _, gradient in found]


def _first_lengthscales(kernels: tuple[Kernel, ...], params: Params) -> np.ndarray | None:
    found = (kernel.lengthscales(p) for kernel, p in zip(kernels, params, strict=True))
    return next((np.asarray(lengthscales) for lengthscales in found if lengthscales is not None), None)
