"""Figures that commands write: title, size and resolution."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from trajet import output
from trajet.cli.param_type import ParamType

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_NUMBER = r"(\d+\.?\d*|\.\d+)"
# Smallest and largest width and height, inches.
_LEAST, _MOST = 0.5, 50.0
# Most pixels of a figure along one side; matplotlib takes 2^16 - 1.
_MOST_PIXELS = 32_768


class Drawn(Protocol):
    """A result that can be drawn."""

    def plot(self) -> "Figure":
        """Draw it into a figure of its own."""


@dataclass(frozen=True)
class FigureOptions:
    """Values of the options of figures.

    Attributes
    ----------
    title
        Title in place of the usual one; None for that.
    size
        Width and height, inches; None for the usual ones.
    dpi
        Pixels an inch; None for the usual number.
    """

    title: str | None = None
    size: tuple[float, float] | None = None
    dpi: int | None = None

    def check(self, plot: Path | None) -> None:
        """Raise an error for options of a figure that is not written, or is too large.

        Raises
        ------
        UsageError
            If there are some.
        """
        if plot is None and self != FigureOptions():
            raise click.UsageError("--title, --size and --dpi are of the figure: name it by --plot")
        if self.size is not None and max(self.size) * (self.dpi or 0) > _MOST_PIXELS:
            raise click.UsageError(
                f"--size and --dpi make more than {_MOST_PIXELS} pixels along a side"
            )

    def save(self, result: Drawn, path: Path) -> None:
        """Draw a result into a file.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        figure = self.drawn(result)
        suffix = path.suffix.lower().removeprefix(".")
        dpi = "figure" if self.dpi is None else self.dpi
        output.write(path, lambda file: figure.savefig(file, format=suffix, dpi=dpi))

    def drawn(self, result: Drawn) -> "Figure":
        """Return the figure of a result."""
        from trajet import plots

        figure = result.plot() if self.size is None else plots.of_size(result.plot, *self.size)
        if self.title is not None:
            plots.retitle(figure, self.title)
        return figure


class FigureSize(ParamType[tuple[float, float]]):
    """Width and height of a figure with their unit: 8x6cm, 85x60mm, 3.35x2.5in."""

    name = "size"

    def convert(
        self,
        value: str | tuple[float, float],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[float, float]:
        """Return width and height in inches."""
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(rf"\s*{_NUMBER}\s*[x×]\s*{_NUMBER}\s*(in|cm|mm)\s*", value)
        if found is None:
            self.fail(f"{value!r} is not a size: write 8x6cm, 85x60mm or 3.35x2.5in", param, ctx)
        width, height = (float(found[k]) * _INCHES[found[3]] for k in (1, 2))
        if not (_LEAST <= width <= _MOST and _LEAST <= height <= _MOST):
            self.fail(f"{value!r} is not between {_LEAST:g} and {_MOST:g} inches", param, ctx)
        return width, height


OPTIONS = (
    click.option("--title", metavar="TEXT", help="Title of the figure of --plot."),
    click.option(
        "--size",
        type=FigureSize(),
        metavar="WxH",
        help="Width and height of that figure: 8x6cm, 85x60mm, 3.35x2.5in.",
    ),
    click.option(
        "--dpi",
        type=click.IntRange(20, 2400),
        metavar="N",
        help="Pixels an inch of that figure; 150 by default.",
    ),
)
