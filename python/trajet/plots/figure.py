"""The class of our figures; matplotlib is imported with this module."""

from matplotlib.figure import Figure

from trajet.plots.images import png


class ResultFigure(Figure):
    """A figure that notebooks show once: it is not registered with pyplot.

    Attributes
    ----------
    title_words
        Words on bands that stand with its title, and with any other title.
    """

    title_words: str = ""

    def _repr_png_(self) -> bytes:
        """Return the figure as a PNG image."""
        return png(self)
