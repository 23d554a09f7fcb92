"""Tools of all figures: axes, colours, labels and running averages."""

import io
import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from trajet.natural_order import natural

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which is safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "x")
LINES = ("-", "--", ":", "-.")
# The running average of a series covers 1/50 of its length, from 200 frames on.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200
PS_PER_NS = 1000.0
MOST_BINS = 60
LEGEND_CHARACTERS = 100
LONGEST_LABEL = 80
LONGEST_TICK = 32
# Mean width of a character of medium size, and the space that a figure needs beside its axes.
CHARACTER_INCHES = 0.083
MARGIN_INCHES = 0.9
# The smallest range of a y axis, as a part of the values.
LEAST_RANGE = 1e-3
# The line and the gap before a name in a legend.
HANDLE_CHARACTERS = 8
# Most names beside one axis.
MOST_NAMES = 6


def colours_of(groups: Sequence[str]) -> list[str]:
    """Return the colour of each group by its name, whatever the order of the groups."""
    order = sorted(dict.fromkeys(groups), key=natural)
    return [COLOURS[order.index(group) % len(COLOURS)] for group in groups]


def png(figure: "Figure") -> bytes:
    """Return a figure as a PNG image."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def check_axes(ax: object) -> None:
    """Raise a TypeError if something else than axes, such as the path of a file, is given."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        shown = repr(str(ax)) if isinstance(ax, (str, os.PathLike)) else "'plot.png'"
        raise TypeError(
            f"plot(ax) draws into axes of matplotlib, not into {type(ax).__name__}: to write a"
            f" file, call plot().savefig({shown})"
        )


def axes_of(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    layout: Literal["constrained", "compressed"] = "constrained",
) -> "Axes":
    """Return the given axes, or those of a new figure of this size (inches)."""
    from matplotlib.figure import Figure

    check_axes(ax)
    return Figure(figsize=size, layout=layout, dpi=150).subplots() if ax is None else ax


def two_axes(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    width_ratios: tuple[float, float],
    sharey: bool = False,
) -> "tuple[Axes, Axes | None]":
    """Return the given axes and None, or two axes side by side of a new figure (inches)."""
    from matplotlib.figure import Figure

    check_axes(ax)
    if ax is not None:
        return ax, None
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=sharey, width_ratios=width_ratios)
    return left, right


def name_ticks(axis: "Axis", labels: Sequence[str], *, turned: bool = False) -> None:
    """Name some of the elements 0, 1, … along an axis by their labels, if `turned` at an angle."""
    ticks = np.unique(np.linspace(0, len(labels) - 1, MOST_NAMES).astype(int))
    axis.set_ticks(ticks, [shortened(labels[k], LONGEST_TICK) for k in ticks])
    if turned:
        for text in axis.get_ticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def legend_of(axes: "Axes", ax: "Axes | None") -> None:
    """Add a legend: below the axes of a figure of our own, within given ones.

    Below, names are side by side if they fit, else one below the other.
    """
    if ax is not None:
        axes.legend(frameon=False, fontsize="small")
        return
    figure = figure_of(axes)
    handles, names = axes.get_legend_handles_labels()
    inches = figure.get_figwidth()
    longest = max((len(name) for name in names), default=0) + HANDLE_CHARACTERS
    columns = max(1, min(len(names), int(inches / CHARACTER_INCHES / longest)))
    width = inches - (HANDLE_CHARACTERS + 1) * CHARACTER_INCHES
    shown = [wrapped(name.replace(r"\$", "$"), width) for name in names]
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, frameon=False)


def titled(axes: "Axes", title: str, inches: float | None = None) -> None:
    """Set the title of axes, in two lines if it is longer than `inches`, or else than the axes."""
    width = width_of(axes) if inches is None else inches
    axes.set_title(wrapped(title, width), loc="left", fontsize="medium")


def width_of(axes: "Axes") -> float:
    """Return the width of axes, inches; of a new figure before its layout is computed."""
    figure = figure_of(axes)
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        return figure.get_figwidth() - MARGIN_INCHES
    return axes.get_position().width * figure.get_figwidth()


def height_of(axes: "Axes") -> float:
    """Return the height of axes, inches."""
    return axes.get_position().height * figure_of(axes).get_figheight()


def wrapped(text: str, inches: float) -> str:
    """Return a text in at most two lines of this width, for text of matplotlib."""
    width = max(12, int(inches / CHARACTER_INCHES))
    lines = textwrap.wrap(text, width, max_lines=2, placeholder=" …")
    return "\n".join(lines).replace("$", r"\$")


def show_range(axes: "Axes", drawn: "Artist", values: NDArray[np.float64]) -> None:
    """Let the y axis show the range of the values, so that a flat curve is seen.

    It begins at 0 if the values then take at least half of it, and are not negative. Changes within
    rounding of the values are not magnified.
    """
    axes.ticklabel_format(axis="y", useOffset=False)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    low, high = float(finite.min()), float(finite.max())
    if 0 <= low <= high - low:
        axes.update_datalim([(0.0, 0.0)], updatex=False)
        drawn.sticky_edges.y.append(0.0)
    least = LEAST_RANGE * max(abs(low), abs(high))
    if high - low < least:
        middle = (low + high) / 2
        ends = [(0.0, middle - least / 2), (0.0, middle + least / 2)]
        axes.update_datalim(ends, updatex=False)
    axes.autoscale_view()


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure of axes; of users it may be a part of a figure, which can be drawn too."""
    return cast("Figure", axes.figure)


def bare(axes: "Axes") -> None:
    """Remove the upper and right borders of axes, and add horizontal grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def abscissa(
    times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return the values of the x axis and its label."""
    if len(times) < 2 or not (np.diff(times) > 0).all():
        return frames.astype(np.float64), "frame"
    if times[-1] - times[0] >= 10 * PS_PER_NS:
        return times / PS_PER_NS, "time (ns)"
    return times, "time (ps)"


def shortened(label: str, most: int = LONGEST_LABEL) -> str:
    """Return a label of at most `most` characters, for text of matplotlib.

    Dollar signs in selections and file names are escaped: matplotlib uses them for formulas.
    """
    short = label if len(label) <= most else label[: most - 1] + "…"
    return short.replace("$", r"\$")


def line(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    label: str,
    colour: str,
    style: str = "-",
) -> bool:
    """Draw a series, a long one with its running average; return whether it has one."""
    if len(y) < SMOOTHED_FROM or not np.isfinite(y).all():
        # A line of one frame would not be seen.
        marker = "o" if len(y) == 1 else None
        axes.plot(x, y, color=colour, linestyle=style, linewidth=1.2, label=label, marker=marker)
        return False
    width = smoothing(len(y))
    axes.plot(x, y, color=colour, linewidth=0.5, alpha=0.35)
    smooth = np.convolve(y, np.full(width, 1 / width), mode="valid")
    begin = (len(y) - len(smooth)) // 2
    middle = x[begin : begin + len(smooth)]
    axes.plot(middle, smooth, color=colour, linestyle=style, linewidth=1.8, label=label)
    return True


def smoothing(n_frames: int) -> int:
    """Return the number of frames of a running average."""
    return n_frames // SMOOTHED_PART
