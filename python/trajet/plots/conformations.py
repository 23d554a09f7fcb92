"""Figures of principal components and of clusters of frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    abscissa,
    bare,
    figure_of,
    legend_of,
    line_width,
    show_range,
    titled,
    two_axes,
)
from trajet.plots.look import COLOURS, PLAIN, Look
from trajet.plots.shared_axes import limit, limits, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection, QuadMesh
    from matplotlib.figure import Figure

# Frames from which on the density of points is drawn, which would cover one another.
_MOST_POINTS = 2000
# Squares of such a figure along each side.
_SQUARES = 70
# Components whose share of the variance is drawn.
MOST_VARIANCES = 20


def components(
    projections: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    variances: NDArray[np.float64],
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw projections on the first two components, and shares of the variance.

    Points are coloured by time; of more than 2000 frames, the number of frames in squares is drawn.

    Parameters
    ----------
    projections
        `(n_frames, n_components)`, Å. If there is one component only, it is drawn against time.
    times, frames
        `(n_frames,)`, ps and frame numbers.
    variances
        `(n,)`, Å², of all components, in descending order.
    """
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (9.0, 4.2), width_ratios=(1.15, 1))
    shares = variances / variances.sum()
    names = [f"component {k + 1}, {100 * share:.1f} % (Å)" for k, share in enumerate(shares[:2])]
    time, time_label = abscissa(times, frames)
    if projections.shape[1] == 1:
        x, x_label = time_axis(left, times, frames)
        _points(left, x, projections[:, 0], time, look)
        left.set_xlabel(x_label)
        left.set_ylabel(names[0])
        show_range(left, projections[:, 0])
    else:
        x, y = projections[:, 0], projections[:, 1]
        is_dense = len(x) > _MOST_POINTS
        drawn = _density(left, x, y, look) if is_dense else _points(left, x, y, time, look)
        left.set_xlabel(names[0])
        left.set_ylabel(names[1])
        left.set_aspect("equal", adjustable="datalim")
        figure_of(left).colorbar(drawn, ax=left, label="frames" if is_dense else time_label)
    titled(left, look.only_title(title))
    bare(left)
    if right is None:
        return figure_of(left)
    shown = min(len(shares), MOST_VARIANCES)
    numbers = np.arange(1, shown + 1)
    right.bar(numbers, 100 * shares[:shown], color=COLOURS[0], label="each")
    summed = 100 * np.cumsum(shares)[:shown]
    width = line_width(1.5)
    right.plot(
        *(numbers, summed),
        color=COLOURS[1],
        linewidth=width,
        marker="o",
        markersize=3,
        label="cumulated",
    )
    right.set_xlabel("component")
    right.set_ylabel("share of the variance (%)")
    right.set_ylim(0, 105)
    right.set_xlim(0.4, shown + 0.6)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    bare(right)
    legend_of(right, None)
    return figure_of(left)


def _points(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    time: NDArray[np.float64],
    look: Look,
) -> "PathCollection":
    """Draw frames as points, coloured by time."""
    size = max(2.0, min(16.0, 6000.0 / max(1, len(time))))
    return axes.scatter(x, y, c=time, s=size, cmap=look.colour_map("viridis"))


def _density(
    axes: "Axes", x: NDArray[np.float64], y: NDArray[np.float64], look: Look
) -> "QuadMesh":
    """Draw the number of frames in squares."""
    from matplotlib.colors import LogNorm

    side = max(np.ptp(x), np.ptp(y)) / _SQUARES or 1.0
    edges = [of.min() + side * np.arange(int(np.ptp(of) / side) + 2) for of in (x, y)]
    counts, _, _ = np.histogram2d(x, y, bins=edges)
    return axes.pcolormesh(
        *edges,
        np.ma.masked_equal(counts.T, 0),
        cmap=look.colour_map("viridis"),
        norm=LogNorm(vmin=1, vmax=max(2.0, float(counts.max()))),
        rasterized=True,
    )


def clusters(
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the cluster of each frame (`(n_frames,)`) against time, and sizes (`(n_clusters,)`)."""
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (8.0, 4.0), width_ratios=(4, 1), sharey=True)
    x, x_label = time_axis(left, times, frames)
    before = limits(left, "y")
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    (colour,) = look.colours(1)
    left.scatter(x, labels, s=size, color=colour)
    left.set_xlabel(x_label)
    left.set_ylabel("cluster")
    titled(left, look.only_title(title))
    left.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    limit(left, "y", (max(1, len(sizes)) - 0.5, -0.5), before)
    bare(left)
    if right is None:
        return figure_of(left)
    right.barh(np.arange(len(sizes)), sizes, color=colour)
    right.set_xlabel("frames")
    bare(right)
    return figure_of(left)
