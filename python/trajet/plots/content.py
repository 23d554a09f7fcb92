"""The record of what axes show; matplotlib is imported with this module."""

from collections.abc import Hashable

from matplotlib.artist import Artist
from matplotlib.backend_bases import RendererBase


class AxesContent(Artist):
    """Record of what results have drawn into axes. It draws nothing; clearing axes removes it.

    Attributes
    ----------
    unit
        Unit or kind of the numbers along the x axis, such as "ps" or "residue"; None if unknown.
    shown
        The same for users, in errors.
    labels
        Labels of the axes "x" and "y" of all results, in order.
    n_series
        Number of series that have a colour of their own.
    lowest
        The lowest value of all results.
    limited
        The sides "x" and "y" whose limits a result has set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.set_in_layout(False)
        self.unit: Hashable = None
        self.shown = ""
        self.labels: dict[str, list[str]] = {"x": [], "y": []}
        self.n_series = 0
        self.lowest = float("inf")
        self.limited: set[str] = set()

    def draw(self, renderer: RendererBase) -> None:
        """Draw nothing."""
