"""Commands that are killed at random moments and started again, without loading the package every time."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

BUSY = ("in use by process", "runs failed")
"""What a command says while a worker of a killed one has not noticed yet."""
LONGEST = 600.0
"""Seconds after which a command counts as hanging."""

MODULES = [
    "vfpilco.common.figure",
    "vfpilco.machines.cartpole.drawing",
    "vfpilco.machines.cartpole.task",
    "vfpilco.tasks.validation",
    "matplotlib.backends.backend_agg",
    "scipy.signal",
]
"""What commands import only when they need it."""

# It imports everything, but does not start JAX, and forks a process for every line that it reads.
SERVER = """
import dataclasses, importlib, json, os, pkgutil, signal, sys, warnings

warnings.simplefilter("ignore")
from vfpilco import __main__ as program
from vfpilco import studies
from vfpilco.cli import commands
from vfpilco.storage import checkpoints
from vfpilco.studies import cartpole
from vfpilco.studies.base import Configuration

for module in pkgutil.iter_modules(commands.__path__):
    importlib.import_module(f"{commands.__name__}.{module.name}")
for name in sys.argv[1:]:
    importlib.import_module(name)
checkpoints.EVERY, checkpoints.MOST_SHARE = 0.05, 1e9
tiny = {"steps": 4, "particles": 4, "basis_functions": 5, "inducing": 32}
study = dataclasses.replace(cartpole.MEMORY, trials=2, configurations=(Configuration("default", tiny, (0.0, 0.2)),))
studies.STUDIES[study.name] = study

for line in sys.stdin:
    argv, out = json.loads(line)
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.argv = ["vfpilco", *argv]
        code = 1
        try:
            code = program.main()
            sys.stdout.flush()
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Commands:
    """Runs commands, one at a time, each in a process of its own."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.server = subprocess.Popen(
            [sys.executable, "-c", SERVER, *MODULES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"},
        )

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait(60)
        assert self.server.stdout is not None
        self.server.stdout.close()

    def run(self, argv: list[str], kill_after: float = LONGEST) -> tuple[int | None, str]:
        """The exit code, None if it was killed, and the output of a command."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps([argv, str(self.output)]) + "\n")
        self.server.stdin.flush()
        child = int(self.server.stdout.readline())

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

        timer = threading.Timer(kill_after, kill)
        timer.start()
        status = int(self.server.stdout.readline())
        timer.cancel()
        said = self.output.read_text(errors="replace") if self.output.exists() else ""
        return (None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)), said


def kept(work: Path) -> dict[str, bytes]:
    """Every file except locks, timings and the logs of interrupted executions."""
    found = {str(path.relative_to(work)): path for path in work.rglob("*") if path.is_file()}
    left_out = (".lock", "timings.jsonl")
    names = [name for name in sorted(found) if not name.endswith(left_out) and ".partial" not in name]
    return {name: found[name].read_bytes() for name in names}


@dataclass
class Scenario:
    """A command that is killed: where it begins, and what it must end with."""

    name: str
    base: Path
    """The folder that it begins with; the command works in a copy."""
    argv: list[str]
    """`RUN` stands for that copy."""
    done: str = ""
    """A message of exit code 2 that says that everything was done before the kill."""
    prints: bool = False
    """Whether it must also print the same."""
    compare: Callable[[Path], dict[str, bytes]] = kept
    expected: tuple[dict[str, bytes], str] = field(default_factory=lambda: ({}, ""))
    seconds: float = 0.0
    """How long it takes without a kill."""

    def arguments(self, work: Path) -> list[str]:
        return [word.replace("RUN", str(work / "run")) for word in self.argv]

    def begin(self, work: Path) -> None:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.base, work)

    def measure(self, commands: Commands, work: Path) -> None:
        """Run it without a kill, twice: the same result, and how long it takes."""
        for _ in range(2):
            self.begin(work)
            begun = time.monotonic()
            code, said = commands.run(self.arguments(work))
            assert code == 0, f"{self.name}: {said}"
            self.seconds, before = time.monotonic() - begun, self.expected
            self.expected = self.compare(work), said
        assert self.expected[0] == before[0], self.name

    def is_done(self, code: int | None, said: str) -> bool:
        """Whether a command has refused to do again what was done before."""
        return code == 2 and bool(self.done) and self.done in said

    def kill(self, commands: Commands, work: Path, rng: random.Random) -> str | None:
        """Kill it once or twice and run it to the end; what is wrong then."""
        self.begin(work)
        kills, longest = rng.choice([1, 1, 2]), self.seconds
        while kills:
            begun = time.monotonic()
            code, said = commands.run(self.arguments(work), rng.uniform(0, longest))
            if code is None:
                kills -= 1
            elif code == 0 or self.is_done(code, said):  # It was faster than expected: that was no kill.
                longest = 0.7 * min(longest, time.monotonic() - begun)
                self.begin(work)
            elif _is_busy(code, said):
                time.sleep(0.2)
            else:
                return f"exit code {code}: {said[-500:]}"
        for _ in range(20):
            code, said = commands.run(self.arguments(work))
            if not _is_busy(code, said):
                break
            time.sleep(1)
        if code != 0 and not self.is_done(code, said):
            return f"afterwards exit code {code}: {said[-500:]}"
        if self.prints and said != self.expected[1]:
            return f"printed {said[-500:]}"
        now, expected = self.compare(work), self.expected[0]
        if now != expected:
            different = sorted(name for name in now.keys() | expected.keys() if now.get(name) != expected.get(name))
            return f"different: {', '.join(different)}"
        return None


def _is_busy(code: int | None, said: str) -> bool:
    return code == 2 and any(words in said for words in BUSY)
