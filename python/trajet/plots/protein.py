"""Figures of secondary structure and of hydrogen bonds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    COLOURS,
    LONGEST_TICK,
    MOST_BINS,
    abscissa,
    axes_of,
    bare,
    figure_of,
    line,
    shortened,
    show_range,
    smoothing,
    titled,
    width_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
) -> "Figure":
    """Draw the class of each residue against time, with the share of each class in the legend.

    Parameters
    ----------
    codes
        `(n_frames, n_residues)`, numbers of classes in their order.
    times, frames
        `(n_frames,)`, ps and frame numbers; the x axis is that of `series`.
    classes
        Names of the classes by letters.
    labels
        Names of the residues, some of which are written beside the axis.
    title
        Title of the figure.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    x, x_label = abscissa(times, frames)
    axes = axes_of(ax, (9.0, 5.0))
    # Each frame and each residue is a cell around its place.
    half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
    ends = (x[0] - half, x[-1] + half) if len(x) else (0.0, 1.0)
    axes.imshow(
        codes.T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=ListedColormap([CLASS_COLOURS[letter] for letter in classes]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        extent=(*ends, -0.5, codes.shape[1] - 0.5),
    )
    ticks = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), 12)).astype(int))
    axes.set_yticks(ticks, [shortened(labels[k], LONGEST_TICK) for k in ticks])
    if len(x) > 1:
        axes.set_xlim(x[0], x[-1])
    axes.set_xlabel(x_label)
    axes.set_ylabel("residue")
    titled(axes, title, width_of(axes) - LEGEND_INCHES)
    shares = np.bincount(codes.ravel(), minlength=len(classes)) / max(1, codes.size)
    handles = [
        Patch(
            facecolor=CLASS_COLOURS[letter],
            edgecolor="0.6",
            linewidth=0.6,
            label=f"{letter}  {name}, {100 * share:.1f} %",
        )
        for (letter, name), share in zip(classes.items(), shares, strict=True)
        if share > 0
    ]
    if ax is None:
        figure_of(axes).legend(handles=handles, loc="outside right upper", frameon=False)
    else:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure_of(axes)


def hydrogen_bonds(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    occupancies: NDArray[np.float64],
    labels: Sequence[str],
    lifetimes: tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]] | None,
    *,
    title: str,
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
    from matplotlib.figure import Figure

    rows = 1 if lifetimes is None else 2
    figure = Figure(figsize=(10.0, 4.0 + 2.0 * (rows - 1)), layout="constrained", dpi=150)
    grid = figure.add_gridspec(rows, 2, width_ratios=(3, 2))
    left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
    if lifetimes is not None:
        _correlations(figure.add_subplot(grid[1, 0]), *lifetimes)
    x, x_label = abscissa(times, frames)
    smoothed = line(left, x, values, "", COLOURS[0])
    bold = f"; bold: mean of {smoothing(len(x))} neighbouring frames" if smoothed else ""
    left.set_xlabel(x_label + bold)
    left.set_ylabel("hydrogen bonds")
    titled(left, title)
    left.margins(x=0)
    show_range(left, left.lines[-1], values)
    bare(left)
    _bars(right, occupancies, labels)
    return figure


def occupancies(
    values: NDArray[np.float64],
    labels: Sequence[str],
    *,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw occupancies (`(n_pairs,)`, descending) of the pairs that have labels, with intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    _bars(axes, values, labels)
    if half_widths is not None:
        n = len(labels)
        bars = np.nan_to_num(half_widths[:n])
        axes.errorbar(
            values[:n], np.arange(n), xerr=bars, fmt="none", ecolor="0.2", linewidth=1, capsize=2
        )
        title += "; bars: 95 % intervals"
    titled(axes, title)
    return figure_of(axes)


def correlations(
    times: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw correlation functions (`(n_lags,)`, by name) against the lag (ps)."""
    axes = axes_of(ax, (6.4, 4.0))
    _correlations(axes, times, curves)
    titled(axes, title)
    return figure_of(axes)


def _correlations(
    axes: "Axes", times: NDArray[np.float64], curves: Mapping[str, NDArray[np.float64]]
) -> None:
    """Draw correlation functions."""
    for k, (label, values) in enumerate(curves.items()):
        axes.plot(times, values, color=COLOURS[k % len(COLOURS)], linewidth=1.5, label=label)
    axes.set_xlabel("lag (ps)")
    axes.set_ylabel("correlation")
    axes.margins(x=0)
    axes.set_ylim(0, 1.02)
    bare(axes)
    axes.legend(frameon=False)


def _bars(axes: "Axes", values: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw horizontal bars, the first one on top."""
    shown = values[: len(labels)]
    axes.barh(np.arange(len(shown)), shown, color=COLOURS[0], height=0.7)
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
) -> "Figure":
    """Draw how often distances (Å) and angles (degrees) of hydrogen bonds occur together."""
    from matplotlib.colors import LogNorm

    axes = axes_of(ax, (5.6, 4.2))
    bins = min(MOST_BINS, max(10, int(np.sqrt(len(distances)) / 4)))
    counts, x, y = np.histogram2d(distances, angles, bins=bins)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(
        x, y, np.ma.masked_equal(counts.T, 0), cmap="viridis", norm=norm, rasterized=True
    )
    figure_of(axes).colorbar(mesh, ax=axes, label="count")
    titled(axes, title)
    axes.set_xlabel("distance (Å)")
    axes.set_ylabel("angle D-H-A (degrees)")
    return figure_of(axes)
