"""Figures as images."""

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def png(figure: "Figure") -> bytes:
    """Return a figure as a PNG image."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
