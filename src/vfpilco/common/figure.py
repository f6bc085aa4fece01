"""A Matplotlib figure that a notebook shows by itself; imported only where Matplotlib is needed."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that is drawn without pyplot: it neither chooses a display nor has to be closed."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=100)
        return image.getvalue()
