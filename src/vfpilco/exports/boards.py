"""Which boards an exported policy fits, and how long a step takes on an 8-bit one."""

from __future__ import annotations

from typing import NamedTuple

from vfpilco.exports import c
from vfpilco.exports.exported import Exported
from vfpilco.exports.footprint import ARM, AVR, Operations, Processor, operations
from vfpilco.exports.text import Precision


class Board(NamedTuple):
    """A board and its memory in bytes."""

    name: str
    chip: str
    processor: Processor
    flash: int
    ram: int


BOARDS = (
    Board("Uno R3, Nano", "ATmega328P", AVR, 32256, 2048),
    Board("Mega 2560", "ATmega2560", AVR, 253952, 8192),
    Board("Zero, MKR", "SAMD21, Cortex-M0+", ARM, 262144, 32768),
    Board("Uno R4", "RA4M1, Cortex-M4F", ARM, 262144, 32768),
    Board("Due", "SAM3X, Cortex-M3", ARM, 524288, 98304),
    Board("Nano 33 BLE", "nRF52840, Cortex-M4F", ARM, 983040, 262144),
    Board("Teensy 4", "iMXRT1062, Cortex-M7", ARM, 2031616, 524288),
)
OTHER = {AVR: (16384, 640), ARM: (65536, 8192)}
"""About what code takes in flash (policy, mathematics, core, serial port, sketch), and the RAM of these and calls."""
CYCLES = {"arithmetic": 130, "divisions": 480, "rint": 250, "exp": 3000, "tanh": 3800, "sin_cos": 2000}
"""Clock cycles of an operation on an AVR, which computes in software; rounded up from a simulation of the chip."""
CLOCK = 16e6
FAST = 0.6
"""The fraction of the sampling time that a step may take; measuring, applying and logging take time as well."""


class Need(NamedTuple):
    """What a sketch with the policy takes on a board, about, in bytes."""

    board: Board
    flash: int
    ram: int

    @property
    def fits(self) -> bool:
        """Whether the board has it."""
        return self.flash <= self.board.flash and self.ram <= self.board.ram


def needs(exported: Exported, precision: Precision) -> list[Need]:
    """What a sketch with the policy takes on every board."""
    used = [(board, c.footprint(exported, precision, board.processor)) for board in BOARDS]
    others = [OTHER[board.processor] for board in BOARDS]
    return [
        Need(board, one.constants + flash, one.struct + one.stack + ram)
        for (board, one), (flash, ram) in zip(used, others, strict=True)
    ]


def table(exported: Exported, precision: Precision) -> str:
    """The rows of a table of boards: what the policy takes there, what there is, and whether it fits."""
    return "\n".join(
        f"| {one.board.name} ({one.board.chip}) | {_kilo(one.flash)} of {_kilo(one.board.flash)} | {_kilo(one.ram)} of "
        f"{_kilo(one.board.ram)} | {'yes' if one.fits else 'no'} |"
        for one in needs(exported, precision)
    )


def notes(exported: Exported, precision: Precision) -> list[str]:
    """Sentences about what fits, and whether an AVR is fast enough."""
    fitting = [one.board.name for one in needs(exported, precision) if one.fits]
    fit = "it fits no board of the list in README.md" if not fitting else f"it fits {', '.join(fitting)}"
    return [fit, f"a step takes at most {operations(exported)}", f"that is {avr_sentence(exported)}"]


def avr_seconds(done: Operations) -> float:
    """About how long a step takes on an AVR at 16 MHz."""
    return sum(cycles * getattr(done, name) for name, cycles in CYCLES.items()) / CLOCK


def avr_sentence(exported: Exported) -> str:
    """Whether an AVR is fast enough."""
    step, sampling = avr_seconds(operations(exported)), exported.sampling_time
    share = step / sampling
    fast = "fast enough" if share < FAST else "too slow; use a 32-bit board, or fewer basis functions"
    return f"about {1e3 * step:.0f} ms on an AVR at 16 MHz, {share:.0%} of the sampling time: {fast}"


def _kilo(size: int) -> str:
    return f"{size / 1024:.1f} KB" if size < 10240 else f"{size / 1024:.0f} KB"
