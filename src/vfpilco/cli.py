"""The command line: what commands there are, and how their failures are told."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from types import ModuleType

import vfpilco
from vfpilco import commands
from vfpilco.errors import UserError, unknown

USAGE = """vfpilco: learn to control a machine from raw position measurements

  vfpilco tasks                 what can be learned
  vfpilco learn TASK            learn it            (vfpilco learn TASK --help: every setting)
  vfpilco learn TASK --out RUN --resume             go on where it was stopped
  vfpilco new my_rig.py         write a task of your own to begin with
  vfpilco tell RUN TRIAL.CSV    add a trial that was logged elsewhere
  vfpilco ask RUN               the next policy of such a run
  vfpilco runs [DIR]            list runs
  vfpilco evaluate RUN          run a learned policy on the plant
  vfpilco serve TASK            its plant on TCP, for a learner in another process
  vfpilco inspect FILE …        what recordings made elsewhere hold, and what settings fit
  vfpilco export RUN --to c --out DIR               a learned policy as C99, ONNX or NumPy
  vfpilco report RUN …          a page that shows a run, or compares runs and studies
  vfpilco render RUN --out swing.gif                a film or a picture of the machine
  vfpilco reproduce STUDY       make a study of the paper    (vfpilco reproduce --list)
  vfpilco bench                 how fast a gradient step is on this machine
  vfpilco --version
"""


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0, or 2 for something the user can mend."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        if not argv or argv[0] in ("-h", "--help"):
            print(USAGE, end="")
        elif argv[0] == "--version":
            print(f"vfpilco {vfpilco.__version__}")
        else:
            command(argv[0]).run(argv[1:])
    except UserError as error:
        return fail(str(error), 2)
    except BrokenPipeError:  # nobody reads on, as in `vfpilco … | head`
        raise
    except OSError as error:
        reason = error.strerror or error
        return fail(f"{error.filename or 'A file'} cannot be used ({reason}): choose another place or make room.", 2)
    except KeyboardInterrupt as stopped:
        return fail(str(stopped) or "stopped.", 130)
    return 0


def command(name: str) -> ModuleType:
    """The module of a command, loaded when it is asked for."""
    known = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    if name not in known:
        raise unknown("command", name, known)
    return importlib.import_module(f"{commands.__name__}.{name}")


def preload(argv: list[str]) -> None:
    """Load what the command needs, if there is such a command."""
    with contextlib.suppress(UserError):
        command(*argv[:1] or [""])


def fail(sentence: str, code: int) -> int:
    """Say what went wrong in one line; the exit code."""
    print(f"vfpilco: {' '.join(sentence.split())}", file=sys.stderr)
    return code
