"""Figures of secondary structure and of hydrogen bonds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    LONGEST_TICK,
    MOST_BINS,
    abscissa,
    axes_of,
    bare,
    figure_of,
    label_below,
    legend_of,
    line,
    line_width,
    new_figure,
    shortened,
    show_range,
    titled,
    width_of,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.residues import draw_chains_of_image
from trajet.plots.shared_axes import (
    OF_CHOICE,
    even_time_axis,
    lag_axis,
    limit,
    limits,
    shared_label,
    take_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

# Colours of classes of secondary structure: helices are blue, strands orange.
CLASS_COLOURS = {
    "H": "#0072B2",
    "G": "#56B4E9",
    "I": "#332288",
    "E": "#D55E00",
    "B": "#E69F00",
    "T": "#009E73",
    "S": "#B5D99C",
    "-": "#F2F2F2",
}
# Width of the legend of classes.
LEGEND_INCHES = 2.3
# Least width of a figure that has this legend beside its axes.
_LEAST_BESIDE = 6.0
# Distance of a legend below axes.
_BELOW_INCHES = 0.45
# Pairs whose occupancies are drawn.
MOST_BARS = 12
# Most characters of the name of such a pair.
LONGEST_PAIR = 48


def secondary_structure(
    codes: NDArray[np.uint8],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    classes: Mapping[str, str],
    labels: tuple[str, ...],
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the class of each residue against time, with the share of each class in the legend.

    Parameters
    ----------
    codes
        `(n_frames, n_residues)`, numbers of classes in their order.
    times, frames
        `(n_frames,)`, ps and frame numbers; the x axis is that of `series`. If the steps between
        frames are not equal, it counts the chosen frames.
    classes
        Names of the classes by letters.
    labels
        Names of the residues, some of which are written beside the axis.
    title
        Title of the figure.

    Raises
    ------
    ValueError
        If the given axes, or others that share their x axis, show something else along it.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colours = {letter: CLASS_COLOURS[letter] for letter in classes}
    if look.color is not None:
        colours = dict(zip(classes, look.colours(len(classes)), strict=True))
    axes = axes_of(ax, (9.0, 5.0))
    x, x_label = even_time_axis(axes, times, frames)
    before = limits(axes, "x")
    # Each frame and each residue is a cell around its place.
    half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
    ends = (x[0] - half, x[-1] + half) if len(x) else (0.0, 1.0)
    axes.imshow(
        codes.T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=ListedColormap(list(colours.values())),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        extent=(*ends, -0.5, codes.shape[1] - 0.5),
    )
    ticks = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), 12)).astype(int))
    axes.set_yticks(ticks, [shortened(labels[k], LONGEST_TICK) for k in ticks])
    draw_chains_of_image(axes, labels, "y")
    if len(x) > 1:
        # It begins at the first time; chosen frames are seen whole. Axes beside it may still grow.
        shown = ends if x_label == OF_CHOICE else (x[0], x[-1])
        limit(axes, "x", shown, before, keep_auto=True)
    axes.set_xlabel(x_label)
    axes.set_ylabel("residue")
    title = look.only_title(title)
    is_wide = ax is None and figure_of(axes).get_figwidth() >= _LEAST_BESIDE
    titled(axes, title, width_of(axes) - (LEGEND_INCHES if is_wide else 0))
    shares = np.bincount(codes.ravel(), minlength=len(classes)) / max(1, codes.size)
    handles = [
        Patch(
            facecolor=colours[letter],
            edgecolor="0.6",
            linewidth=0.6,
            label=f"{letter}  {name}, {100 * share:.1f} %" if ax is None else letter,
        )
        for (letter, name), share in zip(classes.items(), shares, strict=True)
        if share > 0
    ]
    if is_wide:
        figure_of(axes).legend(handles=handles, loc="outside right upper", frameon=False)
    elif ax is None:
        figure_of(axes).legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    else:
        _legend_below(axes, handles)
    return figure_of(axes)


def _legend_below(axes: "Axes", handles: "Sequence[Patch]") -> None:
    """Add a legend of short names in one row below the label of the x axis."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0, -_BELOW_INCHES, figure_of(axes).dpi_scale_trans)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + down,
        ncols=len(handles),
        frameon=False,
        fontsize="small",
        handlelength=0.8,
        handletextpad=0.3,
        columnspacing=0.8,
        borderpad=0,
    )


