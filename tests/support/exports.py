"""Policies with random parameters, and their exports; for the tests of exports."""

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
from vfpilco.exports import check as checking
from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.origin import Origin
from vfpilco.exports.targets import TARGETS
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.limits import InputLimits
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF
from vfpilco.state.base import Signals
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.filters import Kalman, LowPass
from vfpilco.state.window import VelocityFree

H, ANGLES, LIMITS = 1 / 30, (False, True), (10.0, 0.07)
SIGNALS = Signals(ANGLES, 2, H, std=(1e-3, 2e-3))
STATES: dict[str, Any] = {
    "differences": VelocityFree(m_q=2, m_u=1),
    "one difference": VelocityFree(m_q=1, m_u=3),
    "positions": VelocityFree(m_q=4, m_u=0, encoding="positions"),
    "past input": VelocityFree(m_q=2, m_u=1, policy_m_u=1),
    "past inputs": VelocityFree(m_q=1, m_u=3, encoding="positions", policy_m_u=2),
    "low-pass": Filtered(online=LowPass(0.4)),
    "kalman": Filtered(online=Kalman(20.0)),
    "full state": FullState(),
}
STATES = {name: state.bind(SIGNALS) for name, state in STATES.items()}
POLICIES: dict[str, Any] = {"rbf": RBF(30), "linear-rbf": LinearRBF(30), "mlp": MLP(9)}
FORMS = {to: target for to, target in TARGETS.items() if to not in ("arduino", "fmu")}  # their source is that of C


@pytest.fixture
def small_check(monkeypatch):
    """Exports can be compiled, and are checked on fewer histories: 10,000 take seconds."""
    need("cc")
    monkeypatch.setattr(checking, "HISTORIES", 400)


def motion(seed: int, samples: int = 40) -> np.ndarray:
    """Measured positions; the angle makes more than one turn."""
    t = H * np.arange(samples)
    q = np.column_stack([0.5 * np.sin(3 * t + seed), 5 * np.sin(2 * t) + 3 + 0.2 * seed])
    return q + 2e-3 * np.random.default_rng(seed).normal(size=q.shape)


def learned(how: str, kind: str, *, follows: bool = False, slew: float = 0.0) -> LearnedPolicy:
    """A policy with random parameters that suit the motions; `slew` is a fraction of its limits."""
    state, rng = STATES[how], np.random.default_rng(1)
    x = policy_inputs(state, follows)
    scale = tuple((x.std(axis=0) + 1e-3).tolist())
    policy = POLICIES[kind].bind(PolicyInputs(scale, LIMITS, (False,) * len(scale)))
    drawn = policy.init(jax.random.key(0))
    params = {name: value + 0.3 * rng.normal(size=np.shape(value)) for name, value in drawn.items()}
    if kind != "mlp":
        params["centers"] = x[:30] / scale
        params["log_lengthscales"] = params["log_lengthscales"] + np.log(len(scale)) / 2
        params["weights"] = rng.normal(size=(30, 2)) * LIMITS
    if kind == "linear-rbf":
        params["gains"] = 0.3 * rng.normal(size=(len(scale), 2)) * LIMITS
    limit = InputLimits(slew=slew).slew_limit(np.array(LIMITS))
    return LearnedPolicy(state, policy, params, motion(9, 15) if follows else None, limit)


def policy_inputs(state: Any, follows: bool) -> np.ndarray:
    """x* along a motion, with inputs that vary."""
    measured, rng = measurements(state, motion(5)), np.random.default_rng(2)
    memory, rows = state.begin(measured[0]), []
    for z in measured:
        memory = state.push(memory, z, rng.uniform(-0.7, 0.7, 2) * LIMITS)
        rows.append(np.concatenate([state.policy_input(memory), 0.5 * z[:2] if follows else []]))
    return np.array(rows)


def measurements(state: Any, q: np.ndarray) -> np.ndarray:
    """What a controller receives when these positions are measured."""
    return np.column_stack([q, np.gradient(q, H, axis=0)]) if state.full_state else q


def exported(policy: LearnedPolicy, **changed: Any) -> Exported:
    """The policy as it would be exported from a run."""
    complete = Exported(
        policy,
        (Quantity("p", "m"), Quantity("alpha", "rad")),
        (Quantity("force", "N"), Quantity("turn", "rad")),
        H,
        Origin("runs/drawn", 1, "drawn", 0, {}, {}),
        tuple(measurements(policy.state, motion(seed)) for seed in range(3)),
    )
    return dataclasses.replace(complete, **changed)


def written(one: Exported, to: str, folder: Path, precision: Any = "double") -> Path:
    """The export's files in a folder."""
    for name, content in TARGETS[to].files(one, precision).items():
        files.write_file(folder / name, content)
    return folder


def need(command: str) -> list[str]:
    """A compiler; tests are skipped if it is missing, except in CI."""
    if shutil.which(command) is None and not os.environ.get("VFPILCO_NO_SKIP"):
        pytest.skip(f"there is no {command}")
    return [command]


def difference(one: Exported, found: list[np.ndarray], trials: list[np.ndarray]) -> float:
    """The largest difference from the learned policy, as a fraction of u_max; its inputs must not be trivial."""
    due = np.concatenate([checking.answers(one, *each) for each in zip(trials, found, strict=True)]) / LIMITS
    assert np.mean(np.any((np.abs(due) > 0.05) & (np.abs(due) < 0.95), axis=1)) > 0.3
    return float(np.abs(np.concatenate(found) / LIMITS - due).max())
