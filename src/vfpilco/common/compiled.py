"""Functions that JAX compiles, and how much compiled code a process keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 32
"""Compiled versions of all functions together that are kept when the next verb begins; a run needs about ten."""

_functions: list[Any] = []


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a function of a module like `jax.jit`; what it has compiled can be released.

    JAX compiles a function again for every new task, cost function and size of an array, and keeps every version for
    as long as the process lives, some ten megabytes each.

    Args:
        **options: Those of `jax.jit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        import jax

        made = jax.jit(function, **options)
        _functions.append(made)
        return made

    return decorate


def release() -> None:
    """Release all that was compiled if there are more than `MOST` versions; what is needed is compiled again."""
    if sum(function._cache_size() for function in _functions) > MOST:
        for function in _functions:
            function.clear_cache()
