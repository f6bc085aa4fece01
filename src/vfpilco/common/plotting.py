"""Matplotlib figures, and figures that are complete files."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

from vfpilco.common.errors import UserError
from vfpilco.common.files import write_file

MEASURED, PREDICTED, INPUT = "#c2410c", "#2563eb", "#0f766e"
"""The colours of measurements, predictions and inputs in every figure."""


def new_figure(width: float, height: float, layout: str | None = "constrained") -> Any:
    """An empty figure of a size in inches.

    It belongs to no display, so it is shown where it is returned, in a notebook, or saved. Only if the user's program
    has a window system and has imported pyplot is it one of pyplot's figures, which `plt.show()` shows.

    Raises:
        UserError: If Matplotlib is not installed.
    """
    try:
        from vfpilco.common.figure import Picture
    except ImportError as error:
        raise UserError("Figures need Matplotlib: pip install 'vfpilco[plot]'.") from error
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None and _has_windows(plt):
        return plt.figure(figsize=(width, height), layout=layout, FigureClass=Picture)
    return Picture(figsize=(width, height), layout=layout)  # pyright: ignore[reportArgumentType]


def _has_windows(plt: Any) -> bool:
    from matplotlib.backends.registry import BackendFilter, backend_registry

    return plt.get_backend().lower() in backend_registry.list_builtin(BackendFilter.INTERACTIVE)


def save(figure: Any, file: Path, dpi: int) -> None:
    """Write a figure as PNG or PDF, as the file's name says, and close it."""
    image = io.BytesIO()
    kind = file.suffix[1:].lower() or "png"
    # Without its date a figure is the same file every time.
    figure.savefig(image, dpi=dpi, format=kind, metadata={"CreationDate": None} if kind == "pdf" else None)
    close(figure)
    write_file(file, image.getvalue())


def close(figure: Any) -> None:
    """Close the window of a figure, if it has one."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close(figure)
