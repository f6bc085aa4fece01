"""`vfpilco serve TASK`: the plant of a task on TCP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from vfpilco.cli.arguments import parse
from vfpilco.common.errors import UserError
from vfpilco.common.say import say
from vfpilco.data.failures import NotStopped
from vfpilco.machines.load import load
from vfpilco.plants.serve import Unstoppable, place, serve
from vfpilco.tasks.realtime import RealTime
from vfpilco.trials.execute import connect


@dataclass(frozen=True)
class Arguments:
    """Serve the plant of a task over TCP, to try learning from another process."""

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """The task that has the plant."""
    address: str = "127.0.0.1:5555"
    """Where to listen; port 0 takes a free one. There is no password: use other hosts only in a network you trust."""
    patience: float = 1.0
    """Seconds without an input in a trial until the plant is stopped."""
    realtime: bool = False
    """Make every step last one sampling time, as on a machine."""


def run(argv: list[str]) -> None:
    """`vfpilco serve TASK`: until Ctrl-C."""
    args: Arguments = parse(Arguments, argv, "serve")
    task = load(args.task)
    if not 0 < args.patience < float("inf"):
        raise UserError(f"Patience must be positive, got {args.patience}: give it in seconds.")
    try:
        place(args.address)
    except ValueError:
        raise UserError(f"An address has the form host:port, got {args.address!r}: give one like that.") from None
    plant, machine = connect(task), task.machine
    rules = machine.realtime or RealTime(step_timeout=math.inf, reset_timeout=math.inf)
    try:
        serve(
            plant,
            positions=[p.name for p in machine.positions],
            inputs=[i.name for i in machine.inputs],
            limits=machine.limits.tolist(),
            sampling_time=machine.sampling_time,
            address=args.address,
            patience=args.patience,
            realtime=args.realtime,
            step_timeout=rules.step_timeout,
            reset_timeout=rules.reset_timeout,
            say=say,
        )
    except Unstoppable as problem:
        raise NotStopped(f"{problem}.") from problem
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"Cannot listen on {args.address} ({reason}): choose another address.") from error
