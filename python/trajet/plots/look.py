"""Labels, colours and running averages of a figure, as users choose them."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass

from trajet.natural_order import natural

# The palette of Okabe and Ito, which is safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "x")
LINES = ("-", "--", ":", "-.")
# The running average of a series covers 1/50 of its length, from 200 frames on.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200


@dataclass(frozen=True)
class Look:
    """What a user asks of a figure; see `Table.plot`.

    Attributes
    ----------
    label, color, smooth
        As the parameters of `Table.plot`.
    """

    label: str | Sequence[str] | None = None
    color: str | Sequence[str] | None = None
    smooth: bool | int | None = None

    def __post_init__(self) -> None:
        """Raise an error for a running average of no frames, or of no whole number of them."""
        smooth = self.smooth
        if smooth is None or isinstance(smooth, bool):
            return
        known = "smooth is a number of frames, True, False or None for the usual"
        try:
            n_frames = operator.index(smooth)
        except TypeError:
            raise TypeError(f"{known}, not {smooth!r}") from None
        if n_frames < 1:
            raise ValueError(f"{known}, not {smooth!r}")

    @property
    def is_named(self) -> bool:
        """Whether labels are given: they are in the legend, and the figure has no title."""
        return self.label is not None

    def title(self, title: str) -> str:
        """Return the title of a figure with a legend: none if labels are given."""
        return "" if self.is_named else title

    def only_title(self, title: str) -> str:
        """Return the title of an image, which has no legend: the label, if it is given."""
        return title if self.label is None else self.names([title])[0]

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

    def colour_map(self, usual: str) -> str:
        """Return the name of the map of colours of an image.

        Raises
        ------
        ValueError
            If matplotlib has no such map.
        """
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
