"""Reports: one page that shows what a run learned, or compares runs; it needs no network and no other file."""

from vfpilco.report.comparison import write_comparison
from vfpilco.report.run import write_report

__all__ = ["write_comparison", "write_report"]
