"""The class of our figures, which pyplot may know; matplotlib is imported with this module."""

import os
import sys
import threading
from contextlib import suppress
from typing import IO

import matplotlib as mpl
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.figure import Figure

from trajet.plots.images import png


class ResultFigure(Figure):
    """A figure that notebooks show once, whether pyplot knows it or not; see `make_current`.

    Attributes
    ----------
    is_saved
        Whether it has been written to a file.
    """

    is_saved = False

    def savefig(
        self,
        fname: str | os.PathLike[str] | IO[bytes],
        *,
        transparent: bool | None = None,
        **options: object,
    ) -> None:
        """Write the figure to a file; see `matplotlib.figure.Figure.savefig`."""
        super().savefig(fname, transparent=transparent, **options)
        self.is_saved = True

    def has_window(self) -> bool:
        """Return whether a window, or a widget of a notebook, shows the figure."""
        manager = self.canvas.manager
        return type(manager) is not FigureManagerBase and manager in Gcf.get_all_fig_managers()

    def _ipython_display_(self) -> None:
        """Close the figure in pyplot, whose figures notebooks show at the end of a cell.

        IPython continues with the formats of images after a NotImplementedError.
        """
        if _is_inline():
            Gcf.destroy_fig(self)
        raise NotImplementedError

    def _repr_png_(self) -> bytes | None:
        """Return the figure as a PNG image; None if a window shows it."""
        return None if self.has_window() else png(self)


def make_current(figure: ResultFigure) -> None:
    """Make a figure the current one of pyplot, if the user has imported pyplot.

    Then `plt.savefig`, `plt.title` and `plt.show` work on it. Pyplot keeps figures until they are
    closed. Therefore earlier ones are closed there if nothing will show them: those without a
    window, unless a notebook shows them at the end of the cell and they are not saved. They can
    still be saved and shown.
    """
    # Windows can be opened in the main thread only.
    is_main = threading.current_thread() is threading.main_thread()
    if "matplotlib.pyplot" not in sys.modules or not is_main:
        return
    import matplotlib.pyplot as plt

    for manager in Gcf.get_all_fig_managers():
        before = manager.canvas.figure
        if not isinstance(before, ResultFigure) or before.has_window():
            continue
        if before.is_saved or not _is_inline():
            Gcf.destroy(manager)
    # There may be no screen for the windows of the backend that the user chose.
    with suppress(ImportError):
        plt.figure(FigureClass=lambda **_: figure)


def _is_inline() -> bool:
    """Return whether a notebook shows all figures of pyplot at the end of a cell."""
    return "matplotlib.pyplot" in sys.modules and "inline" in mpl.get_backend()
