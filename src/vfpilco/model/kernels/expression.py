"""Kernels as text, such as "se * poly1(rates, inputs)": for the command line and for older files."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from operator import add, mul

from vfpilco.common.errors import UserError, unknown
from vfpilco.model.kernels.base import Kernel
from vfpilco.model.kernels.composite import Product, Sum
from vfpilco.model.kernels.elementary import SE, Friction, Linear, Poly

ELEMENTARY: dict[str, Callable[..., Kernel]] = {
    "se": SE,
    "linear": Linear,
    "friction": Friction,
    "poly1": lambda on: Poly(1, on=on),
    "poly2": lambda on: Poly(2, on=on),
    "poly3": lambda on: Poly(3, on=on),
}
"""The kernels that an expression consists of, by name."""


def parse(text: str) -> Kernel:
    """The kernel that an expression describes: terms joined by `+`, each of factors joined by `*`.

    Every factor may name the entries it acts on in brackets.

    Raises:
        UserError: If the expression cannot be parsed.

    Example:
        >>> parse("se * poly1(rates, inputs) + linear")
        SE() * Poly(1, on=('rates', 'inputs')) + Linear()
    """
    terms = [reduce(mul, [_factor(factor, text) for factor in term.split("*")]) for term in text.split("+")]
    return reduce(add, terms)


def _factor(text: str, expression: str) -> Kernel:
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*", text)
    if match is None:
        raise UserError(
            f"The kernel {expression!r} cannot be parsed: write for example 'se * poly1(rates, inputs) + linear'."
        )
    name, brackets = match.groups()
    if name not in ELEMENTARY:
        raise unknown("kernel", name, ELEMENTARY)
    return ELEMENTARY[name](on=tuple(word.strip() for word in brackets.split(",")) if brackets is not None else ())


def to_text(kernel: Kernel) -> str | None:
    """The expression of a kernel; None if it cannot be written as one."""
    names: dict[type, str] = {
        SE: "se",
        Linear: "linear",
        Friction: "friction",
        Poly: f"poly{getattr(kernel, 'degree', '')}",
    }
    if isinstance(kernel, Sum):
        return _joined(" + ", [to_text(term) for term in kernel.terms])
    if isinstance(kernel, Product):
        return _joined(" * ", [None if isinstance(f, Sum) else to_text(f) for f in kernel.factors])
    name = names.get(type(kernel)) if getattr(kernel, "signal", None) is None else None
    return f"{name}{_brackets(kernel.on)}" if name in ELEMENTARY else None  # pyright: ignore


def _joined(sign: str, parts: list[str | None]) -> str | None:
    return None if None in parts else sign.join(map(str, parts))


def _brackets(on: tuple[str, ...]) -> str:
    return f"({', '.join(on)})" if on else ""
