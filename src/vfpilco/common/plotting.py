"""Matplotlib without a display, and figures that are complete files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file

MEASURED, PREDICTED, INPUT = "#c2410c", "#2563eb", "#0f766e"
"""The colours of measurements, predictions and inputs in every figure."""


def pyplot() -> Any:
    """Matplotlib without a display."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise UserError("Figures need Matplotlib: pip install 'vfpilco[plot]'.") from error
    return plt


def save(figure: Any, file: Path, dpi: int) -> None:
    """Write a figure as PNG or PDF, as the file's name says, and close it."""
    image = io.BytesIO()
    kind = file.suffix[1:].lower() or "png"
    # Without its date a figure is the same file every time.
    figure.savefig(image, dpi=dpi, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
    pyplot().close(figure)
    write_file(file, image.getvalue())
