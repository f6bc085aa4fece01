"""What else could be used: other methods on the same machines, from the same positions, until their first success."""

from __future__ import annotations

from vfpilco.studies.alternatives.comparison import NAME, SUMMARY, Compared, ComparisonWatcher, compare

__all__ = ["NAME", "SUMMARY", "Compared", "ComparisonWatcher", "compare"]
