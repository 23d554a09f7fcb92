"""Tools of all figures: axes, labels, lines and their range."""

import os
import textwrap
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.look import PLAIN, FigureSize, Look, inches_of_size, palette
from trajet.plots.room import covers_data, find_corner, keep_clear, lay_out
from trajet.plots.shared_axes import (
    content_of,
    in_unit,
    label_of_times,
    lowest_value,
    note_values,
    reveal,
    shared_label,
    unit_of_times,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_BINS = 60
LONGEST_LABEL = 80
LONGEST_TICK = 32
# Mean width of a character of medium size, and the space that a figure needs beside its axes.
CHARACTER_INCHES = 0.083
MARGIN_INCHES = 0.9
# Height of each of several panels below one another.
PANEL_INCHES = 2.1
# The size of a figure of matplotlib, of which ours are multiples if a style sheet sets another one.
USUAL_INCHES = (6.4, 4.0)
# Counts up to which a scale has ticks within decades.
MAX_TICKED = 1000
# The smallest range of a y axis, as a part of the values.
MIN_RANGE = 1e-3
# Sizes of characters that are "small" and "x-small", of those of medium size.
SMALL, X_SMALL = 0.833, 0.694
# Most names within axes that have two lines.
MAX_WRAPPED = 3
# The line and the gap before a name in a legend.
HANDLE_CHARACTERS = 8
# Width and height of the figure that `for_user` draws, inches.
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
    """Return a new figure, which is not registered with pyplot; see `for_user`.

    Parameters
    ----------
    size
        Width and height, inches. If a style sheet sets `figure.figsize`, the figure has that width,
        or twice of it with several panels beside one another where it is that of a column, and its
        height grows as that of the others.
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
        columns = min(panels, 2) if given[0] < USUAL_INCHES[0] else 1
        size = (given[0] * columns, given[1] * size[1] / USUAL_INCHES[1])
    given_dpi, usual_dpi = (of["figure.dpi"] for of in (mpl.rcParams, mpl.rcParamsDefault))
    dpi = 150 if given_dpi == usual_dpi else given_dpi
    return ResultFigure(figsize=size, layout=layout, dpi=dpi)


def is_size_given() -> bool:
    """Return whether a user asks for the width and the height of a figure; see `for_user`."""
    return _ASKED_INCHES.get() is not None


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


def for_user(
    draw: Callable[[], "Figure"], ax: "Axes | None", size: FigureSize | None
) -> "Figure | Axes":
    """Draw into the axes of a user, which are returned, or into a figure, which pyplot knows then.

    Parameters
    ----------
    size
        Width and height of the figure, for which its text is wrapped; see `Table.plot`.

    Raises
    ------
    ValueError
        If it is no size, or axes are given.
    """
    from trajet.plots.figure import ResultFigure, make_current

    if ax is not None and size is not None:
        raise ValueError("size is of a new figure, and the given axes have one: leave it out")
    token = _ASKED_INCHES.set(None if size is None else inches_of_size(size))
    try:
        figure = draw()
    finally:
        _ASKED_INCHES.reset(token)
    if ax is not None:
        return ax
    if isinstance(figure, ResultFigure):
        make_current(figure)
    return figure


def legend_of(axes: "Axes", ax: "Axes | None", note: str) -> None:
    """Add a legend that covers no data.

    It is below the axes of a figure of our own, where names are side by side if they fit. Within
    given axes it is where there is room, or above the data, for which the y axis grows.
    """
    handles, names = axes.get_legend_handles_labels()
    if not names:
        return
    figure = figure_of(axes)
    if ax is None:
        room = int(figure.get_figwidth() / character_inches("legend.fontsize"))
    else:
        room = int(width_of(axes) / character_inches() / SMALL)
    # Many names within axes have a line each.
    most = 2 if ax is None or len(names) <= MAX_WRAPPED else 1
    width = (room - HANDLE_CHARACTERS - 1) * character_inches()
    shown = [wrapped(unescaped(name), width, most=most) for name in names]
    columns, title = _columns(names, room), note or None
    if ax is None:
        place = "outside lower center"
        figure.legend(handles, shown, loc=place, ncols=columns, title=title, frameon=False)
        return
    for n in (1, columns):
        legend = axes.legend(handles, shown, ncols=n, title=title, frameon=False, fontsize="small")
        lay_out(axes)
        if not covers_data(axes, legend.get_window_extent()):
            return
    keep_clear(axes, legend)


def _columns(names: Sequence[str], room: int) -> int:
    """Return the number of columns of a legend of this width, in characters, with fewest rows."""
    for rows in range(1, len(names)):
        columns = -(-len(names) // rows)
        lengths = [int(part.max()) for part in np.array_split([*map(len, names)], columns)]
        if sum(lengths) + columns * HANDLE_CHARACTERS <= room:
            return columns
    return 1


def unescaped(label: str) -> str:
    """Return the text of a label that `shortened` or `wrapped` made."""
    return label.replace(r"\$", "$")


def finish(
    axes: "Axes | Sequence[Axes]",
    ax: "Axes | None",
    look: Look,
    *,
    names: Sequence[str] = (),
    is_image: bool = False,
    has_grid: bool = True,
    has_legend: bool = False,
    note: str = "",
    half_widths: NDArray[np.float64] | None = None,
) -> "Figure":
    """Finish a figure: borders, grid, title, warning and legend; return it.

    Parameters
    ----------
    axes
        The axes, or several panels.
    ax
        The axes of a user, or None.
    names
        Names of several panels.
    is_image
        Whether colours are values: axes keep all borders, and have no grid lines.
    has_grid
        Whether there are horizontal grid lines.
    has_legend
        Whether a legend names the lines of the first panel. It always does if there are several
        series with colours of their own, or a user gives labels.
    note
        Title of the legend.
    half_widths
        Those of the intervals that are drawn, NaN for others; None for figures without intervals.
    """
    panels = list(axes) if isinstance(axes, Sequence) else [axes]
    for k, panel in enumerate(panels):
        if not is_image:
            bare(panel, has_grid=has_grid)
        if len(panels) > 1 and names:
            panel.set_title(wrapped(names[k], width_of(panel)), loc="left", fontsize="medium")
            panel.label_outer(remove_inner_ticks=False)
    figure = figure_of(panels[0])
    if look.title and len(panels) > 1:
        figure.suptitle(wrapped(look.title, figure.get_figwidth()))
    elif look.title:
        # In the middle, where the title of a user replaces it.
        panels[0].set_title(wrapped(look.title, width_of(panels[0])))
    has_legend = has_legend or look.is_named or content_of(panels[0]).n_series > 1
    if has_legend and not is_image:
        legend_of(panels[0], ax, note)
    has_none = half_widths is not None and not np.isfinite(half_widths).any()
    message = look.message(has_intervals=not has_none)
    if message:
        _write(panels[0], message, is_warning=bool(look.warning), is_image=is_image)
    return figure


def _write(axes: "Axes", message: str, *, is_warning: bool, is_image: bool) -> None:
    """Write a message into axes, once for all results; it covers no data but those of an image."""
    lay_out(axes)
    shown = wrapped(message, 0.95 * axes.bbox.width / figure_of(axes).dpi / X_SMALL)
    for before in [text for text in axes.texts if text.get_text() == shown]:
        before.remove()
    text = axes.text(
        0.01,
        0.01,
        shown,
        transform=axes.transAxes,
        fontsize="x-small",
        color="#B00020" if is_warning else "0.35",
        va="bottom",
        bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1},
        zorder=10,
    )
    if not is_image:
        find_corner(axes, text)


def width_of(axes: "Axes") -> float:
    """Return the width of axes, inches; of a new figure before its layout is computed.

    It is the room for them and their labels: images may take less, as their pixels are squares.
    """
    figure = figure_of(axes)
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        return inches_of(figure)[0] - MARGIN_INCHES
    return axes.get_position(original=True).width * inches_of(figure)[0]


def height_of(axes: "Axes") -> float:
    """Return the height of axes, inches."""
    return axes.get_position(original=True).height * inches_of(figure_of(axes))[1]


def inches_of(figure: "Figure") -> tuple[float, float]:
    """Return width and height of a figure or of a part of one, inches."""
    return figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi


def character_inches(size: str = "font.size") -> float:
    """Return the mean width of a character of a size that style sheets set, inches."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties

    points = FontProperties(size=mpl.rcParams[size]).get_size_in_points()
    return CHARACTER_INCHES * points / 10


def wrapped(text: str, inches: float, *, most: int | None = 2) -> str:
    """Return a text in lines of this width, at most two or `most`, for text of matplotlib."""
    width = max(12, int(inches / character_inches()))
    if any(len(word) > width for word in text.split(" ")):
        text = text.replace("\N{NO-BREAK SPACE}", " ")
    lines = textwrap.wrap(text, width, max_lines=most, placeholder=" …")
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ").replace("$", r"\$")


def label_axes(axes: "Axes", x: str, y: str) -> None:
    """Label both axes with the labels of all results in them."""
    axes.set_xlabel(wrapped(shared_label(axes, "x", x), width_of(axes)))
    axes.set_ylabel(wrapped(shared_label(axes, "y", y), height_of(axes)))


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
    least = MIN_RANGE * max(abs(low), abs(high))
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


def whole_ticks(axis: "Axis") -> None:
    """Let an axis have ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))


def turn_ticks(axis: "Axis") -> None:
    """Let the names below an axis stand at an angle."""
    for text in axis.get_ticklabels():
        text.set(rotation=45, ha="right", rotation_mode="anchor")


def bare(axes: "Axes", *, has_grid: bool = True) -> None:
    """Remove the upper and right borders of axes, and add horizontal grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    if has_grid:
        axes.grid(axis="y", color="0.9", linewidth=0.8)


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


def colours_in(axes: "Axes", look: Look, n: int) -> list[str]:
    """Return the colours of the n series of a result, which earlier results in axes do not have."""
    content = content_of(axes)
    first, content.n_series = content.n_series, content.n_series + n
    return palette(first + n)[first:] if look.color is None else look.colours(n)


def point_size(n: int) -> float:
    """Return the area of each of n points, in points², as style sheets scale it."""
    return marker_size(max(2.0, min(16.0, 6000.0 / max(1, n))) ** 0.5) ** 2


def marker_size(points: float) -> float:
    """Return the size of a marker in points, as style sheets scale it."""
    import matplotlib as mpl

    return points * float(mpl.rcParams["lines.markersize"]) / 6


def draw_counts(
    axes: "Axes",
    counts: NDArray[np.float64],
    edges: Sequence[NDArray[np.float64]],
    colours: str,
    label: str = "count",
) -> None:
    """Draw counts in bins (`(nx, ny)`) as colours on a logarithmic scale; empty ones are white."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator

    most = max(2.0, float(counts.max(initial=0)))
    mesh = axes.pcolormesh(
        *(*edges, np.ma.masked_equal(counts.T, 0)),
        cmap=colours,
        norm=LogNorm(vmin=1, vmax=most),
        rasterized=True,
    )
    ticks = LogLocator(subs=(1, 2, 5) if most < MAX_TICKED else (1,))
    bar = figure_of(axes).colorbar(mesh, ax=axes, label=label, ticks=ticks, format="%d")
    bar.minorticks_off()


def draw_bars(
    axes: "Axes",
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    colour: str,
    label: str,
    *,
    is_lying: bool = False,
) -> None:
    """Draw values (`(n,)`) as bars, lying ones from the left, with the intervals that are known."""
    draw = axes.barh if is_lying else axes.bar
    draw(x, values, 0.8, color=colour, alpha=0.6, label=shortened(label))
    halves = np.nan_to_num(half_widths)
    axes.errorbar(
        *((values, x) if is_lying else (x, values)),
        xerr=halves if is_lying else None,
        yerr=None if is_lying else halves,
        fmt="none",
        ecolor="0.2",
        elinewidth=line_width(1.0),
    )


def unbroken(text: str) -> str:
    """Return a text, such as a number with its error, that `wrapped` keeps in a line if it fits."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def draw_band(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    colour: str,
) -> None:
    """Draw the intervals of a curve as a band; half widths (`(n,)`) are NaN where it has a gap.

    The interval of each point reaches to the middle between it and its neighbours.
    """
    known = np.isfinite(half_widths) & np.isfinite(y)
    if not known.any():
        return
    points = np.arange(2 * len(y) - 1) / 2
    half = np.interp(points, np.flatnonzero(known), half_widths[known])
    middle, at = (np.interp(points, np.arange(len(y)), array) for array in (y, x))
    before, after = known[np.floor(points).astype(int)], known[np.ceil(points).astype(int)]
    where = before | after
    low, high = middle - half, middle + half
    if axes.get_yscale() == "log":
        # Nothing below 0 is on a logarithmic axis.
        low = np.maximum(low, middle / 10)
    axes.fill_between(at, low, high, where=where.tolist(), color=colour, alpha=0.25, linewidth=0)


def line(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    label: str,
    colour: str,
    style: str = "-",
    *,
    look: Look = PLAIN,
) -> None:
    """Draw a series, a long one as a pale line with its running average.

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
            x,
            y,
            color=colour,
            linestyle=style,
            linewidth=line_width(1.2),
            label=label,
            marker=marker,
        )
        return
    axes.plot(x, y, color=colour, linewidth=line_width(0.5), alpha=0.35)
    # Of an even number of frames the middle is between two of them.
    first, second = (x[begin : begin + len(smooth)] for begin in ((width - 1) // 2, width // 2))
    middle = (first + second) / 2
    axes.plot(middle, smooth, color=colour, linestyle=style, linewidth=line_width(1.8), label=label)


def line_width(points: float) -> float:
    """Return the width of a line in points, as style sheets scale it."""
    import matplotlib as mpl

    return points * float(mpl.rcParams["lines.linewidth"]) / 1.5
