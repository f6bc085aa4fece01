"""Functions that JAX compiles, and how much compiled code a process keeps."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MOST = 32
"""Compiled versions of all functions together that are kept when the next verb begins; a run needs about ten."""

_functions: list[Any] = []
_listeners: list[Callable[[bool], None]] = []
_here = threading.local()


@contextmanager
def announced(listener: Callable[[bool], None]) -> Iterator[None]:
    """Calls `listener` with True when something begins to be compiled, and with False when that is done."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _announce(compiling: bool) -> None:
    _here.compiling = compiling
    for listener in list(_listeners):
        listener(compiling)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a function of a module like `jax.jit`; what it has compiled can be released.

    JAX compiles a function again for every new task, cost function and size of an array, and keeps every version for
    as long as the process lives, some ten megabytes each.

    Args:
        **options: Those of `jax.jit`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        import jax

        @functools.wraps(function)
        def traced(*args: Any, **keywords: Any) -> Any:
            _announce(True)  # JAX executes a function itself only to compile it
            return function(*args, **keywords)

        made: Any = jax.jit(traced, **options)
        _functions.append(made)

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            part_of_another = getattr(_here, "compiling", False)
            try:
                return made(*args, **keywords)
            finally:
                if not part_of_another and getattr(_here, "compiling", False):
                    _announce(False)

        counted: Any = call
        counted._cache_size = made._cache_size
        return counted

    return decorate


def release() -> None:
    """Release all that was compiled if there are more than `MOST` versions; what is needed is compiled again.

    JAX also remembers what it has traced, with the cost functions of tasks in it, and the C library keeps the memory
    that compilers have used: without returning it a process grows by a megabyte for every task.
    """
    if sum(function._cache_size() for function in _functions) > MOST:
        import jax

        for function in _functions:
            function.clear_cache()
        jax.clear_caches()
        gc.collect()
        with contextlib.suppress(AttributeError, OSError):  # only the C library of Linux has it
            ctypes.CDLL(None).malloc_trim(0)
