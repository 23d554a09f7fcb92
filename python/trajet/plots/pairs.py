"""Figures of pairs of atoms, residues or frames as matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import Numbers, ResultAxis
from trajet.plots.drawing import (
    axes_of,
    figure_of,
    finish,
    height_of,
    label_axes,
    new_figure,
    width_of,
    wrapped,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.residues import along, draw_chains_of_image, has_room, name_places, numbered
from trajet.plots.shared_axes import even_time_axis, even_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Frames of an image of pairs along each side, at most.
MAX_PIXELS = 2000


def matrix(
    values: NDArray[np.float64],
    sides: Sequence[ResultAxis],
    labels: tuple[str, str],
    *,
    quantity: str,
    is_signed: bool = False,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw a matrix of pairs (`(n_rows, n_columns)`) as an image, the first row at the bottom.

    Parameters
    ----------
    sides
        The places of rows and columns: atoms, residues or groups.
    labels
        Labels of the axes of rows and columns.
    quantity
        Quantity of the colours.
    is_signed
        Whether 0 means something: colours begin there, or are symmetric about it.
    """
    # Compressed: the bar of colours is as high as the map beside it.
    axes = axes_of(ax, (5.8, 4.8), layout="compressed")
    highest = np.abs(values)[np.isfinite(values)].max(initial=0.0) if is_signed else None
    has_both = is_signed and bool((values < 0).any())
    colours = look.colour_map("RdBu_r" if has_both else "viridis")
    _draw_image(axes, values, quantity, colours, highest, has_both=has_both)
    _name_sides(axes, values.shape, sides, labels)
    return finish(axes, ax, look, is_image=True)


def _draw_image(
    axes: "Axes",
    values: NDArray[np.float64],
    quantity: str,
    colours: str,
    highest: float | None = None,
    *,
    has_both: bool = False,
) -> None:
    """Draw a matrix of pairs with a scale of its colours, from 0 to the `highest` if it is given.

    If there are numbers of both signs, it begins at minus the highest.

    Values that are not finite are grey.
    """
    axes.set_facecolor("0.85")
    image = axes.imshow(
        np.ma.masked_invalid(values),
        origin="lower",
        cmap=colours,
        vmin=None if highest is None else -highest if has_both else 0,
        vmax=highest,
        aspect="equal" if _is_square(values.shape) else "auto",
        interpolation="nearest",
    )
    figure_of(axes).colorbar(image, ax=axes, label=wrapped(quantity, height_of(axes)))


def _is_square(shape: tuple[int, ...]) -> bool:
    """Return whether the pixels of an image are squares: not of one that is much too narrow."""
    return max(shape) <= 3 * min(shape)


def _name_sides(
    axes: "Axes", shape: tuple[int, ...], sides: Sequence[ResultAxis], labels: tuple[str, str]
) -> None:
    """Name rows and columns of an image, and draw lines between chains."""
    width, height = width_of(axes), height_of(axes)
    if _is_square(shape):
        pixel = min(width / shape[1], height / shape[0])
        width, height = pixel * shape[1], pixel * shape[0]
    # Names on one side beside numbers on the other would be read as something else.
    of_axes = [(axes.yaxis, sides[0], height), (axes.xaxis, sides[1], width)]
    has_names = all(has_room(*one) for one in of_axes)
    are_numbered = [name_places(*one, has_names=has_names) for one in of_axes]
    y, x = (
        numbered(label) if has else label for label, has in zip(labels, are_numbered, strict=True)
    )
    draw_chains_of_image(axes, sides[0], "y")
    draw_chains_of_image(axes, sides[1], "x")
    label_axes(axes, x, y)


def contact_map(
    result: Numbers, labels: tuple[str, str], ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw fractions of frames (`(n_rows, n_columns)`) as an image, or those of one row as bars.

    Of many bars, those of pairs that are never in contact are left out. In images, pairs that are
    left out are grey. Without `ax`, an image of intervals is beside that of the fractions, if some
    are drawn.

    Parameters
    ----------
    labels
        Labels of the axes of rows and columns.
    """
    values = result.values
    halves = look.intervals(values, result.half_widths, result.resolved, are_curves=False)
    if 1 in values.shape:
        one, others = result.axes if values.shape[0] == 1 else result.axes[::-1]
        return along(
            others,
            np.nan_to_num(values.ravel()),
            halves.ravel(),
            quantity=f"fraction in contact with {one.labels()[0]}",
            is_bars=True,
            by_name=True,
            highest=1.0,
            ax=ax,
            look=look,
        )
    if ax is None and np.isfinite(halves).any():
        figure = new_figure((10.6, 4.8), panels=2, layout="compressed")
        panels = list(figure.subplots(1, 2, sharey=True))
    else:
        panels = [axes_of(ax, (5.8, 4.8), layout="compressed")]
    _draw_image(panels[0], values, "fraction of frames", look.colour_map("Blues"), 1.0)
    for axes in panels[1:]:
        _draw_image(axes, halves, "± 95 %", "Oranges", float(np.nanmax(halves)) or 1.0)
    for axes in panels:
        _name_sides(axes, values.shape, result.axes, labels)
        if ax is None:
            axes.label_outer()
    return finish(panels, ax, look, is_image=True, half_widths=halves)


def frame_pairs(
    values: NDArray[np.float32],
    rows: tuple[NDArray[np.float64], NDArray[np.int64]],
    columns: tuple[NDArray[np.float64], NDArray[np.int64]] | None,
    *,
    quantity: str,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw a matrix of pairs of frames as an image, the first frame at the lower left.

    Parameters
    ----------
    values
        `(n_rows, n_columns)`. Of more than 2000 frames only every k-th is drawn.
    rows, columns
        Times and frame numbers of the frames; None for the columns of a matrix within one
        trajectory.
    quantity
        Quantity that the colours show.
    labels
        The selection, or those of rows and columns.
    """
    # Compressed: the bar of colours is as high as the image beside it.
    axes = axes_of(ax, (5.6, 4.6), layout="compressed")
    sides = [columns or rows, rows]
    steps = [-(-len(frames) // MAX_PIXELS) or 1 for _, frames in sides]
    shown = np.ma.masked_invalid(np.asarray(values[:: steps[1], :: steps[0]]))
    extent: list[float] = []
    for (times, frames), axis, label in zip(
        sides, (axes.xaxis, axes.yaxis), (labels[-1], labels[0]), strict=True
    ):
        if axis is axes.xaxis:
            x, x_label = even_time_axis(axes, times, frames)
        else:
            x, x_label = even_times(times, frames)
        half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
        extent += [x[0] - half, x[-1] + half] if len(x) else [0.0, 1.0]
        length = height_of(axes) if axis is axes.yaxis else width_of(axes)
        axis.set_label_text(x_label if columns is None else wrapped(f"{x_label}, {label}", length))
    image = axes.imshow(
        shown,
        origin="lower",
        cmap=look.colour_map("viridis"),
        extent=(extent[0], extent[1], extent[2], extent[3]),
        aspect="equal" if columns is None else "auto",
        interpolation="nearest",
        vmin=0,
    )
    figure_of(axes).colorbar(image, ax=axes, label=quantity)
    return finish(axes, ax, look, is_image=True)
