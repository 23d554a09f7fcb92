"""Labels, colours and running averages of a figure, as users choose them."""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.natural_order import natural

# The palette of Okabe and Ito, which is safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "x")
LINES = ("-", "--", ":", "-.")
# The running average of a series covers 1/50 of its length, from 200 frames on.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200
# Width and height of a figure: 8x6cm, or two numbers of inches.
FigureSize = str | tuple[float, float]
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_MIN_INCHES, _MAX_INCHES = 0.5, 50.0


@dataclass(frozen=True)
class Look:
    """What a user asks of a figure; see `Table.plot`.

    Attributes
    ----------
    label, color, smooth, mean, band, title
        As the parameters of `Table.plot`.
    warning
        A line of small text within the axes; empty for none.
    must_have_intervals
        Whether a line says so if no interval is resolved.
    """

    label: str | Sequence[str] | None = None
    color: str | Sequence[str] | None = None
    smooth: bool | int | None = None
    mean: bool | None = None
    band: bool | None = None
    title: str | None = None
    warning: str = ""
    must_have_intervals: bool = False

    def __post_init__(self) -> None:
        smooth = self.smooth
        if smooth is None or isinstance(smooth, bool):
            return
        known = "smooth is a number of frames from 1 on, True or False"
        try:
            n_frames = operator.index(smooth)
        except TypeError:
            raise TypeError(f"{known}, not {smooth!r}") from None
        if n_frames < 1:
            raise ValueError(f"{known}, not {smooth!r}")

    def message(self, *, has_intervals: bool) -> str:
        """Return the line of small text of a figure with or without intervals, or nothing."""
        if has_intervals or not self.must_have_intervals:
            return self.warning
        missing = "95 % intervals are not resolved, see the notes of the result"
        return f"{self.warning}; {missing}" if self.warning else f"note: {missing}"

    @property
    def is_named(self) -> bool:
        """Whether labels are given: they are in the legend."""
        return self.label is not None

    def intervals(
        self,
        values: NDArray[np.float64],
        half_widths: NDArray[np.float64] | None,
        resolved: NDArray[np.bool_] | None,
        *,
        are_curves: bool = True,
    ) -> NDArray[np.float64]:
        """Return the half widths of the intervals that are drawn; NaN for the others.

        Those that are not resolved are not, unless a user asks for all. If values are curves, along
        the last dimension, nor are those of a curve of which most are not resolved: single ones
        would mislead.

        Parameters
        ----------
        values, half_widths, resolved
            As those of a result; None if they are not known.
        """
        if half_widths is None or self.band is False:
            return np.full(values.shape, np.nan)
        if self.band or resolved is None:
            return half_widths
        known = np.isfinite(half_widths)
        shown = known & resolved
        if are_curves:
            most = shown.sum(axis=-1, keepdims=True) >= known.sum(axis=-1, keepdims=True) / 2
            shown &= most
        return np.where(shown, half_widths, np.nan)

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of series: the given labels, one for each.

        Raises
        ------
        ValueError
            If there are more or fewer.
        """
        if self.label is None:
            return list(names)
        given = [self.label] if isinstance(self.label, str) else list(self.label)
        return _one_each("label", given, len(names))

    def colours(self, n: int) -> list[str]:
        """Return the colours of n series: those given, or those of the style or the palette.

        Raises
        ------
        ValueError
            If others than n are given, or one is no colour.
        """
        if self.color is None:
            return palette(n)
        from matplotlib.colors import is_color_like, to_hex

        given = [self.color] if isinstance(self.color, str) else list(self.color)
        for colour in given:
            if not is_color_like(colour):
                raise ValueError(f"color {colour!r}: matplotlib knows no such colour")
        return [to_hex(colour, keep_alpha=True) for colour in _one_each("color", given, n)]

    def colours_of(self, groups: Sequence[str]) -> list[str]:
        """Return the colour of each item by the name of its group.

        Without colours of the user, a group has the same one whatever the order of the groups.
        """
        known = list(dict.fromkeys(groups))
        order = known if self.color is not None else sorted(known, key=natural)
        colours = self.colours(len(order))
        return [colours[order.index(group)] for group in groups]

    def check_unnamed(self) -> None:
        """Raise a ValueError if a label is given for an image."""
        if self.is_named:
            raise ValueError("label names lines in a legend, and an image has none: use title=")

    def colour_map(self, usual: str) -> str:
        """Return the name of the map of colours of an image.

        Raises
        ------
        ValueError
            If matplotlib has no such map, or a label is given.
        """
        self.check_unnamed()
        if self.color is None:
            return usual
        from matplotlib import colormaps

        if not isinstance(self.color, str) or self.color not in colormaps:
            raise ValueError(
                f"color={self.color!r}: an image takes the name of a map of colours of matplotlib,"
                f" such as {usual!r}"
            )
        return self.color

    def smoothed_frames(self, n_frames: int) -> int:
        """Return the number of frames of a running average; 1 for none."""
        if self.smooth is None:
            return n_frames // SMOOTHED_PART if n_frames >= SMOOTHED_FROM else 1
        if isinstance(self.smooth, bool):
            return max(1, n_frames // SMOOTHED_PART) if self.smooth else 1
        return max(1, min(self.smooth, n_frames))


PLAIN = Look()


def inches_of_size(size: FigureSize) -> tuple[float, float]:
    """Return the width and height of a figure, inches.

    Raises
    ------
    ValueError
        If the text is no size, or the figure is too small or too large.
    """
    if isinstance(size, str):
        found = re.fullmatch(rf"\s*{_NUMBER}\s*[x×]\s*{_NUMBER}\s*(in|cm|mm)\s*", size)
        if found is None:
            raise ValueError(f"{size!r} is not a size: write 8x6cm, 85x60mm or 3.35x2.5in")
        width, height = (float(found[k]) * _INCHES[found[3]] for k in (1, 2))
    else:
        width, height = size
    if not all(_MIN_INCHES <= length <= _MAX_INCHES for length in (width, height)):
        raise ValueError(f"{size!r} is not between {_MIN_INCHES:g} and {_MAX_INCHES:g} inches")
    return width, height


def first_of(n: int) -> str:
    """Return the title of the legend of `n` series, of which only as many as colours are drawn."""
    most = len(COLOURS)
    return f"first {most} of {n} series" if n > most else ""


def palette(n: int) -> list[str]:
    """Return n colours: those of the style that is in use, or of the palette if it is the usual."""
    import matplotlib as mpl

    given, usual = (of["axes.prop_cycle"] for of in (mpl.rcParams, mpl.rcParamsDefault))
    colours: Sequence[str] = COLOURS
    if given != usual and "color" in given.keys:
        colours = given.by_key()["color"]
    return [colours[k % len(colours)] for k in range(n)]


def _one_each(what: str, given: list[str], n: int) -> list[str]:
    """Return what is given for n series.

    Raises
    ------
    ValueError
        If there are more or fewer.
    """
    if len(given) != n:
        raise ValueError(
            f"{len(given)} {what}{'' if len(given) == 1 else 's'} for {n} series: give"
            f" {'one' if n == 1 else f'a list of {n}'}"
        )
    return given
