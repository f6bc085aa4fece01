"""The colours that figures, films and pages have in common."""

from __future__ import annotations

REAL = "#c2410c"
"""What was measured on the machine."""
PREDICTED = "#2563eb"
"""What the model predicted."""
INPUT = "#0f766e"
"""The inputs that were applied."""
