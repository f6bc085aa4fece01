"""The part that all our state representations share: being bound to a machine's signals."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TypeVar

from vfpilco.common.errors import UserError
from vfpilco.state.base import Signals

Bound = TypeVar("Bound", bound="Bindable")


@dataclass(frozen=True)
class Bindable:
    """A state representation that is bound to a machine by `bind`."""

    bound: Signals | None = field(default=None, kw_only=True, repr=False)
    """The machine's signals, once they are known."""

    def bind(self: Bound, signals: Signals, /) -> Bound:
        """The same representation for a machine with these signals."""
        return dataclasses.replace(self, bound=signals)

    @property
    def signals(self) -> Signals:
        """The machine's signals."""
        if self.bound is None:
            raise UserError(f"{type(self).__name__} does not know its machine yet: call bind(Signals.of(machine)).")
        return self.bound
