"""The program: `vfpilco …` or `python -m vfpilco …`."""

from __future__ import annotations

import os
import sys

from vfpilco.cli import signals, streams


def main() -> int:
    """Run a command; a signal ends the program without a traceback, also while it is still being loaded."""
    signals.while_loading()
    streams.prepare()
    from vfpilco.cli import main as program

    program.preload(sys.argv[1:])
    signals.while_running()
    try:
        code = program.main()
        signals.when_done()
    except KeyboardInterrupt as error:
        code = program.conclude(error)
    except BrokenPipeError:  # The reader of the output has stopped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == signals.STOPPED:  # Python ends itself by signal if it saw the interrupt inside of exec().
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
