from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, time
from vfpilco.cli import signals
signals.while_running()
try:
    {work}
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
signals.when_done()
"""
UNINTERRUPTED = 'os.system("echo busy; sleep 2")'  # one call, in which no signal handler of Python runs
INTERRUPTED = 'print("busy", flush=True)'


def interrupted(work: str) -> tuple[str, str]:
    """What a program writes to standard output and to standard error after a signal that should end it."""
    program = [sys.executable, "-c", PROGRAM.format(work=work)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.terminate()
        return process.communicate(timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_program_that_is_busy_says_that_it_is_stopping():
    assert interrupted(UNINTERRUPTED) == ("interrupted\n", "\nvfpilco: stopping ...\n")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_program_that_stops_at_once_says_nothing_more():
    assert interrupted(INTERRUPTED) == ("interrupted\n", "")
