"""Figures that commands write: title, size and resolution."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from trajet import output
from trajet.cli.param_type import ParamType
from trajet.result import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajet.plots import FigureSize

# Most pixels of a figure along one side; matplotlib takes 2^16 - 1.
_MAX_PIXELS = 32_768


class Drawn(Protocol):
    """A result that can be drawn."""

    def plot(
        self,
        *,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure":
        """Draw it into a figure of its own."""


@dataclass(frozen=True)
class FigureOptions:
    """Values of the options of figures.

    Attributes
    ----------
    title
        Title; None for no title.
    size
        Width and height, inches; None for the usual ones.
    dpi
        Pixels an inch; None for the usual number.
    mean, band
        As the parameters of `Table.plot`.
    """

    title: str | None = None
    size: tuple[float, float] | None = None
    dpi: int | None = None
    mean: bool | None = None
    band: bool | None = None

    def check(self, plot: Path | None) -> None:
        """Raise an error for options of a figure that is not written, or is too large.

        Raises
        ------
        UsageError
            If there are some.
        """
        if plot is None and self != FigureOptions():
            raise click.UsageError(
                "--title, --size, --dpi, --mean and --band are of the figure: name it by --plot"
            )
        if self.size is not None and max(self.size) * (self.dpi or 0) > _MAX_PIXELS:
            raise click.UsageError(
                f"--size and --dpi make more than {_MAX_PIXELS} pixels along a side"
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
        draw = partial(result.plot, band=self.band, title=self.title, size=self.size)
        if isinstance(result, Table):
            draw = partial(draw, mean=self.mean)
        elif self.mean is not None:
            raise ValueError("--mean is of one trajectory, and this figure is of several")
        return draw()


class SizeType(ParamType[tuple[float, float]]):
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
        from trajet.plots import inches_of_size

        try:
            return inches_of_size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


OPTIONS = (
    click.option("--title", metavar="TEXT", help="Title of the figure of --plot."),
    click.option(
        "--size",
        type=SizeType(),
        metavar="WxH",
        help="Width and height of that figure: 8x6cm, 85x60mm, 3.35x2.5in.",
    ),
    click.option(
        "--dpi",
        type=click.IntRange(20, 2400),
        metavar="N",
        help="Pixels an inch of that figure; 150 by default.",
    ),
    click.option(
        "--mean/--no-mean",
        default=None,
        help="Draw means over time; by default those that are resolved.",
    ),
    click.option(
        "--band/--no-band",
        default=None,
        help="Draw 95 % intervals; by default those that are resolved.",
    ),
)
