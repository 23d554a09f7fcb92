"""Tools of all figures: axes, labels, lines and their range."""

import os
import textwrap
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.look import PLAIN, Look
from trajet.plots.room import keep_clear
from trajet.plots.shared_axes import (
    in_unit,
    label_of_times,
    lowest_value,
    note_values,
    reveal,
    shared_title,
    unit_of_times,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_BINS = 60
LEGEND_CHARACTERS = 100
LONGEST_LABEL = 80
LONGEST_TICK = 32
# Mean width of a character of medium size, and the space that a figure needs beside its axes.
CHARACTER_INCHES = 0.083
MARGIN_INCHES = 0.9
# Height of each of several panels below one another.
PANEL_INCHES = 2.1
# The size of a figure of matplotlib, of which ours are multiples if a style sheet sets another one.
USUAL_INCHES = (6.4, 4.0)
# The smallest range of a y axis, as a part of the values.
LEAST_RANGE = 1e-3
# Size of small characters, of those of medium size.
SMALL = 0.833
# The line and the gap before a name in a legend.
HANDLE_CHARACTERS = 8
# Most names beside one axis.
MOST_NAMES = 6
# Width and height that `of_size` gives to the figure that it draws, inches.
_ASKED_INCHES: ContextVar[tuple[float, float] | None] = ContextVar("_ASKED_INCHES", default=None)


def check_axes(ax: object) -> None:
    """Raise a TypeError if something else than axes, such as the path of a file, is given."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        shown = repr(str(ax)) if isinstance(ax, (str, os.PathLike)) else "'plot.png'"
        raise TypeError(
            f"plot(ax) draws into axes of matplotlib, not into {type(ax).__name__}: to write a"
            f" file, call plot().savefig({shown})"
        )


def new_figure(
    size: tuple[float, float],
    *,
    panels: int = 1,
    layout: Literal["constrained", "compressed"] = "constrained",
) -> "Figure":
    """Return a new figure, which is not registered with pyplot.

    Parameters
    ----------
    size
        Width and height, inches. If a style sheet sets `figure.figsize`, the figure has that width,
        or twice of it with several panels side by side, and its height grows as that of the others.
    panels
        Panels side by side.
    layout
        "compressed" moves panels of equal aspect together.
    """
    import matplotlib as mpl

    from trajet.plots.figure import ResultFigure

    asked, given = _ASKED_INCHES.get(), _inches_of_style()
    if asked is not None:
        size = asked
    elif given is not None:
        size = (given[0] * min(panels, 2), given[1] * size[1] / USUAL_INCHES[1])
    given_dpi, usual_dpi = (of["figure.dpi"] for of in (mpl.rcParams, mpl.rcParamsDefault))
    dpi = 150 if given_dpi == usual_dpi else given_dpi
    return ResultFigure(figsize=size, layout=layout, dpi=dpi)


def _inches_of_style() -> tuple[float, float] | None:
    """Return the `figure.figsize` that users or their style sheets set; None if none is set.

    Also the size that is the default of matplotlib can be set: matplotlib then holds another list
    than that of its defaults. Where other lists are replaced too, all is reset to the defaults.
    """
    import matplotlib as mpl

    given, usual = mpl.rcParams, mpl.rcParamsDefault
    width, height = given["figure.figsize"]
    if (width, height) == tuple(usual["figure.figsize"]):
        is_reset = given["font.fantasy"] is not usual["font.fantasy"]
        if is_reset or given["figure.figsize"] is usual["figure.figsize"]:
            return None
    return width, height


def axes_of(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    layout: Literal["constrained", "compressed"] = "constrained",
) -> "Axes":
    """Return the given axes, or those of a new figure of this size (inches)."""
    check_axes(ax)
    return new_figure(size, layout=layout).subplots() if ax is None else ax


def two_axes(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    width_ratios: tuple[float, float],
    sharey: bool = False,
    panels: int = 2,
) -> "tuple[Axes, Axes | None]":
    """Return the given axes and None, or two axes side by side of a new figure (inches)."""
    check_axes(ax)
    if ax is not None:
        return ax, None
    figure = new_figure(size, panels=panels)
    left, right = figure.subplots(1, 2, sharey=sharey, width_ratios=width_ratios)
    return left, right


def panels_of(ax: "Axes | None", n: int) -> "list[Axes]":
    """Return the given axes, or n panels of a new figure, one below the other.

    Raises
    ------
    ValueError
        If axes are given for several panels.
    """
    if n == 1:
        return [axes_of(ax, (8.0, 4.0))]
    check_axes(ax)
    if ax is not None:
        raise ValueError(f"{n} panels do not fit into axes: leave ax out, or draw one series")
    panels = new_figure((8.0, 1.5 + PANEL_INCHES * n)).subplots(n, 1, sharex=True)
    return list(panels)


def entitle(
    panels: "Sequence[Axes]",
    names: Sequence[str],
    title: str,
    ax: "Axes | None",
    *,
    words: str = "",
) -> None:
    """Set the names of several panels below the title of their figure, or the title of one.

    Words on bands are behind the title, or below it if both are longer than two lines, and whole.
    """
    if len(panels) == 1:
        titled(panels[0], title, words=words)
        return
    for axes, name in zip(panels, names, strict=True):
        _set_title(axes, name)
        axes.label_outer(remove_inner_ticks=False)
    figure = figure_of(panels[0])
    if (title or words) and ax is None:
        _keep_words(figure, words)
        figure.suptitle(_with_words(title, words, figure.get_figwidth()), fontsize="medium")


def _keep_words(figure: "Figure", words: str) -> None:
    """Keep words on bands for other titles of a figure of our own; see `retitle`."""
    from trajet.plots.figure import ResultFigure

    if words and isinstance(figure, ResultFigure):
        figure.title_words = words


def _with_words(title: str, words: str, inches: float) -> str:
    """Return a title in at most two lines, with whole words behind or below it."""
    joined = "; ".join(filter(None, [title, words]))
    whole = wrapped(joined, inches, most=None)
    if not words or whole.count("\n") < 2:
        return wrapped(joined, inches)
    return "\n".join([*filter(None, [wrapped(title, inches)]), wrapped(words, inches, most=None)])


def of_size(draw: Callable[[], "Figure"], width: float, height: float) -> "Figure":
    """Return a figure of this size in inches, whose text is wrapped for it."""
    token = _ASKED_INCHES.set((width, height))
    try:
        return draw()
    finally:
        _ASKED_INCHES.reset(token)


def retitle(figure: "Figure", title: str) -> None:
    """Replace the title of a figure; panels keep their names, and words on bands stay."""
    from trajet.plots.figure import ResultFigure

    words = figure.title_words if isinstance(figure, ResultFigure) else ""
    if figure.get_suptitle():
        figure.suptitle(_with_words(title, words, figure.get_figwidth()), fontsize="medium")
    else:
        _set_title(figure.axes[0], title, words=words)


def name_ticks(axis: "Axis", labels: Sequence[str], *, turned: bool = False) -> None:
    """Name some of the elements 0, 1, … along an axis by their labels, if `turned` at an angle."""
    ticks = np.unique(np.linspace(0, len(labels) - 1, MOST_NAMES).astype(int))
    axis.set_ticks(ticks, [shortened(labels[k], LONGEST_TICK) for k in ticks])
    if turned:
        for text in axis.get_ticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def legend_of(axes: "Axes", ax: "Axes | None") -> None:
    """Add a legend that covers no data.

    It is below the axes of a figure of our own, where names are side by side if they fit. Within
    given axes it is where there is room, or above the data, for which the y axis grows.
    """
    handles, names = axes.get_legend_handles_labels()
    if ax is not None:
        width = width_of(axes) - (HANDLE_CHARACTERS + 1) * character_inches()
        shown = [wrapped(unescaped(name), width / SMALL) for name in names]
        legend = axes.legend(handles, shown, frameon=False, fontsize="small")
        keep_clear(axes, legend)
        return
    figure = figure_of(axes)
    inches = figure.get_figwidth()
    longest = max((len(name) for name in names), default=0) + HANDLE_CHARACTERS
    columns = max(1, min(len(names), int(inches / character_inches() / longest)))
    width = inches - (HANDLE_CHARACTERS + 1) * character_inches()
    shown = [wrapped(unescaped(name), width) for name in names]
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, frameon=False)


def unescaped(label: str) -> str:
    """Return the text of a label that `shortened` or `wrapped` made."""
    return label.replace(r"\$", "$")


def titled(
    axes: "Axes",
    title: str,
    inches: float | None = None,
    *,
    pad: float | None = None,
    words: str = "",
) -> None:
    """Set the title of axes, in two lines if it is longer than `inches`, or else than the axes.

    Titles of earlier results in the axes stay before it. An empty title leaves the one that is
    there. `pad` is the space below it, in points. `words` on bands are behind it, or below it, and
    whole.
    """
    if not title and not words:
        return
    _keep_words(figure_of(axes), words)
    _set_title(axes, shared_title(axes, title), inches, pad=pad, words=words)


def _set_title(
    axes: "Axes",
    title: str,
    inches: float | None = None,
    *,
    pad: float | None = None,
    words: str = "",
) -> None:
    """Replace the title of axes; see `titled`."""
    width = width_of(axes) if inches is None else inches
    axes.set_title(_with_words(title, words, width), loc="left", fontsize="medium", pad=pad)


def width_of(axes: "Axes") -> float:
    """Return the width of axes, inches; of a new figure before its layout is computed."""
    figure = figure_of(axes)
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        return figure.get_figwidth() - MARGIN_INCHES
    return axes.get_position().width * figure.get_figwidth()


def height_of(axes: "Axes") -> float:
    """Return the height of axes, inches."""
    return axes.get_position().height * figure_of(axes).get_figheight()


def character_inches() -> float:
    """Return the mean width of a character of the size that style sheets set, inches."""
    import matplotlib as mpl

    return CHARACTER_INCHES * float(mpl.rcParams["font.size"]) / 10


def wrapped(text: str, inches: float, *, most: int | None = 2) -> str:
    """Return a text in lines of this width, at most two or `most`, for text of matplotlib."""
    width = max(12, int(inches / character_inches()))
    lines = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(lines).replace("$", r"\$")


def label_below(axes: "Axes", label: str, words: str) -> None:
    """Label the x axis, with words on bands below; each in lines that are no longer than it.

    Both are whole, however many lines they need: without units and words bands would mislead.
    """
    width = width_of(axes)
    lines = [wrapped(text, width, most=None) for text in (label, words)]
    axes.set_xlabel("\n".join(filter(None, lines)))


def show_range(axes: "Axes", values: NDArray[np.float64]) -> None:
    """Let the y axis show the range of the values, so that a flat curve is seen.

    This is the one rule for all lines: the axis begins at 0 if no value is negative, and the values
    then take at least half of it. Bars and areas always begin at 0. Changes within rounding of the
    values are not magnified. Values that are there already are not cut off.

    Parameters
    ----------
    axes
        The axes, with lines or points.
    values
        All values that are drawn into them, of any shape; those that are not finite are ignored.
    """
    axes.ticklabel_format(axis="y", useOffset=False)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    note_values(axes, finite)
    reveal(axes, "y", finite)
    low, high = float(finite.min()), float(finite.max())
    least = LEAST_RANGE * max(abs(low), abs(high))
    if high - low < least:
        middle = (low + high) / 2
        ends = [(0.0, middle - least / 2), (0.0, middle + least / 2)]
        axes.update_datalim(ends, updatex=False)
    axes.autoscale_view()
    if 0 <= low <= high - low and high > 0:
        begin_at_zero(axes)


def begin_at_zero(axes: "Axes") -> None:
    """Let the y axis begin at 0, as for areas, also where bands go below; it may grow later.

    If values in the axes are negative, it shows them.
    """
    if lowest_value(axes) < 0:
        axes.autoscale_view()
        return
    axes.update_datalim([(0.0, 0.0)], updatex=False)
    for drawn in [*axes.lines, *axes.patches, *axes.collections]:
        drawn.sticky_edges.y.append(0.0)
    axes.autoscale_view()
    if axes.get_ylim()[0] < 0:
        axes.set_ylim(bottom=0.0, auto=None)


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
    """Return the values of the x axis of a figure of its own, and its label."""
    unit = unit_of_times(times)
    return in_unit(times, frames, unit), label_of_times(unit)


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
    *,
    look: Look = PLAIN,
) -> int:
    """Draw a series, a long one with its running average; return the width of that, in frames.

    An average that users ask for has gaps where values are not finite; others are then left out.
    """
    width = look.smoothed_frames(len(y))
    finite = np.isfinite(y)
    has_gaps = look.smooth is None and not finite.all()
    smooth = np.empty(0)
    if width > 1 and not has_gaps:
        smooth = np.convolve(np.where(finite, y, np.nan), np.full(width, 1 / width), mode="valid")
    if not np.isfinite(smooth).any():
        # A line of one frame would not be seen.
        marker = "o" if len(y) == 1 else None
        axes.plot(
            *(x, y),
            color=colour,
            linestyle=style,
            linewidth=line_width(1.2),
            label=label,
            marker=marker,
        )
        return 1
    axes.plot(x, y, color=colour, linewidth=line_width(0.5), alpha=0.35)
    # Of an even number of frames the middle is between two of them.
    first, second = (x[begin : begin + len(smooth)] for begin in ((width - 1) // 2, width // 2))
    middle = (first + second) / 2
    axes.plot(middle, smooth, color=colour, linestyle=style, linewidth=line_width(1.8), label=label)
    return width


def line_width(points: float) -> float:
    """Return the width of a line in points, as style sheets scale it."""
    import matplotlib as mpl

    return points * float(mpl.rcParams["lines.linewidth"]) / 1.5
