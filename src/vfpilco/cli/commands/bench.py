"""`vfpilco bench`: times and ratios, all from one run."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from rich.console import Console

from vfpilco.cli.arguments import parse
from vfpilco.cli.bench_table import bench_tables
from vfpilco.common.checks import check_integer
from vfpilco.studies.bench import RUNS, SIZES, bench
from vfpilco.trials.plan import MOST_POINTS


@dataclass(frozen=True)
class Arguments:
    """Measure gradient steps on this machine, against a plain version and a lower bound, and the time to success."""

    sizes: tuple[int, ...] = SIZES
    """Numbers of training points to measure at."""
    runs: int = RUNS
    """Complete runs of the cart-pole, each until its first success."""
    json: bool = False
    """Print the results as one JSON object."""


def run(argv: list[str]) -> None:
    """`vfpilco bench`: a table of times and ratios, all from one run."""
    args: Arguments = parse(Arguments, argv, "bench")
    for size in args.sizes:
        check_integer("sizes", size, 20, MOST_POINTS)
    check_integer("runs", args.runs, 0)
    measured = bench(args.sizes, args.runs)
    if args.json:
        print(json.dumps(dataclasses.asdict(measured)))
    else:
        Console().print(*bench_tables(measured), sep="\n")
