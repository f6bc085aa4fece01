from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from folders import hurried
from resuming import TinyRun, tiny_run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> TinyRun:
    """A tiny run, and copies of its folder before every operation on a file."""
    return tiny_run(tmp_path_factory.mktemp("tiny") / "run", tmp_path_factory.mktemp("moments"))


@pytest.fixture
def hurry(monkeypatch) -> None:
    """A checkpoint after every chunk, and no picture."""
    hurried(monkeypatch)


@pytest.fixture
def halfway(tiny, tmp_path, hurry) -> Path:
    """A run that was interrupted while its policy was being improved."""
    return Path(shutil.copytree(tiny.moment_with("checkpoint.safetensors"), tmp_path / "run"))
