"""Questions to a person: to put the machine in its start, and whether to drive it, also with a high risk."""

from __future__ import annotations

import select
import sys

from rich.console import Console

from vfpilco.common.errors import UserError
from vfpilco.common.text import printable
from vfpilco.data.risk import Risk, percent

NO_TERMINAL = "There is no terminal to press Enter in: leave --wait out, or run in a terminal."


def wait_for_start(what: str) -> None:
    """Ask a person to put the machine in its start, and wait."""
    try:
        Console(stderr=True).input(f"  Put the machine in its start for {what}, then press Enter (Ctrl-C stops) ")
    except EOFError as error:
        print(file=sys.stderr)
        raise UserError(NO_TERMINAL) from error


def check_terminal() -> None:
    """Raise a `UserError` if standard input has ended, before anything is started."""
    if sys.stdin is None:
        raise UserError(NO_TERMINAL)
    if sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return
    if not sys.stdin.buffer.peek(1):  # pyright: ignore[reportAttributeAccessIssue]
        raise UserError(NO_TERMINAL)


def agrees_to_risk(trial: int, risk: Risk) -> bool:
    """Whether a person agrees to execute a policy whose predicted risk is above the one that is allowed."""
    question = (
        f"  The predicted risk of trial {trial} is {percent(risk.leaving)} ({printable(risk.words)}), more than "
        "--max-risk allows. Run it nevertheless? (yes or no) "
    )
    return _says_yes(question)


def agrees_to_plant(address: str) -> bool:
    """Whether a person in a terminal agrees to use a plant that only a run folder names."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    return _says_yes(f"The run was made with the plant {printable(address)}. Drive it now? (yes or no) ")


def _says_yes(question: str) -> bool:
    try:
        return Console(stderr=True).input(question, markup=False).strip().lower() in ("y", "yes")
    except EOFError:
        return False
