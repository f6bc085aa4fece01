"""Serves any object with `reset`, `step` and `stop` as a plant over TCP.

The protocol is described in docs/reference/protocol.md; this is the side of the plant. The folder needs only Python 3.9
and its standard library: on a computer where the package cannot be installed, copy it next to your own file.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

from .messages import PROTOCOL, VERSION, place
from .motion import BY_HAND, Motion, Unstoppable, certainly
from .server import Rules, Server

__all__ = ["BY_HAND", "Motion", "Unstoppable", "certainly", "place", "serve"]


def serve(
    plant: Any,
    *,
    positions: Sequence[str],
    inputs: Sequence[str],
    limits: Sequence[float],
    sampling_time: float,
    address: str = "127.0.0.1:5555",
    patience: float = 1.0,
    realtime: bool = False,
    step_timeout: float = 1.0,
    reset_timeout: float = 300.0,
    say: Callable[[str], None] = lambda line: print(line, flush=True),
) -> None:
    """Serve a plant until Ctrl-C, to one learner at a time.

    The plant is stopped when the learner asks for it or disconnects, when no input arrives for `patience` seconds in a
    trial, when a method of it does not return in time, and when the program ends. There is no password: let others
    reach the address only on a network you trust.

    Args:
        plant: Any object with the methods `reset(seed)`, `step(u)` and `stop()`.
        positions: The names of the positions, in order.
        inputs: The names of the inputs, in order.
        limits: The largest magnitude of every input; larger inputs are refused.
        sampling_time: Seconds between samples.
        address: `host:port` to listen on; port 0 takes a free one.
        patience: Seconds without an input during a trial after which the plant is stopped.
        realtime: Let every step take a sampling time: for a simulated plant, which does not wait by itself.
        step_timeout: A step hangs if it takes this many seconds more than a sampling time: the plant is stopped from
            another thread, and the learner is informed. `math.inf`: it may take as long as it likes.
        reset_timeout: The same for a reset, from its beginning.
        say: Called with every line of output, the first of which has the address.

    Raises:
        ValueError: If the address is invalid.
        OSError: If it cannot be listened on.
        Unstoppable: If the plant could not be stopped at the end.

    Example:
        >>> serve(Rig(), positions=["q"], inputs=["u"], limits=[10.0], sampling_time=0.02)  # doctest: +SKIP
    """
    hello = {"type": "hello", "protocol": PROTOCOL, "version": VERSION, "positions": list(positions)}
    hello |= {"inputs": list(inputs), "limits": [float(u) for u in limits], "sampling_time": float(sampling_time)}
    host, port = place(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        say(f"plant on tcp://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}")
        seconds = {"step": sampling_time + step_timeout, "reset": reset_timeout}
        server = Server(listener, plant, hello, Rules(patience, realtime, seconds), say)

        def work() -> None:
            while True:
                server.serve_next()

        server.motion.drive(lambda: certainly(work, lambda: server.end("the plant's program ends")))
