"""The user's own folders: what is remembered between runs, and what can be made again."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "vfpilco"


def state_folder() -> Path | None:
    """Where what was done before is remembered: $XDG_STATE_HOME/vfpilco; None for a user without a home."""
    return _own("XDG_STATE_HOME", ".local/state")


def cache_folder() -> Path | None:
    """Where what can be made again is kept: $XDG_CACHE_HOME/vfpilco; None for a user without a home."""
    return _own("XDG_CACHE_HOME", ".cache")


def _own(variable: str, in_home: str) -> Path | None:
    if os.path.isabs(os.environ.get(variable, "")):
        return Path(os.environ[variable]) / NAME
    try:
        return Path.home() / in_home / NAME
    except RuntimeError:  # no HOME, and no entry in the password file, as in containers
        return None
