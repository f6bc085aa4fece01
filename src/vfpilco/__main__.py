"""The program: `vfpilco …` or `python -m vfpilco …`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def stop(number: int, _: FrameType | None) -> None:
    """End as on Ctrl-C: the plant is stopped and what there is is kept."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> int:
    """Run a command; whatever stops the program, also while it is still being loaded, ends it without a traceback."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    try:
        from vfpilco import cli

        return cli.main()
    except KeyboardInterrupt:
        print("vfpilco: stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # The reader of our output has gone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
