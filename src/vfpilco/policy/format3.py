"""Policy files of format 3, written before version 0.2, as descriptions of the present format."""

from __future__ import annotations

from typing import Any

POLICIES = {"rbf": "RBF", "linear-rbf": "LinearRBF", "mlp": "MLP"}
SIZES = {"rbf": "basis_functions", "linear-rbf": "basis_functions", "mlp": "units"}


def policy_of_format_3(description: dict[str, Any]) -> dict[str, Any]:
    """The description of state, policy and slew limit, as it would be written now."""
    kind, policy = description["kind"], description["policy"]
    inputs = {name: policy[name] for name in ("scale", "limits", "circle", "turns") if name in policy}
    slew = {"type": "Slew", "most": description["slew"]} if "slew" in description else None
    return {
        "state": _state(dict(description["representation"])),
        "policy": {
            "type": POLICIES[kind],
            SIZES[kind]: policy[SIZES[kind]],
            "bound": {"type": "PolicyInputs", **inputs},
        },
        "slew": slew,
    }


def _state(fields: dict[str, Any]) -> dict[str, Any]:
    method, angles, d_u = (fields[name] for name in ("method", "angles", "d_u"))
    signals = {"type": "Signals", "angles": angles, "d_u": d_u, "sampling_time": fields.get("sampling_time", 1.0)}
    if method == "vf":
        encoding = "differences" if fields.get("differences", True) else "positions"
        memories = {"m_q": fields["m_q"], "m_u": fields["m_u"]}
        return {"type": "VelocityFree", **memories, "encoding": encoding, "bound": signals}
    if method == "pms":
        return {"type": "Filtered", "a": fields["a"], "b": fields["b"], "bound": signals}
    return {"type": {"full-state": "FullState"}[method], "bound": signals}
