"""Figures of principal components and of clusters of frames."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import Numbers, NumbersOfFrames, OfFrames
from trajet.plots.drawing import (
    abscissa,
    axes_of,
    colours_in,
    draw_bars,
    draw_counts,
    figure_of,
    finish,
    label_axes,
    line,
    line_width,
    new_figure,
    point_size,
    shortened,
    show_range,
    whole_ticks,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.shared_axes import limit, limits, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Frames from which on the density of points is drawn, which would cover one another.
_MAX_POINTS = 2000
# Squares of such a figure along each side.
_SQUARES = 70
# Clusters whose populations are drawn.
_MAX_BARS = 40


def components(
    result: NumbersOfFrames,
    variances: NDArray[np.float64],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw projections on the first two components.

    Points are coloured by time; of more than 2000 frames, the number of frames in squares is drawn.

    Parameters
    ----------
    result
        Its values are projections, `(n_frames, n_components)`, Å. If there is one component only,
        it is drawn against time.
    variances
        `(n,)`, Å², of all components, in descending order.
    """
    axes = axes_of(ax, (5.6, 4.4))
    x, times, frames = result.values[:, 0], result.times, result.frames
    shares = 100 * variances[:2] / variances.sum()
    names = [f"component {k + 1}, {share:.1f} % (Å)" for k, share in enumerate(shares)]
    time, time_label = abscissa(times, frames)
    if result.values.shape[1] == 1:
        at, label = time_axis(axes, times, frames)
        (colour,), (name,) = colours_in(axes, look, 1), look.names([""])
        line(axes, at, x, shortened(name), colour, look=Look(smooth=False))
        label_axes(axes, label, names[0])
        show_range(axes, x)
        return finish(axes, ax, look)
    y = result.values[:, 1]
    label_axes(axes, *names)
    axes.set_aspect("equal", adjustable="datalim")
    colours = look.colour_map("viridis")
    if len(x) > _MAX_POINTS:
        side = max(np.ptp(x), np.ptp(y)) / _SQUARES or 1.0
        edges = [of.min() + side * np.arange(int(np.ptp(of) / side) + 2) for of in (x, y)]
        draw_counts(axes, np.histogram2d(x, y, bins=edges)[0], edges, colours, "frames")
    else:
        drawn = axes.scatter(x, y, c=time, s=point_size(len(time)), cmap=colours)
        figure_of(axes).colorbar(drawn, ax=axes, label=time_label)
    return finish(axes, ax, look, is_image=True)


def clusters(
    result: OfFrames,
    labels: NDArray[np.int64],
    populations: Numbers,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the cluster of each frame (`(n_frames,)`) against time, the largest one on top.

    Beside it are the populations as bars with their intervals, unless a user gives the axes, or
    there are too many.
    """
    n_clusters = len(populations.values)
    panels: list[Axes]
    if ax is None and n_clusters <= _MAX_BARS:
        panels = [
            *new_figure((8.0, 4.0), panels=2).subplots(1, 2, sharey=True, width_ratios=(1, 3))
        ]
    else:
        panels = [axes_of(ax, (8.0, 4.0))]
    axes = panels[-1]
    x, x_label = time_axis(axes, result.times, result.frames)
    before = limits(axes, "y")
    (colour,), (name,) = colours_in(axes, look, 1), look.names([""])
    axes.scatter(x, labels, s=point_size(len(x)), color=colour, label=shortened(name))
    halves = None
    if len(panels) > 1:
        known, resolved = populations.half_widths, populations.resolved
        halves = look.intervals(populations.values, known, resolved, are_curves=False)
        y = np.arange(n_clusters, dtype=np.float64)
        draw_bars(panels[0], y, populations.values, halves, colour, "", is_lying=True)
        panels[0].set_xlim(0, 1)
        label_axes(panels[0], "population", "cluster")
        axes.set_xlabel(x_label)
    else:
        label_axes(axes, x_label, "cluster")
    whole_ticks(axes.yaxis)
    limit(axes, "y", (max(1, n_clusters) - 0.5, -0.5), before)
    return finish(panels[::-1], ax, look, half_widths=halves)


def porcupine(
    structure: NDArray[np.float64],
    moved: NDArray[np.float64],
    scale: float,
    begins: NDArray[np.int64],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw displacements of atoms as arrows on their trace, seen along its shortest extent.

    Parameters
    ----------
    structure, moved
        `(n_atoms, 3)`, Å: positions, and displacements, whose lengths are the colours.
    scale
        Length of the arrows, in displacements.
    begins
        Atoms that are not joined to the one before.
    """
    axes = axes_of(ax, (6.4, 4.8), layout="compressed")
    centred = structure - structure.mean(axis=0)
    longest = np.linalg.eigh(centred.T @ centred)[1][:, :0:-1]
    points, arrows = centred @ longest, scale * moved @ longest
    for part in np.split(points, begins):
        axes.plot(*part.T, color="0.7", linewidth=line_width(1.5), zorder=1)
    drawn = axes.quiver(
        *(*points.T, *arrows.T, np.linalg.norm(moved, axis=1)),
        angles="xy",
        scale_units="xy",
        scale=1.0,
        width=0.005,
        cmap=look.colour_map("viridis_r"),
        zorder=2,
    )
    drawn.set_clim(0.0)
    # Limits of axes follow points, not the ends of arrows.
    axes.update_datalim(points + arrows)
    axes.autoscale_view()
    figure_of(axes).colorbar(drawn, ax=axes, label="displacement of 1 σ (Å)")
    axes.set_aspect("equal", adjustable="datalim")
    label_axes(axes, "along the longest extent (Å)", "along the second (Å)")
    return finish(axes, ax, look, is_image=True)
