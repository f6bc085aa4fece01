"""The time stamps of a recording: their unit, repeated samples, gaps, jitter, another rate than the task's."""

from __future__ import annotations

import numpy as np

from vfpilco.common.text import count, readable, seconds
from vfpilco.recordings.findings import Findings

JITTER = 0.2
"""An interval that differs from the median by more than this fraction of it is reported."""
WRONG_RATE = 0.05
"""A rate that differs from the task's by more than this fraction is an error, by more than a fifth of it a warning."""
GAP = 1.5
"""An interval of at least this many times the median is a gap."""
COARSE = 0.2
"""Fraction of samples with a repeated time above which the resolution of the clock is the cause."""
LIKELY_UNITS = {"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}


def to_seconds(
    stamps: np.ndarray, unit: float | None, sampling_time: float | None, line: int, findings: Findings
) -> np.ndarray:
    """Seconds since the first sample; a missing unit is the one that fits the task's sampling time."""
    if unit is None:
        unit, interval = 1.0, median_interval(stamps)
        for name, length in LIKELY_UNITS.items():
            if sampling_time is not None and abs(interval * length / sampling_time - 1) < JITTER:
                sentence = (
                    f"the times have no unit; {name} are assumed, which fit the task: add the unit to the header."
                )
                findings.add("remark", "unit", line, sentence)
                unit = length
    finite = stamps[np.isfinite(stamps)]
    return (stamps - (finite[0] if len(finite) else 0.0)) * unit


def median_interval(times: np.ndarray) -> float:
    """The median of the positive intervals; NaN if there is none."""
    intervals = np.diff(times[np.isfinite(times)])
    forward = intervals[intervals > 0]
    return float(np.median(forward)) if len(forward) else np.nan


def check_repeated(times: np.ndarray, lines: list[int], findings: Findings) -> np.ndarray:
    """Which samples to keep: those whose time stamp differs from the one before."""
    again = np.zeros(len(times), dtype=bool)
    again[1:] = np.diff(times) == 0
    if _is_coarse(times):
        findings.add(
            "error",
            "coarse time",
            lines[int(np.argmax(again))],
            f"{again.sum()} of {len(times)} samples have the time of the one before: print the time with more digits, "
            "or remove the column if the rate is constant.",
        )
        return np.ones(len(times), dtype=bool)
    for i in np.flatnonzero(again):
        sentence = f"the sample at {times[i]:.6g} s is repeated and left out: check why it was logged twice."
        findings.add("warning", "repeated sample", lines[i], sentence)
    return ~again


def _is_coarse(times: np.ndarray) -> bool:
    """Whether so many samples have the time of the one before that their order in time is lost."""
    return bool(np.sum(np.diff(times) == 0) > COARSE * len(times))


def check_times(times: np.ndarray, lines: list[int], sampling_time: float | None, findings: Findings) -> None:
    """Report times that go backwards, gaps, jitter, and a rate that is not the task's."""
    typical = median_interval(times)
    if not np.isfinite(typical):
        findings.add("error", "time", lines[0], "the time never increases: check its column.")
        return
    if _is_coarse(times):  # already reported, and everything else would follow from it
        return
    for line, interval in zip(lines[1:], np.diff(times), strict=True):
        _check_interval(interval, typical, line, findings)
    if sampling_time is not None:
        _check_rate(typical, sampling_time, lines[0], findings)


def _check_interval(interval: float, typical: float, line: int, findings: Findings) -> None:
    share = interval / typical
    if interval < 0:
        sentence = f"the time goes back by {seconds(-interval, 3)}: sort the samples, or cut the file here (--split)."
        findings.add("error", "backwards", line, sentence)
    elif share >= GAP:
        missing = max(round(share) - 1, 1)
        findings.add(
            "error",
            "gap",
            line,
            f"the sample comes {seconds(interval, 3)} after the one before instead of {seconds(typical, 3)}: about "
            f"{count(missing, 'sample')} missing; cut the file here into two trials, which --split does.",
        )
    elif abs(share - 1) > JITTER and interval > 0:
        findings.add(
            "warning",
            "jitter",
            line,
            f"the sample comes {abs(share - 1):.0%} of a sampling time too {'late' if share > 1 else 'early'}: the "
            "model takes this for motion; sample with a timer if it happens often.",
        )


def _check_rate(typical: float, due: float, line: int, findings: Findings) -> None:
    off = abs(typical / due - 1)
    if off > WRONG_RATE / 5:
        findings.add(
            "error" if off > WRONG_RATE else "warning",
            "rate",
            line,
            f"the samples are {seconds(typical)} apart ({readable(1 / typical)} Hz) and the task's {seconds(due)} "
            f"({readable(1 / due)} Hz): record at the task's rate, or change its sampling_time.",
        )
