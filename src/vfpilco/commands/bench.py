"""`vfpilco bench`: times and ratios, all from one run."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.console import Console

from vfpilco.arguments import parse
from vfpilco.bench import SIZES, bench
from vfpilco.display import bench_table
from vfpilco.learner import MOST_POINTS
from vfpilco.settings import whole


@dataclass(frozen=True)
class Arguments:
    """Measure how fast a gradient step is on this machine, against a plain version and against its floor."""

    sizes: tuple[int, ...] = SIZES
    """Training points to measure at."""
    json: bool = False
    """Print the results as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco bench`: a table of times and ratios, all from one run."""
    args = parse(Arguments, argv, "bench")
    for size in args.sizes:
        whole("sizes", size, 20, MOST_POINTS)
    measured = bench(args.sizes)
    if args.json:
        print(json.dumps(measured))
    else:
        Console().print(bench_table(measured))
