"""One measurement in a process of its own: `python -m vfpilco.studies.bench CLASS POINTS` prints it as JSON."""

from __future__ import annotations

import json
import os
import sys

import jax

from vfpilco.common.configuration import configure
from vfpilco.data.records import to_json_types
from vfpilco.studies.bench.measurements import MEASUREMENTS, OneCoreTimes

if __name__ == "__main__":
    if sys.argv[1] == OneCoreTimes.__name__:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    configure()
    jax.config.update("jax_enable_compilation_cache", False)  # so that compiling is measured too
    chosen = {cls.__name__: function for cls, function in MEASUREMENTS.items()}[sys.argv[1]]
    print(json.dumps(to_json_types(chosen(int(sys.argv[2])))))
