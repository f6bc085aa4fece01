"""`vfpilco bench`: times and ratios, all from one run."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from rich.console import Console

from vfpilco.cli.arguments import parse
from vfpilco.cli.bench_table import bench_table
from vfpilco.common.checks import check_integer
from vfpilco.studies.bench import SIZES, bench
from vfpilco.trials.plan import MOST_POINTS


@dataclass(frozen=True)
class Arguments:
    """Measure how fast a gradient step is on this machine, against a plain version and against its lower bound."""

    sizes: tuple[int, ...] = SIZES
    """Numbers of training points to measure at."""
    json: bool = False
    """Print the results as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco bench`: a table of times and ratios, all from one run."""
    args: Arguments = parse(Arguments, argv, "bench")
    for size in args.sizes:
        check_integer("sizes", size, 20, MOST_POINTS)
    measured = bench(args.sizes)
    if args.json:
        print(json.dumps(dataclasses.asdict(measured)))
    else:
        Console().print(bench_table(measured))
