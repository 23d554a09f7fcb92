"""The class of our figures; matplotlib is imported with this module."""

from matplotlib.figure import Figure


class ResultFigure(Figure):
    """A figure that notebooks show once: it is not registered with pyplot."""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG image."""
        from trajet.plots.drawing import png

        return png(self)
