"""Figures of numbers against time, and of numbers per atom or residue."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    COLOURS,
    LINES,
    LONGEST_TICK,
    MOST_BINS,
    abscissa,
    axes_of,
    bare,
    check_axes,
    figure_of,
    height_of,
    legend_of,
    line,
    name_ticks,
    shortened,
    show_range,
    smoothing,
    titled,
    wrapped,
)
from trajet.plots.means import Means, draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAMACHANDRAN_BINS = 90


def series(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    quantity: str,
    title: str,
    means: Means | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one or more series against time, with their distribution beside it.

    Parameters
    ----------
    values
        `(n_frames,)` or `(n_frames, n_series)`.
    times, frames
        `(n_frames,)`, ps and frame numbers. If times do not increase, as in concatenated files, the
        x axis shows frame numbers.
    labels
        Name of each series.
    quantity, title
        Label of the y axis, and title of the figure.
    means
        Their means, drawn as bands; None for none. Bands do not change the range of the axis.
    ax
        Axes to draw into, without the distribution; None for a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is not registered with pyplot: save it or show it.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    check_axes(ax)
    columns = values.reshape(len(times), len(labels))
    x, x_label = abscissa(times, frames)
    left, right = ax, None
    if left is None:
        figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 1))
    seen = columns[np.isfinite(columns)]
    is_whole = bool(seen.size) and np.array_equal(seen, np.round(seen))
    if is_whole and np.ptp(seen) < MOST_BINS:
        bins = np.arange(seen.min() - 0.5, seen.max() + 1.0)
    else:
        bins = np.histogram_bin_edges(seen, min(MOST_BINS, max(10, int(np.sqrt(len(x))))))
    smoothed = False
    for column, label in enumerate(labels):
        y, colour = columns[:, column], COLOURS[column % len(COLOURS)]
        # If there are more series than colours, further lines are dashed.
        style = LINES[column // len(COLOURS) % len(LINES)]
        smoothed |= line(left, x, y, shortened(label), colour, style)
        finite = y[np.isfinite(y)]
        if right is None or not finite.size:
            continue
        right.hist(
            finite,
            bins=bins,
            orientation="horizontal",
            histtype="stepfilled",
            density=True,
            edgecolor=colour,
            facecolor=(colour, 0.25),
            linewidth=1.2,
        )
    show_range(left, left.lines[-1], columns)
    bold = f"; bold: mean of {smoothing(len(x))} neighbouring frames" if smoothed else ""
    words = "" if means is None else draw_bands(left, means)
    left.set_xlabel(x_label + bold + (f"\n{words}" if words else ""))
    left.set_ylabel(wrapped(quantity, height_of(left)))
    titled(left, title)
    left.margins(x=0)
    if is_whole:
        left.yaxis.set_major_locator(MaxNLocator(integer=True))
    bare(left)
    if len(labels) > 1:
        legend_of(left, ax)
    if right is None:
        return figure_of(left)
    right.set_xlabel("density")
    right.set_xticks([])
    bare(right)
    return figure


def angles(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw angles (`(n_frames, n)`, degrees) against time.

    They are drawn as points: lines would cross the jump at 180 degrees.
    """
    x, x_label = abscissa(times, frames)
    axes = axes_of(ax, (8.0, 4.0))
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    for column, label in enumerate(labels[: len(COLOURS)]):
        axes.scatter(x, values[:, column], s=size, color=COLOURS[column], label=shortened(label))
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    axes.set_title(f"{shown}dihedral angles", loc="left", fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel("angle (degrees)")
    axes.set_ylim(-180, 180)
    axes.set_yticks(range(-180, 181, 60))
    axes.margins(x=0.01)
    bare(axes)
    if ax is None:
        axes.figure.legend(loc="outside right upper", frameon=False)
    else:
        axes.legend(frameon=False, fontsize="small")
    return figure_of(axes)


def ramachandran(
    phi: NDArray[np.float64],
    psi: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how often φ and ψ (`(n_frames, n_residues)`, degrees) occur together."""
    from matplotlib.colors import LogNorm

    # Compressed: the bar of colours is as high as the square beside it.
    axes = axes_of(ax, (5.4, 4.5), layout="compressed")
    seen = np.isfinite(phi) & np.isfinite(psi)
    limits = ((-180.0, 180.0), (-180.0, 180.0))
    counts, x, y = np.histogram2d(phi[seen], psi[seen], bins=RAMACHANDRAN_BINS, range=limits)
    shown = np.ma.masked_equal(counts.T, 0)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(x, y, shown, cmap="viridis", norm=norm, rasterized=True)
    axes.figure.colorbar(mesh, ax=axes, label="count")
    titled(axes, title)
    axes.set_xlabel("φ (degrees)")
    axes.set_ylabel("ψ (degrees)")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(-180, 181, 60))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    return figure_of(axes)


def coordinates(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
) -> "Figure":
    """Draw x, y and z of points (`(n_frames, n_points, 3)`, Å) against time, at most six points."""
    from matplotlib.figure import Figure

    x, x_label = abscissa(times, frames)
    figure = Figure(figsize=(8.0, 6.0), layout="constrained", dpi=150)
    panels = figure.subplots(3, 1, sharex=True)
    for k, (axes, name) in enumerate(zip(panels, "xyz", strict=True)):
        for point, label in enumerate(labels[: len(COLOURS)]):
            line(axes, x, values[:, point, k], shortened(label), COLOURS[point])
        axes.set_ylabel(f"{name} (Å)")
        axes.margins(x=0)
        bare(axes)
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    panels[0].set_title(f"{shown}centres", loc="left", fontsize="medium")
    panels[-1].set_xlabel(x_label)
    legend_of(panels[0], None)
    return figure


def mean_profile(
    values: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    along: str,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the mean over frames of each column of values (`(n_frames, n_columns)`), one bar each.

    The band is one standard deviation wide on either side.

    Parameters
    ----------
    labels
        Names of the columns, some of which are written below the axis.
    along
        Kind of the columns: "residue", "atom".
    quantity, title
        Label of the y axis, and title of the figure.
    """
    x = np.arange(values.shape[1])
    empty = np.full(len(x), np.nan)
    mean = values.mean(axis=0) if len(values) else empty
    spread = values.std(axis=0) if len(values) else empty
    axes = axes_of(ax, (8.0, 4.0))
    axes.bar(x, mean, width=1.0, color=COLOURS[0], alpha=0.55, linewidth=0, label="mean")
    axes.errorbar(
        *(x, mean, spread),
        fmt="none",
        ecolor="0.25",
        elinewidth=max(0.3, min(1.5, 120 / max(1, len(x)))),
        label="± standard deviation",
    )
    ticks = np.unique(np.linspace(0, len(x) - 1, min(len(x), 16)).astype(int))
    axes.set_xticks(
        ticks, [shortened(labels[k], LONGEST_TICK) for k in ticks], rotation=45, ha="right"
    )
    axes.set_xlabel(along)
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    titled(axes, title)
    axes.margins(x=0.005)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="upper right")
    bare(axes)
    return figure_of(axes)


def profile(
    values: NDArray[np.float64],
    atoms: NDArray[np.int64],
    residues: NDArray[np.int64] | None,
    *,
    labels: Sequence[str] | None,
    quantity: str,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one value per atom (`(n_atoms,)`), with half of its interval if that is known.

    The x axis has residue numbers if each residue has one atom and the numbers increase; otherwise
    it has atoms, some of which are named by their `labels`.
    """
    along = residues is not None and len(residues) > 1 and bool((np.diff(residues) > 0).all())
    x = residues if along and residues is not None else np.arange(len(atoms))
    axes = axes_of(ax, (8.0, 4.0))
    axes.plot(x, values, color=COLOURS[0], linewidth=1.2)
    if half_widths is None:
        axes.fill_between(x, values, color=COLOURS[0], alpha=0.15, linewidth=0)
    else:
        low, high = values - half_widths, values + half_widths
        axes.fill_between(
            x, low, high, color=COLOURS[0], alpha=0.3, linewidth=0, label="95 % interval"
        )
        axes.legend(frameon=False)
    axes.set_xlabel("residue" if along else "atom of the selection")
    if labels is not None and not along:
        name_ticks(axes.xaxis, labels, turned=True)
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    titled(axes, title)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    bare(axes)
    return figure_of(axes)
