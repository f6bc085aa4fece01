"""The program: finds the command, runs it, and reports failures in one sentence."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from types import ModuleType

import vfpilco
from vfpilco.cli import commands
from vfpilco.cli.signals import STOPPED
from vfpilco.common.errors import NOT_STOPPED, UserError, describe_exception, unknown
from vfpilco.common.say import say

USAGE = """vfpilco: learn to control a machine from raw position measurements

learn:
  vfpilco tasks                  list what can be learned
  vfpilco new my_rig.py          write a task file to start from
  vfpilco learn TASK             learn it; --out RUN --resume continues a run
  vfpilco evaluate RUN           run a learned policy on the plant
  vfpilco serve TASK             serve its plant over TCP, for another process

learn from logs of another program:
  vfpilco inspect FILE ...       check recordings and suggest settings
  vfpilco tell RUN FILE ...      add trials that were logged elsewhere
  vfpilco ask RUN                compute the next policy of such a run

use what was learned:
  vfpilco runs [DIR]             list runs
  vfpilco report RUN ...         write a page that shows a run, or compares runs
  vfpilco render RUN --out FILE  write a film or a picture of the machine
  vfpilco export RUN --to c --out DIR
                                 write it as C99, Arduino, FMU, ONNX or NumPy

this package:
  vfpilco reproduce STUDY        run a study (--list shows them)
  vfpilco bench                  measure how fast a gradient step is here
  vfpilco doctor                 report versions, devices and optional parts
  vfpilco --version

Every command has --help; learn and tell also have --help-all.
"""


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: The command and its arguments; those of the process if not given.

    Returns:
        The exit code: 0, 2 for something that the user can fix, 3 if the machine could not be stopped, 130 after
        Ctrl-C.
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        if not argv or argv[0] in ("-h", "--help"):
            print(USAGE, end="")
        elif argv[0] == "--version":
            print(f"vfpilco {vfpilco.__version__}")
        else:
            load(argv[0]).run(argv[1:])
    except BaseException as error:
        return conclude(error)
    return 0


def conclude(error: BaseException) -> int:
    """Report what has ended the program; the exit code. What cannot be reported in a sentence is raised again."""
    if not_stopped(error):
        from vfpilco.plants.serve import BY_HAND

        fail(str(error) if isinstance(error, UserError | KeyboardInterrupt) else describe_exception(error), NOT_STOPPED)
        say(BY_HAND, error=True)
        return NOT_STOPPED
    if isinstance(error, UserError):
        return fail(str(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        return fail(str(error) or "stopped.", STOPPED)
    if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):  # broken as in `vfpilco … | head`
        reason = error.strerror or error
        return fail(f"{error.filename or 'A file'} cannot be used ({reason}): choose another place or make room.", 2)
    raise error


def not_stopped(error: BaseException) -> bool:
    """Whether a machine that could not be stopped is among the reasons for an exception, even if more has failed."""
    chain = [error]
    for one in chain:
        chain += [other for other in (one.__cause__, one.__context__) if other is not None and other not in chain]
    return any(isinstance(one, UserError) and one.exit_code == NOT_STOPPED for one in chain)


def load(name: str) -> ModuleType:
    """The module of a command; JAX is configured before anything uses it.

    Raises:
        UserError: If there is no such command.
    """
    known = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    if name not in known:
        raise unknown("command", name, known)
    module = importlib.import_module(f"{commands.__name__}.{name}")
    from vfpilco.common.configuration import configure

    configure()
    return module


def preload(argv: list[str]) -> None:
    """Load what the command needs, if there is such a command."""
    with contextlib.suppress(UserError):
        load(*argv[:1] or [""])


def fail(sentence: str, code: int) -> int:
    """Print what went wrong in one line; the exit code."""
    say(f"vfpilco: {' '.join(sentence.split())}", error=True)
    return code
