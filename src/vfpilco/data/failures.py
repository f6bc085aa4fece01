"""Failures during a trial, with what was recorded until then."""

from __future__ import annotations

from vfpilco.common.errors import NOT_STOPPED, UserError
from vfpilco.data.trial import Trial


class PlantError(UserError):
    """The plant failed during a trial; `partial` holds what was recorded until then.

    Example:
        >>> try:  # doctest: +SKIP
        ...     vfpilco.learn(task, out="runs/first")
        ... except vfpilco.PlantError as error:
        ...     print(error)  # and resume with resume=True
    """

    def __init__(self, message: str, partial: Trial | None = None) -> None:
        super().__init__(message)
        self.partial = partial


class NotStopped(PlantError):
    """The machine could not be stopped and has to be stopped by hand; on the command line the exit code is 3.

    Example:
        >>> issubclass(NotStopped, PlantError)
        True
    """

    exit_code = NOT_STOPPED


class TooRisky(UserError):
    """The predicted risk of leaving a safe range is above `max_risk`: the policy was kept, but not executed.

    Example:
        >>> try:  # doctest: +SKIP
        ...     vfpilco.learn(task, out="runs/first", max_risk=0.05)
        ... except vfpilco.TooRisky as error:
        ...     print(error)  # and resume with resume=True and a higher max_risk
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a trial, after the plant was stopped; `partial` holds what was recorded until then."""

    def __init__(self, message: str, partial: Trial | None = None) -> None:
        super().__init__(message)
        self.partial = partial
