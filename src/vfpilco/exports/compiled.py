"""Compiling an export in C, and running it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from vfpilco.common.errors import UserError
from vfpilco.exports.prefix import names_in
from vfpilco.exports.templates import fill

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILERS = ("cc", "gcc", "clang")


def compiler(purpose: str = "Checking an export in C") -> list[str]:
    """The command of the C compiler: that of the environment variable CC, or the first one found."""
    named = os.environ.get("CC", "")
    commands = [named.split()] if named.split() else [[name] for name in COMPILERS]
    for command in commands:
        if shutil.which(command[0]):
            return command
    tried = " or ".join(" ".join(command) for command in commands)
    raise UserError(f"{purpose} needs a compiler, and {tried} was not found: install one, or name it in CC.")


class Program:
    """An export in C, compiled with a program that calls it."""

    def __init__(self, export: Path, into: Path, command: list[str], flags: tuple[str, ...] = ()) -> None:
        self.path, called = into / "drive", names_in(export)
        (into / "drive.c").write_text(fill("drive.c", **called))
        sources = [str(export / called["source"]), str(into / "drive.c")]
        line = [*command, *FLAGS, *flags, f"-I{export}", "-o", str(self.path), *sources, "-lm"]
        built = subprocess.run(line, capture_output=True, text=True, timeout=600)
        if built.returncode:
            raise UserError(f"{command[0]} did not compile the export: {built.stderr.strip()[:500]}")

    def answers(self, trials: list[np.ndarray]) -> list[np.ndarray]:
        """The inputs that the policy returns for the measurements of trials, reset before each."""
        inputs = np.frombuffer(self._run(trials)).reshape(sum(map(len, trials)), -1)
        return np.split(inputs, np.cumsum([len(trial) for trial in trials])[:-1])

    def seconds(self, trial: np.ndarray) -> float:
        """The duration of a step."""
        return float(np.frombuffer(self._run([trial], "time"))[0])

    def _run(self, trials: list[np.ndarray], *arguments: str) -> bytes:
        resets = [np.arange(len(trial))[:, None] == 0 for trial in trials]
        records = [np.column_stack([reset, trial]) for reset, trial in zip(resets, trials, strict=True)]
        sent = np.concatenate(records).astype(np.float64).tobytes()
        done = subprocess.run([self.path, *arguments], input=sent, capture_output=True, timeout=600)
        if done.returncode:
            raise UserError(f"The export in C failed while running: {done.stderr.decode(errors='replace')[:2000]}")
        return done.stdout
