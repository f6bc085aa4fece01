"""Values of JSON with something hostile at a random place."""

from __future__ import annotations

import random
from typing import Any

HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 10**9, 2**63, 10**400, 0.5, -0.0, 1e-320, 1e30, 1.7e308, float("nan"),
    float("inf"), "", "x", "\x1b[2J\x1b]0;gone\x07", "\ud800", "\0", "a" * 5000, "../../x", "/dev/zero", "5", "noise:",
    "noise:nan,1", "step:-1,0", "se * se + poly9", "tcp://[/x]:1", "gym:os:x", "RBF", "cartpole", [], [[]], [1, [2]],
    {}, {"type": "RBF"}, {"type": "Filtered"}, {"type": "Settings"}, {"type": None}, {"type": "Slew", "most": []},
]  # fmt: skip


def tree(value: Any, rng: random.Random, said: list[str]) -> Any:
    """A JSON value with something changed at a random place."""
    inside = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if inside and rng.random() < 0.85:
        key = rng.choice(inside)
        if rng.random() < 0.15:
            said.append(f"without {key!r}")
            if isinstance(value, dict):
                return {name: entry for name, entry in value.items() if name != key}
            return [entry for i, entry in enumerate(value) if i != key]
        said.append(str(key)[:30])
        changed = tree(value[key], rng, said)
        if isinstance(value, dict):
            name = key if rng.random() < 0.97 else rng.choice(["type", "\x1b[31m", "\udfff", "x"])
            return {name if each == key else each: changed if each == key else entry for each, entry in value.items()}
        return [changed if i == key else entry for i, entry in enumerate(value)] + ([changed] * (rng.random() < 0.1))
    chosen = rng.choice([*HOSTILE, [value], [value] * 3, {"a": value}, str(value)[:5000]])
    said.append(f"= {str(chosen)[:30]!r}")
    return chosen
