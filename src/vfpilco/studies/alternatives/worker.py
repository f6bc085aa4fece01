"""One attempt in a process of its own: `python -m vfpilco.studies.alternatives.worker METHOD TASK SEED` prints it."""

from __future__ import annotations

import json
import sys

from vfpilco.common.errors import UserError
from vfpilco.data.records import to_json_types
from vfpilco.studies.alternatives.methods import record
from vfpilco.studies.worker import FAILED, stop_on_signals, stop_with_parent


def main(argv: list[str]) -> int:
    """Make the attempt on the command line; the exit code."""
    try:
        method, task, seed = argv
        print(json.dumps(to_json_types(record(method, task, int(seed)))))
    except (UserError, ValueError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    stop_on_signals()
    stop_with_parent()
    sys.exit(main(sys.argv[1:]))
