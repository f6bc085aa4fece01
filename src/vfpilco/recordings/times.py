"""The time stamps of a recording: their unit, samples that come twice, gaps, jitter, another rate than the task's."""

from __future__ import annotations

import numpy as np

from vfpilco.recordings.findings import Findings
from vfpilco.words import count, readable, seconds

JITTER = 0.2
"""An interval that differs from the usual one by more than this share of it is told."""
WRONG_RATE = 0.05
"""So far from the task's rate the model would learn something else; a fifth of it is told."""
COARSE = 0.2
"""Share of samples with a repeated time from which the clock is to blame."""
USUAL_UNITS = {"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}


def to_seconds(
    stamps: np.ndarray, unit: float | None, sampling_time: float | None, line: int, findings: Findings
) -> np.ndarray:
    """Seconds since the first sample; where no unit is said, the one that fits the task's sampling time."""
    if unit is None:
        unit, interval = 1.0, usual_interval(stamps)
        for name, seconds in USUAL_UNITS.items():
            if sampling_time is not None and abs(interval * seconds / sampling_time - 1) < JITTER:
                sentence = f"the times have no unit and are taken as {name}, which fits the task: say so in the header."
                findings.add("remark", "unit", line, sentence)
                unit = seconds
    finite = stamps[np.isfinite(stamps)]
    return (stamps - (finite[0] if len(finite) else 0.0)) * unit


def usual_interval(times: np.ndarray) -> float:
    """The median of the intervals that go forward; NaN if there is none."""
    intervals = np.diff(times[np.isfinite(times)])
    forward = intervals[intervals > 0]
    return float(np.median(forward)) if len(forward) else np.nan


def check_repeated(times: np.ndarray, lines: list[int], findings: Findings) -> np.ndarray:
    """Which samples to keep: those that have another time stamp than the one before."""
    again = np.zeros(len(times), dtype=bool)
    again[1:] = np.diff(times) == 0
    if _is_coarse(times):
        findings.add(
            "error",
            "coarse time",
            lines[int(np.argmax(again))],
            f"{again.sum()} of {len(times)} samples have the time of the one before: print the time with more digits, "
            "or leave the column out if the rate is constant.",
        )
        return np.ones(len(times), dtype=bool)
    for i in np.flatnonzero(again):
        sentence = f"the sample at {times[i]:.6g} s comes again and is left out: look why it was logged twice."
        findings.add("warning", "repeated sample", lines[i], sentence)
    return ~again


def _is_coarse(times: np.ndarray) -> bool:
    """Whether so many samples have the time of the one before that their order in time is lost."""
    return bool(np.sum(np.diff(times) == 0) > COARSE * len(times))


def check_times(times: np.ndarray, lines: list[int], sampling_time: float | None, findings: Findings) -> None:
    """Tell times that go backwards, gaps, jitter, and a rate that is not the task's."""
    usual = usual_interval(times)
    if not np.isfinite(usual):
        findings.add("error", "time", lines[0], "the time never goes forward: check its column.")
        return
    if _is_coarse(times):  # Told already, and all else would follow from it.
        return
    for i, interval in enumerate(np.diff(times), 1):
        share = interval / usual
        if interval < 0:
            sentence = f"the time goes back by {seconds(-interval, 3)}: put the samples in order, or cut the file here."
            findings.add("error", "backwards", lines[i], sentence)
        elif share >= 1.5:
            missing = max(round(share) - 1, 1)
            findings.add(
                "error",
                "gap",
                lines[i],
                f"{seconds(interval, 3)} have passed since the sample before, where {seconds(usual, 3)} are usual: "
                f"about {count(missing, 'sample')} missing; cut the file here into two trials.",
            )
        elif abs(share - 1) > JITTER and interval > 0:
            findings.add(
                "warning",
                "jitter",
                lines[i],
                f"the sample comes {abs(share - 1):.0%} of a sampling time too {'late' if share > 1 else 'early'}: the "
                "model takes it for movement; sample by a timer if this is usual.",
            )
    if sampling_time is not None:
        _check_rate(usual, sampling_time, lines[0], findings)


def _check_rate(usual: float, due: float, line: int, findings: Findings) -> None:
    off = abs(usual / due - 1)
    if off > WRONG_RATE / 5:
        findings.add(
            "error" if off > WRONG_RATE else "warning",
            "rate",
            line,
            f"the samples are {seconds(usual)} apart ({readable(1 / usual)} Hz) and the task's {seconds(due)} "
            f"({readable(1 / due)} Hz): record at the task's rate, or change its sampling_time.",
        )
