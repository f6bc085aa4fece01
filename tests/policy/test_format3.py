"""Policy files of format 3, written by version 0.1, with the inputs that version 0.1 computed from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.limits import Slew
from vfpilco.policy.mlp import MLP
from vfpilco.policy.rbf import RBF, LinearRBF
from vfpilco.state.filtered import Filtered, FullState
from vfpilco.state.window import VelocityFree

SAMPLES = Path(__file__).parents[1] / "samples"
EXPECTED = json.loads((SAMPLES / "format3-expected.json").read_text())
POSITIONS, VELOCITIES = (np.array(EXPECTED[name]) for name in ("positions", "velocities"))


def path_of(name: str) -> Path:
    folder = SAMPLES if "format3" in name else SAMPLES / "policies-format3"
    return folder / f"{name}.safetensors"


def inputs(policy: LearnedPolicy, name: str) -> list[float]:
    """The inputs along a trajectory; a smaller one for policies that were learned."""
    q = 0.1 * POSITIONS if "format3" in name else POSITIONS
    measured = np.column_stack([q, VELOCITIES]) if policy.state.full_state else q
    return [policy(row).item() for row in measured]


@pytest.mark.parametrize("name", EXPECTED["policies"])
def test_a_policy_of_format_3_gives_the_same_inputs_and_can_be_saved_again(name, tmp_path):
    policy = LearnedPolicy.load(path_of(name))
    found = inputs(policy, name)
    np.testing.assert_allclose(found, EXPECTED["policies"][name], rtol=1e-9, atol=1e-12)
    assert np.ptp(found) > 1e-2
    policy.save(tmp_path / "policy.safetensors")
    again = LearnedPolicy.load(tmp_path / "policy.safetensors")
    assert again.state == policy.state
    assert again.policy == policy.policy
    np.testing.assert_array_equal(inputs(again, name), found)


def test_policies_of_format_3_have_the_components_they_were_learned_with():
    loaded = {name: LearnedPolicy.load(path_of(name)) for name in EXPECTED["policies"]}
    found = {name: (type(policy.state), type(policy.policy)) for name, policy in loaded.items()}
    assert found == {
        "pms": (Filtered, RBF),
        "pms-kalman": (Filtered, RBF),
        "full-state": (FullState, RBF),
        "naive-mlp-slew": (VelocityFree, MLP),
        "linear-rbf-reference": (VelocityFree, LinearRBF),
        "policy-format3": (VelocityFree, RBF),
        "run-format3/policy": (VelocityFree, RBF),
    }
    naive = loaded["naive-mlp-slew"]
    assert (naive.state.m_q, naive.state.m_u, naive.state.encoding) == (1, 0, "positions")
    assert naive.slew == Slew((2.0,))
    assert naive.policy.units == 4
    assert loaded["pms"].state.signals.sampling_time == pytest.approx(1 / 30)
    assert loaded["pms-kalman"].policy.inputs.turns == ((-1.0, 2.0),)
    assert loaded["linear-rbf-reference"].reference.shape == (6, 2)
    assert loaded["policy-format3"].policy.basis_functions == 200
