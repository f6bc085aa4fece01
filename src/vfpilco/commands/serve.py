"""`vfpilco serve TASK`: the plant of a built-in task on TCP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from vfpilco import tasks
from vfpilco.arguments import parse
from vfpilco.errors import UserError
from vfpilco.execute import connect
from vfpilco.serve import Paced, place, serve


@dataclass(frozen=True)
class Arguments:
    """Serve the plant of a built-in task over TCP, to try out how learning from another process goes."""

    task: Annotated[Positional[str], arg(metavar="TASK")]
    """Whose plant."""
    address: str = "127.0.0.1:5555"
    """Where to listen; port 0 takes a free one. There is no password: another host belongs on a network you trust."""
    patience: float = 1.0
    """Seconds without an input in a trial until the plant is stopped."""
    realtime: bool = False
    """Take as long for a step as a machine would."""


def run(argv: list[str]) -> None:
    """`vfpilco serve TASK`: until Ctrl-C."""
    args = parse(Arguments, argv, "serve")
    task = tasks.load(args.task)
    if not 0 < args.patience < float("inf"):
        raise UserError(f"Patience must be positive, got {args.patience}: give it in seconds.")
    try:
        place(args.address)
    except ValueError:
        raise UserError(f"An address has the form host:port, got {args.address!r}: give one like that.") from None
    plant = connect(task)
    try:
        serve(
            Paced(plant, task.sampling_time) if args.realtime else plant,
            positions=[p.name for p in task.positions],
            inputs=[i.name for i in task.inputs],
            limits=task.limits.tolist(),
            sampling_time=task.sampling_time,
            address=args.address,
            patience=args.patience,
        )
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"Nobody can listen on {args.address} ({reason}): choose another address.") from error
