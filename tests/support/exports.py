"""Policies that were drawn instead of learned, and their exports; for the tests of exports."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from vfpilco.common import files
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.exports import check as checking
from vfpilco.exports.described import Exported, Quantity
from vfpilco.exports.targets import TARGETS
from vfpilco.state.filtered import Filtered, FullState, kalman, low_pass
from vfpilco.state.window import VelocityFree
from vfpilco.policy.limits import slew_of
from vfpilco.policy import KINDS

H, ANGLES, LIMITS = 1 / 30, (False, True), (10.0, 0.07)
LOW_PASS, KALMAN = low_pass(2, H, 0.4), kalman((1e-3, 2e-3), H, 20.0)
REPRESENTATIONS: dict[str, Any] = {
    "differences": VelocityFree(ANGLES, 2, m_q=2, m_u=1),
    "one difference": VelocityFree(ANGLES, 2, m_q=1, m_u=3),
    "naive": VelocityFree(ANGLES, 2, m_q=4, m_u=0, differences=False),
    "low-pass": Filtered(ANGLES, 2, H, a=LOW_PASS.a, b=LOW_PASS.b),
    "kalman": Filtered(ANGLES, 2, H, a=KALMAN.a, b=KALMAN.b),
    "full state": FullState(ANGLES, 2, H),
}


@pytest.fixture
def small_check(monkeypatch):
    """Exports can be compiled, and are checked on fewer histories: 10,000 take seconds, and the command line's do."""
    need("cc")
    monkeypatch.setattr(checking, "HISTORIES", 400)


def motion(seed: int, samples: int = 40) -> np.ndarray:
    """Measured positions; the angle turns round more than once."""
    t = H * np.arange(samples)
    q = np.column_stack([0.5 * np.sin(3 * t + seed), 5 * np.sin(2 * t) + 3 + 0.2 * seed])
    return q + 2e-3 * np.random.default_rng(seed).normal(size=q.shape)


def learned(how: str, kind: str, *, follows: bool = False, slew: float = 0.0) -> LearnedPolicy:
    """A policy that was not learned but drawn, as wide as the motions are; `slew` is a share of its limits."""
    seen, rng = REPRESENTATIONS[how], np.random.default_rng(1)
    x = policy_inputs(seen, follows)
    scale = tuple((x.std(axis=0) + 1e-3).tolist())
    fields: dict[str, Any] = {"scale": scale, "limits": LIMITS}
    fields |= {"units": 9} if kind == "mlp" else {"basis_functions": 30, "circle": (False,) * len(scale)}
    policy = KINDS[kind](**fields)
    drawn = policy.init(jax.random.key(0))
    params = {name: value + 0.3 * rng.normal(size=np.shape(value)) for name, value in drawn.items()}
    if kind != "mlp":
        params["centers"] = x[:30] / scale
        params["log_lengthscales"] = params["log_lengthscales"] + np.log(len(scale)) / 2
        params["weights"] = rng.normal(size=(30, 2)) * LIMITS
    if kind == "linear-rbf":
        params["gains"] = 0.3 * rng.normal(size=(len(scale), 2)) * LIMITS
    return LearnedPolicy(seen, policy, params, motion(9, 15) if follows else None, slew_of(slew, np.array(LIMITS)))


def policy_inputs(seen: Any, follows: bool) -> np.ndarray:
    """x* along a motion."""
    measured = measurements(seen, motion(5))
    memory, rows = seen.begin(measured[0]), []
    for z in measured:
        memory = seen.push(memory, z, np.zeros(2))
        rows.append(np.concatenate([seen.policy_input(memory), 0.5 * z[:2] if follows else []]))
    return np.array(rows)


def measurements(seen: Any, q: np.ndarray) -> np.ndarray:
    """What a controller is given when these positions are measured."""
    return np.column_stack([q, np.gradient(q, H, axis=0)]) if seen.full_state else q


def exported(policy: LearnedPolicy, **changed: Any) -> Exported:
    """The policy as a run would describe it."""
    trials = [measurements(policy.representation, motion(seed)) for seed in range(3)]
    about = {"run": "runs/drawn", "trial": 1, "task": "drawn", "seed": 0, "versions": {}, "settings": {}}
    whole = Exported(
        policy,
        (Quantity("p", "m"), Quantity("alpha", "rad")),
        (Quantity("force", "N"), Quantity("turn", "rad")),
        H,
        about,
        tuple(trials),
    )
    return dataclasses.replace(whole, **changed)


def written(one: Exported, to: str, folder: Path, precision: Any = "double") -> Path:
    """The export's files in a folder."""
    for name, content in TARGETS[to].files(one, precision).items():
        files.write_file(folder / name, content)
    return folder


def need(command: str) -> list[str]:
    """A compiler; where it is missing its tests are skipped, but not in CI."""
    if shutil.which(command) is None and not os.environ.get("VFPILCO_NO_SKIP"):
        pytest.skip(f"there is no {command}")
    return [command]
