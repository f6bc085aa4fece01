"""A model as named arrays and a JSON object, for files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from vfpilco.common.components import describe, rebuild
from vfpilco.data.records import from_json_types
from vfpilco.model.evidence import Hyperparameters, initial
from vfpilco.model.kernels import SE, Friction, Kernel, Linear, Poly, Product, Sum
from vfpilco.model.kernels.expression import parse
from vfpilco.model.model import Model
from vfpilco.model.posterior import Posterior
from vfpilco.state.window import LONGEST

KERNELS: dict[str, type] = {cls.__name__: cls for cls in (SE, Linear, Poly, Friction, Product, Sum)}
"""The classes of kernels that a file may name."""
ARRAYS = ("z", "a", "w", "y_scale")
MOST_LOG = 100.0
"""The largest magnitude of the logarithm of a scale, unless it is infinite."""


@dataclass(frozen=True)
class _About:
    """What a file says about a model apart from its kernel."""

    points: int
    score: list[float]
    remarks: list[str]
    jitter: float = 0.0
    m_q: int = 0


def to_arrays(model: Model) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a model by name, and everything else about it."""
    named = {name: getattr(model.posterior, name) for name in ARRAYS}
    leaves, _ = jax.tree_util.tree_flatten_with_path(model.hyperparameters)
    named |= {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in leaves}
    about = {
        "points": model.points,
        "score": list(model.score),
        "remarks": list(model.remarks),
        "jitter": model.jitter,
        "m_q": model.m_q,
        "kernel": describe(model.kernel),
        "kinds": list(model.kinds),
    }
    return {name: np.asarray(array) for name, array in named.items()}, about


def from_arrays(arrays: dict[str, np.ndarray], about: dict[str, Any], known: dict[str, type] | None = None) -> Model:
    """The model that `to_arrays` described; `known` are the classes of the user's own kernels.

    Raises:
        UserError: If its kernel is of an unknown class.
        KeyError, TypeError, ValueError: If something is missing or does not fit.
    """
    if "expression" in about["kernel"]:  # format 3
        kernel, kinds = parse(about["kernel"]["expression"]), tuple(about["kernel"]["kinds"])
        names = [*_names_of_format_3(kernel, "kernel"), "log_noise"]
    else:
        kernel, kinds = rebuild(about["kernel"], {**KERNELS, **(known or {})}), tuple(about["kinds"])
        names = None
    said = _check(arrays, about, kinds)
    like = initial(kernel, np.ones((1, arrays["z"].shape[2])), kinds).centre
    paths, structure = jax.tree_util.tree_flatten_with_path(like)
    names = names or [jax.tree_util.keystr(path).lstrip(".") for path, _ in paths]
    joints = len(arrays["y_scale"])
    if any(arrays[name].shape != (joints, *np.shape(leaf)) for name, (_, leaf) in zip(names, paths, strict=True)):
        raise ValueError("its hyperparameters have other shapes than those of its kernel")
    theta: Hyperparameters = structure.unflatten([arrays[name] for name in names])
    posterior = Posterior(kernel, theta.kernel, *(arrays[name] for name in ARRAYS))  # pyright: ignore
    found = said.points, tuple(said.score), tuple(said.remarks), said.jitter, said.m_q
    return Model(kernel, kinds, theta, posterior, *found)


def _check(arrays: dict[str, np.ndarray], about: dict[str, Any], kinds: tuple[str, ...]) -> _About:
    """What a file says about a model; a `ValueError` if its arrays do not fit each other."""
    said = from_json_types(about, _About)
    if not 0 <= said.jitter < 1:
        raise ValueError(f"its jitter is {said.jitter}")
    if not 0 <= said.m_q <= LONGEST:
        raise ValueError(f"its position memory is {said.m_q}")
    z, a, w, y_scale = (arrays[name] for name in ARRAYS)
    if z.ndim != 3 or w.ndim != 3 or a.shape != z.shape[:2] or w.shape[:2] != a.shape or y_scale.shape != z.shape[:1]:
        raise ValueError(f"its arrays have the shapes {z.shape}, {a.shape}, {w.shape} and {y_scale.shape}")
    if not z.size or (kinds and z.shape[2] != len(kinds)) or any(array.dtype.kind != "f" for array in arrays.values()):
        raise ValueError("it has no points, or points of another size")
    for name, array in arrays.items():
        _check_values(name, array)
    return said


def _check_values(name: str, array: np.ndarray) -> None:
    """Raise a `ValueError` if nothing can be computed with the values of an array."""
    logarithms = "log_" in name
    no_part = logarithms & (array.ndim > 1) & (array == np.inf)  # an entry of x̃ with an infinite scale
    if not np.all(np.isfinite(array) | no_part):
        raise ValueError(f"{name} has values that are not numbers")
    if logarithms and np.any(np.abs(array[~no_part]) > MOST_LOG):
        raise ValueError(f"{name} has logarithms of more than {MOST_LOG:g}")


def _names_of_format_3(kernel: Kernel, prefix: str) -> list[str]:
    """The names of a kernel's arrays in files of format 3, in the order of its hyperparameters."""
    if isinstance(kernel, Product):
        return [n for i, k in enumerate(kernel.factors) for n in _names_of_format_3(k, f"{prefix}.factors[{i}]")]
    if isinstance(kernel, Sum):
        return [n for i, k in enumerate(kernel.terms) for n in _names_of_format_3(k, f"{prefix}.terms[{i}]")]
    scales = "log_lengthscales" if isinstance(kernel, SE) else "log_scales"
    return [f"{prefix}.{scales}", f"{prefix}.log_scale"]