def hydrogen_bonds(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    occupancies: NDArray[np.float64],
    labels: Sequence[str],
    lifetimes: tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]] | None,
    *,
    title: str,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the number of hydrogen bonds (`(n_frames,)`) against time, and occupancies of pairs.

    Parameters
    ----------
    occupancies
        `(n_pairs,)`, descending.
    labels
        Names of the first pairs, which are drawn.
    lifetimes
        Lags (ps) and correlation functions, drawn below; or None.
    """
    rows = 1 if lifetimes is None else 2
    figure = new_figure((10.0, 4.0 + 2.0 * (rows - 1)), panels=2)
    grid = figure.add_gridspec(rows, 2, width_ratios=(3, 2))
    left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
    if lifetimes is not None:
        below = figure.add_subplot(grid[1, 0])
        _correlations(below, *lifetimes, PLAIN)
        legend_of(below, None)
    x, x_label = abscissa(times, frames)
    (colour,), (title,) = look.colours(1), look.names([title])
    smoothed = line(left, x, values, "", colour, look=look)
    bold = f"; bold: mean of {smoothed} neighbouring frames" if smoothed > 1 else ""
    label_below(left, x_label + bold, "")
    left.set_ylabel("hydrogen bonds")
    titled(left, title)
    left.margins(x=0)
    show_range(left, values)
    bare(left)
    _bars(right, occupancies, labels, colour)
    return figure


def occupancies(
    values: NDArray[np.float64],
    labels: Sequence[str],
    *,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw occupancies (`(n_pairs,)`, descending) of the pairs that have labels, with intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    _bars(axes, values, labels, *look.colours(1))
    words = ""
    if half_widths is not None:
        n = len(labels)
        bars = np.nan_to_num(half_widths[:n])
        axes.errorbar(
            values[:n], np.arange(n), xerr=bars, fmt="none", ecolor="0.2", linewidth=1, capsize=2
        )
        words = "bars: 95 % intervals"
    titled(axes, look.only_title(title), words=words)
    return figure_of(axes)


def correlations(
    times: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw correlation functions (`(n_lags,)`, by name) against the lag (ps)."""
    axes = axes_of(ax, (6.4, 4.0))
    _correlations(axes, times, curves, look)
    titled(axes, look.title(title))
    legend_of(axes, ax)
    return figure_of(axes)


def _correlations(
    axes: "Axes",
    times: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    look: Look,
) -> None:
    """Draw correlation functions."""
    x, unit = lag_axis(axes, times)
    before = limits(axes, "y")
    names, colours = look.names(list(curves)), look.colours(len(curves))
    for label, colour, values in zip(names, colours, curves.values(), strict=True):
        axes.plot(x, values, color=colour, linewidth=line_width(1.5), label=shortened(label))
    axes.set_xlabel(shared_label(axes, "x", f"lag ({unit})"))
    axes.set_ylabel(shared_label(axes, "y", "correlation"))
    axes.margins(x=0)
    limit(axes, "y", (0, 1.02), before)
    bare(axes)


def _bars(axes: "Axes", values: NDArray[np.float64], labels: Sequence[str], colour: str) -> None:
    """Draw horizontal bars, the first one on top."""
    shown = values[: len(labels)]
    # Bars of other pairs would stand beside names that are not theirs.
    take_unit(axes, ("occupancy", *labels), "pairs of atoms")
    axes.barh(np.arange(len(shown)), shown, color=colour, height=0.7)
    axes.set_yticks(
        np.arange(len(shown)),
        [shortened(label, LONGEST_PAIR) for label in labels],
        fontsize="small",
    )
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"occupancy of the first {len(shown)} of {len(values)} pairs")
    axes.spines[["top", "right"]].set_visible(False)


def hydrogen_bond_geometry(
    distances: NDArray[np.float64],
    angles: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw how often distances (Å) and angles (degrees) of hydrogen bonds occur together."""
    from matplotlib.colors import LogNorm

    axes = axes_of(ax, (5.6, 4.2))
    bins = min(MOST_BINS, max(10, int(np.sqrt(len(distances)) / 4)))
    counts, x, y = np.histogram2d(distances, angles, bins=bins)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(
        x,
        y,
        np.ma.masked_equal(counts.T, 0),
        cmap=look.colour_map("viridis"),
        norm=norm,
        rasterized=True,
    )
    figure_of(axes).colorbar(mesh, ax=axes, label="count")
    titled(axes, look.only_title(title))
    axes.set_xlabel("distance (Å)")
    axes.set_ylabel("angle D-H-A (degrees)")
    return figure_of(axes)
