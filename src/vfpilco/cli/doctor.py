"""An examination of this computer: versions, devices, real time, cache, optional parts."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vfpilco.common.memory import available_memory
from vfpilco.common.versions import versions

FILMS = "films as MP4"
PARTS = {
    "plot": ("matplotlib", "figures and pictures"),
    "video": ("imageio-ffmpeg", FILMS),
    "gym": ("gymnasium", "Gymnasium environments as plants"),
    "mujoco": ("mujoco", "the UR5"),
    "fmi": ("fmpy", "FMUs as plants"),
    "logs": ("pyarrow", "logs in Parquet, MCAP and MATLAB 7.3"),
    "onnx": ("onnx", "export to ONNX"),
    "ray": ("ray", "studies on a cluster"),
    "baselines": ("stable-baselines3", "SAC and TQC in reproduce alternatives"),
    "tensorboard": ("tensorboardX", "learn --tensorboard"),
}
"""The extras of the package: what each installs, and what it is for."""


@dataclass(frozen=True)
class Finding:
    """What was found about one part."""

    part: str
    state: str
    """What it is like."""
    remedy: str = ""
    """What to do, if something is missing."""


def examine() -> list[Finding]:
    """Everything that vfpilco depends on, as far as it can be seen without changing anything."""
    numbers = ", ".join(f"{name} {number}" for name, number in versions().items())
    memory = available_memory()
    left = "" if memory is None else f", {memory / 1e9:.1f} GB of memory available"
    return [
        Finding("versions", numbers),
        Finding("computer", f"{platform.platform()}, {os.cpu_count()} cores{left}"),
        _devices(),
        _real_time(),
        _kernel(),
        _cache(),
        *_parts(),
        _program("C compiler", ("cc", "gcc", "clang"), "checks of exported programs", "sudo apt install gcc"),
        *(
            []
            if _installed("imageio-ffmpeg")
            else [_program("ffmpeg", ("ffmpeg",), FILMS, "pip install 'vfpilco[video]'")]
        ),
    ]


def _devices() -> Finding:
    import jax

    devices = jax.devices()
    return Finding("devices", f"{len(devices)} of {devices[0].platform.upper()} for the particles")


def _real_time() -> Finding:
    """Whether this user may run the control loop before everything else, as a machine in real time wants it."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)  # pyright: ignore[reportAttributeAccessIssue]
        root = os.geteuid() == 0
    except (ImportError, AttributeError, OSError):
        return Finding("real-time priority", "not known on this system")
    if root or most > 0:
        return Finding("real-time priority", "allowed")
    remedy = "let an administrator add `@realtime - rtprio 50` to /etc/security/limits.conf and you to that group"
    return Finding("real-time priority", "not allowed; samples of a real machine may come late", remedy)


def _kernel() -> Finding:
    path = Path("/sys/kernel/realtime")
    realtime = path.exists() and path.read_text().strip() == "1"
    return Finding("kernel", f"{platform.release()}, {'real-time' if realtime else 'not a real-time kernel'}")


def _cache() -> Finding:
    import jax

    folder = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if folder is None:
        remedy = "make ~/.cache/vfpilco writable, or set JAX_COMPILATION_CACHE_DIR"
        return Finding("compilation cache", "off; every run compiles again", remedy)
    files = [file.stat().st_size for file in Path(folder).glob("*") if file.is_file()]
    return Finding("compilation cache", f"{folder}, {len(files)} files, {sum(files) / 2**20:.0f} MB")


def _parts() -> Iterator[Finding]:
    """The optional parts, each with the command that installs it."""
    for extra, (package, use) in PARTS.items():
        number = _installed(package)
        if number:
            yield Finding(extra, f"{package} {number} ({use})")
        else:
            yield Finding(extra, f"missing ({use})", f"pip install 'vfpilco[{extra}]'")


def _installed(package: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _program(name: str, commands: tuple[str, ...], use: str, remedy: str) -> Finding:
    found = next((path for path in map(shutil.which, commands) if path), None)
    return Finding(name, f"missing ({use})", remedy) if found is None else Finding(name, f"{found} ({use})")
