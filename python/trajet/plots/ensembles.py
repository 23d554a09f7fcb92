"""Figures of principal components and of clusters of frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import COLOURS, abscissa, bare, figure_of, titled, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
) -> "Figure":
    """Draw projections on the first two components, coloured by time, and shares of the variance.

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
    size = max(2.0, min(16.0, 6000.0 / max(1, len(time))))
    pair = projections.shape[1] > 1
    x, y = (projections[:, 0], projections[:, 1]) if pair else (time, projections[:, 0])
    dots = left.scatter(x, y, c=time, s=size, cmap="viridis")
    left.set_xlabel(names[0] if pair else time_label)
    left.set_ylabel(names[1] if pair else names[0])
    if pair:
        left.set_aspect("equal", adjustable="datalim")
        figure_of(left).colorbar(dots, ax=left, label=time_label)
    titled(left, title)
    bare(left)
    if right is None:
        return figure_of(left)
    shown = min(len(shares), MOST_VARIANCES)
    numbers = np.arange(1, shown + 1)
    right.bar(numbers, 100 * shares[:shown], color=COLOURS[0], label="each")
    summed = 100 * np.cumsum(shares)[:shown]
    right.plot(numbers, summed, color=COLOURS[1], marker="o", markersize=3, label="cumulated")
    right.set_xlabel("component")
    right.set_ylabel("share of the variance (%)")
    right.set_ylim(0, 105)
    right.set_xlim(0.4, shown + 0.6)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.legend(frameon=False, loc="center right")
    bare(right)
    return figure_of(left)


def clusters(
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the cluster of each frame (`(n_frames,)`) against time, and sizes (`(n_clusters,)`)."""
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (8.0, 4.0), width_ratios=(4, 1), sharey=True)
    x, x_label = abscissa(times, frames)
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    left.scatter(x, labels, s=size, color=COLOURS[0])
    left.set_xlabel(x_label)
    left.set_ylabel("cluster")
    titled(left, title)
    left.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    left.set_ylim(max(1, len(sizes)) - 0.5, -0.5)
    bare(left)
    if right is None:
        return figure_of(left)
    right.barh(np.arange(len(sizes)), sizes, color=COLOURS[0])
    right.set_xlabel("frames")
    bare(right)
    return figure_of(left)
