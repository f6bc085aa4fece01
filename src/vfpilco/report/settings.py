"""The settings of a run as text, for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vfpilco.report.source import Source
from vfpilco.state.filtered import FullState
from vfpilco.state.window import VelocityFree

GROUPS = ("model", "optimiser", "prediction", "limits")
"""The groups of settings in run.json whose entries are settings of their own."""
VELOCITY_STATES = ("pms", "full-state", "Filtered", "FullState")
"""Methods of format 3 and states whose GPs predict changes of velocity."""


def settings_text(source: Source) -> dict[str, str]:
    """Every setting of a run as text, by name; as run.json describes them if it names unknown classes."""
    known = source.settings
    flat = flattened(source.header.settings) if known is None else known.flat()
    return {name: component_text(value) for name, value in flat.items()}


def changed_settings(source: Source) -> set[str]:
    """The names of the settings that differ from those that the task has by default; empty if these are unknown."""
    if source.settings is not None and (source.task is not None or source.header.defaults):
        before, after = source.default_settings.flat(), source.settings.flat()
    else:
        before, after = flattened(source.header.defaults), flattened(source.header.settings)
    return {name for name, value in after.items() if name in before and before[name] != value}


def state_text(source: Source) -> str:
    """The name of the state representation; without one in the settings it is the default."""
    if source.settings is not None:
        return type(source.settings.state or VelocityFree()).__name__
    described = source.header.settings.get("state", source.header.settings.get("method", "unknown"))
    if described is None:
        return VelocityFree.__name__
    return component_text(described.get("type", "unknown") if isinstance(described, dict) else described)


def predicts_velocities(source: Source) -> bool:
    """Whether the GPs predict changes of velocity, not of position."""
    if source.settings is not None:
        return isinstance(source.settings.state, FullState)
    return state_text(source) in VELOCITY_STATES


def flattened(description: Mapping[str, Any]) -> dict[str, Any]:
    """The settings in a run.json without its groups: every entry by its name."""
    flat: dict[str, Any] = {}
    for name, value in description.items():
        if name in GROUPS and isinstance(value, dict):
            flat |= flattened(value)
        elif name != "type":
            flat[name] = value
    return flat


def component_text(value: Any) -> str:
    """A setting as text; a component that is only described reads like the call that makes it."""
    if value is None:
        return "default"
    if isinstance(value, dict):
        fields = ", ".join(f"{name}={_entry_text(entry)}" for name, entry in value.items() if name != "type")
        return f"{value.get('type', '')}({fields})"
    return str(value)


def _entry_text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_entry_text, value))})"
    return component_text(value) if isinstance(value, dict) else repr(value)
