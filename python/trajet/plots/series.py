"""Figures of numbers against time."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import NumbersOfFrames, OfFrames
from trajet.plots.drawing import (
    abscissa,
    axes_of,
    character_inches,
    colours_in,
    draw_counts,
    finish,
    height_of,
    label_axes,
    line,
    new_figure,
    point_size,
    shortened,
    show_range,
    whole_ticks,
    width_of,
)
from trajet.plots.look import COLOURS, LINES, PLAIN, Look, first_of
from trajet.plots.means import Means, draw_means
from trajet.plots.shared_axes import limit, limits, note_values, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAMACHANDRAN_BINS = 90


def series(
    result: NumbersOfFrames, means: Means | None, ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw each series of a result against time.

    If times do not increase, as in concatenated files, the x axis shows frame numbers. In axes with
    other results it has their unit.

    Parameters
    ----------
    means
        Means of the series; None for none. They do not change the range of the axis.
    ax
        Axes to draw into; None for a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ValueError
        If the given axes, or others that share their x axis, show something else along it.
    """
    axes = axes_of(ax, (8.0, 4.0))
    columns = result.values.reshape(len(result.frames), len(result.columns))
    x, x_label = time_axis(axes, result.times, result.frames)
    names, colours = look.names(result.columns), colours_in(axes, look, columns.shape[1])
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        # If there are more series than colours, further lines are dashed.
        style = LINES[k // len(COLOURS) % len(LINES)]
        line(axes, x, columns[:, k], shortened(name), colour, style, look=look)
    show_range(axes, columns)
    if means is not None:
        draw_means(axes, means, colours, look)
    label_axes(axes, x_label, result.quantity)
    axes.margins(x=0)
    seen = columns[np.isfinite(columns)]
    if seen.size and np.array_equal(seen, np.round(seen)):
        whole_ticks(axes.yaxis)
    return finish(axes, ax, look)


def angles(
    result: OfFrames,
    values: NDArray[np.float64],
    labels: list[str],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw angles (`(n_frames, n)`, degrees) against time, at most six.

    They are drawn as points: lines would cross the jump at 180 degrees.
    """
    axes = axes_of(ax, (8.0, 4.0))
    x, x_label = time_axis(axes, result.times, result.frames)
    before = limits(axes, "y")
    names = look.names(labels[: len(COLOURS)])
    colours, size = colours_in(axes, look, len(names)), point_size(len(x))
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        axes.scatter(x, values[:, k], s=size, color=colour, label=shortened(name))
    note_values(axes, values)
    label_axes(axes, x_label, "angle (degrees)")
    limit(axes, "y", (-180, 180), before)
    axes.set_yticks(range(-180, 181, 60))
    axes.margins(x=0.01)
    return finish(axes, ax, look, note=first_of(len(labels)))


def ramachandran(
    phi: NDArray[np.float64],
    psi: NDArray[np.float64],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw how often φ and ψ (`(n_frames, n_residues)`, degrees) occur together."""
    # Compressed: the bar of colours is as high as the square beside it.
    axes = axes_of(ax, (5.4, 4.5), layout="compressed")
    seen = np.isfinite(phi) & np.isfinite(psi)
    limits = ((-180.0, 180.0), (-180.0, 180.0))
    counts, x, y = np.histogram2d(phi[seen], psi[seen], bins=RAMACHANDRAN_BINS, range=limits)
    # Four characters for each of the numbers.
    room = min(width_of(axes), height_of(axes)) / character_inches() / 6
    step = next((step for step in (60, 90) if 360 / step < room), 180)
    draw_counts(axes, counts, (x, y), look.colour_map("viridis"))
    axes.set_xlabel("φ (degrees)")
    axes.set_ylabel("ψ (degrees)")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(-180, 181, step))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    return finish(axes, ax, look, is_image=True)


def coordinates(result: NumbersOfFrames, labels: list[str], look: Look = PLAIN) -> "Figure":
    """Draw x, y and z of points (`(n_frames, n_points, 3)`, Å) against time, at most six points."""
    x, x_label = abscissa(result.times, result.frames)
    panels = list(new_figure((8.0, 6.0)).subplots(3, 1, sharex=True))
    names = look.names(labels[: len(COLOURS)])
    colours = look.colours(len(names))
    for k, (axes, side) in enumerate(zip(panels, "xyz", strict=True)):
        for point, (name, colour) in enumerate(zip(names, colours, strict=True)):
            line(axes, x, result.values[:, point, k], shortened(name), colour, look=look)
        show_range(axes, result.values[:, : len(names), k])
        axes.set_ylabel(f"{side} (Å)")
        axes.margins(x=0)
    panels[-1].set_xlabel(x_label)
    return finish(panels, None, look, has_legend=len(labels) > 1, note=first_of(len(labels)))
