"""The size of the folder of compiled code is limited without a lock."""

from __future__ import annotations

import os
from pathlib import Path

from vfpilco.common.cache import prune


def entry(folder: Path, name: str, used: float, size: int = 10) -> Path:
    path = folder / f"{name}-cache"
    path.write_bytes(bytes(size))
    os.utime(path, (used, 1.0))
    return path


def test_the_least_recently_used_files_are_removed(tmp_path):
    kept = [entry(tmp_path, "b", 300), entry(tmp_path, "d", 400)]
    removed = [entry(tmp_path, "c", 100), entry(tmp_path, "a", 200)]
    other = tmp_path / "notes.txt"
    other.write_bytes(bytes(100))
    prune(tmp_path, 40)
    assert all(path.exists() for path in [*kept, *removed])
    prune(tmp_path, 29)
    assert [path.exists() for path in removed] == [False, False]
    assert all(path.exists() for path in [*kept, other])


def test_the_times_that_jax_kept_are_removed(tmp_path):
    kept, outdated = entry(tmp_path, "a", 1), tmp_path / "a-atime"
    outdated.write_bytes(bytes(8))
    prune(tmp_path, 100)
    assert kept.exists()
    assert not outdated.exists()


def test_files_that_another_process_removes_are_no_problem(tmp_path, monkeypatch):
    for i in range(3):
        entry(tmp_path, str(i), i)
    unlink = Path.unlink

    def gone(path: Path) -> None:
        unlink(path)
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "unlink", gone)
    prune(tmp_path, 0)
    assert not list(tmp_path.iterdir())
