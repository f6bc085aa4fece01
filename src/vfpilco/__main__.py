"""The program: `vfpilco …` or `python -m vfpilco …`."""

from __future__ import annotations

import os
import sys

from vfpilco import stopping


def main() -> int:
    """Run a command; whatever stops the program, also while it is still being loaded, ends it without a traceback."""
    stopping.while_loading()
    from vfpilco import cli

    cli.preload(sys.argv[1:])
    stopping.while_running()
    try:
        code = cli.main()
        stopping.when_done()
    except KeyboardInterrupt:
        print("vfpilco: stopped.", file=sys.stderr)
        code = stopping.STOPPED
    except BrokenPipeError:  # The reader of our output has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    if code == stopping.STOPPED:  # Python makes a death by signal of it if it saw the interrupt inside of exec().
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
