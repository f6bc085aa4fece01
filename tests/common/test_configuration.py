from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

PROGRAM = """
import sys
import jax
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None)
import vfpilco
vfpilco.configure()
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
print(float(jax.jit(lambda x: jax.numpy.sin(x).sum())(jax.numpy.arange(7.0))), len(hits))
"""


def run(**environment: str) -> tuple[str, int]:
    """The result of a program with its own environment variables, and how many compilations it found in the cache."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**mine, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    value, hits = done.stdout.split()
    return value, int(hits)


def entries(folder: Path) -> list[Path]:
    return list(folder.rglob("*-cache"))


def test_compiled_code_is_cached_for_the_next_run(tmp_path):
    first = run(XDG_CACHE_HOME=str(tmp_path))
    assert first[1] == 0
    assert entries(tmp_path / "vfpilco")
    second = run(XDG_CACHE_HOME=str(tmp_path))
    assert second[1] > 0
    assert second[0] == first[0]


def test_a_cache_that_another_process_keeps_locked_is_not_waited_for(tmp_path):
    run(XDG_CACHE_HOME=str(tmp_path))
    (entry, *_) = entries(tmp_path)
    with FileLock(entry.with_name(".lockfile")):  # the lock of JAX, of which it has one only if it limits the size
        assert run(XDG_CACHE_HOME=str(tmp_path))[1] > 0


def test_a_cache_that_jax_is_configured_with_is_used_instead(tmp_path):
    theirs = tmp_path / "theirs"
    run(XDG_CACHE_HOME=str(tmp_path), JAX_COMPILATION_CACHE_DIR=str(theirs))
    assert entries(theirs)
    assert not (tmp_path / "vfpilco").exists()


def test_without_a_writable_cache_nothing_is_cached(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert run(XDG_CACHE_HOME=str(tmp_path / "file"))[1] == 0
    assert (tmp_path / "file").read_text() == "not a folder"


def test_a_damaged_entry_is_compiled_again(tmp_path):
    first = run(XDG_CACHE_HOME=str(tmp_path))
    for entry in entries(tmp_path):
        entry.write_bytes(entry.read_bytes()[:40])
    assert run(XDG_CACHE_HOME=str(tmp_path)) == first
