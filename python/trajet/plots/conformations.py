"""Figures of principal components and of clusters of frames."""

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import NumbersOfFrames, OfFrames
from trajet.plots.drawing import (
    abscissa,
    axes_of,
    colours_in,
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
    from mpl_toolkits.mplot3d import Axes3D

# Frames from which on the density of points is drawn, which would cover one another.
_MAX_POINTS = 2000
# Squares of such a figure along each side.
_SQUARES = 70


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
    n_clusters: int,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the cluster of each frame (`(n_frames,)`) against time, the largest one on top."""
    axes = axes_of(ax, (8.0, 4.0))
    x, x_label = time_axis(axes, result.times, result.frames)
    before = limits(axes, "y")
    (colour,), (name,) = colours_in(axes, look, 1), look.names([""])
    axes.scatter(x, labels, s=point_size(len(x)), color=colour, label=shortened(name))
    label_axes(axes, x_label, "cluster")
    whole_ticks(axes.yaxis)
    limit(axes, "y", (max(1, n_clusters) - 0.5, -0.5), before)
    return finish(axes, ax, look)


def porcupine(
    structure: NDArray[np.float64],
    moved: NDArray[np.float64],
    scale: float,
    begins: NDArray[np.int64],
    title: str,
) -> "Figure":
    """Draw displacements of atoms as arrows on their trace, seen along its shortest extent.

    Parameters
    ----------
    structure, moved
        `(n_atoms, 3)`, Å: positions, and displacements, which are the colours.
    scale
        Length of the arrows, in displacements.
    begins
        Atoms that are not joined to the one before.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = new_figure((6.4, 5.2))
    axes = cast("Axes3D", figure.add_subplot(projection="3d"))
    centred = structure - structure.mean(axis=0)
    turned = np.linalg.svd(centred)[2]
    # A rotation, not a mirror image.
    turned[2] = np.cross(turned[0], turned[1])
    points = centred @ turned.T
    for part in np.split(points, begins):
        axes.plot(*part.T, color="0.6", linewidth=line_width(1.5))
    lengths = np.linalg.norm(moved, axis=1)
    norm = Normalize(0.0, float(lengths.max(initial=0.0)) or 1.0)
    of_colours = ScalarMappable(norm, "viridis_r")
    # Arrows without a length are not drawn; the two lines of their heads come after all arrows.
    seen = lengths > 0
    colours = of_colours.to_rgba(lengths[seen])
    axes.quiver(
        *points[seen].T,
        *(scale * moved[seen] @ turned.T).T,
        color=np.tile(colours, (3, 1)),
        linewidth=line_width(1.5),
    )
    figure.colorbar(of_colours, ax=axes, label="displacement of 1 σ (Å)", shrink=0.7)
    axes.set_aspect("equal")
    axes.view_init(elev=70, azim=-90)
    axes.set_axis_off()
    axes.set_title(title)
    return figure
