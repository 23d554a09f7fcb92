"""Figures of pairs of atoms, residues or frames as matrices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    axes_of,
    figure_of,
    height_of,
    name_ticks,
    new_figure,
    titled,
    width_of,
    wrapped,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.residues import draw_chains_of_image
from trajet.plots.shared_axes import even_time_axis, even_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Frames of an image of pairs along each side, at most.
MOST_PIXELS = 2000


def matrix(
    values: NDArray[np.float64],
    rows: NDArray[np.str_],
    columns: NDArray[np.str_],
    *,
    quantity: str,
    axes: tuple[str, str],
    ax: "Axes | None" = None,
    of: str = "atom",
    look: Look = PLAIN,
) -> "Figure":
    """Draw a matrix of pairs (`(n_rows, n_columns)`) as an image, the first row at the bottom.

    Parameters
    ----------
    rows, columns
        Labels of the atoms, or names of groups.
    quantity
        Quantity of the colours.
    axes
        Selection of the rows and of the columns.
    of
        Noun for a row or a column.
    """
    drawn = axes_of(ax, (5.6, 4.6))
    image = drawn.imshow(
        values,
        origin="lower",
        cmap=look.colour_map("viridis"),
        aspect="auto",
        interpolation="nearest",
    )
    titled(drawn, look.only_title(""))
    drawn.figure.colorbar(image, ax=drawn, label=quantity)
    for axis, atoms, label in (
        (drawn.yaxis, rows, axes[0]),
        (drawn.xaxis, columns, axes[1]),
    ):
        name_ticks(axis, atoms.tolist(), turned=axis is drawn.xaxis)
        length = height_of(drawn) if axis is drawn.yaxis else width_of(drawn)
        axis.set_label_text(wrapped(f"{of} ({label})", length))
    return figure_of(drawn)


def contact_map(
    values: NDArray[np.float64],
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    labels: tuple[str, str],
    title: str,
    of: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw fractions of frames (`(n_rows, n_columns)`) as an image, the first row at the bottom.

    Pairs that are left out are grey.

    Parameters
    ----------
    row_names, column_names
        Names of the rows and columns, some of which are shown.
    labels
        Labels of the axes of rows and columns.
    of
        Noun for a row or a column: lines are drawn between chains of residues.
    half_widths
        Longer sides of the intervals of the fractions, in their shape, for a second image; grey
        where they are not known. None, or `ax`, for no such image.
    """
    if ax is None and half_widths is not None:
        # Compressed: bars of colours are as high as the maps beside them.
        figure = new_figure((10.6, 4.8), layout="compressed")
        panels = list(figure.subplots(1, 2, sharey=True))
    else:
        panels = [axes_of(ax, (5.8, 4.8), layout="compressed")]
    drawn = [(values, look.colour_map("Blues"), 1.0, "fraction of frames")]
    if len(panels) == 2 and half_widths is not None:
        largest = float(np.nanmax(half_widths, initial=0.0)) or 1.0
        drawn.append((half_widths, "Oranges", largest, "± 95 % of the fraction"))
    for axes, (numbers, colours, most, bar) in zip(panels, drawn, strict=True):
        axes.set_facecolor("0.85")
        image = axes.imshow(
            np.ma.masked_invalid(numbers),
            origin="lower",
            cmap=colours,
            vmin=0,
            vmax=most,
            aspect="equal" if max(values.shape) <= 3 * min(values.shape) else "auto",
            interpolation="nearest",
        )
        figure_of(axes).colorbar(image, ax=axes, label=bar)
        sides = [(axes.xaxis, column_names, labels[1]), (axes.yaxis, row_names, labels[0])]
        for axis, names, label in sides if axes is panels[0] else sides[:1]:
            name_ticks(axis, names, turned=axis is axes.xaxis)
            length = height_of(axes) if axis is axes.yaxis else width_of(axes)
            axis.set_label_text(wrapped(label, length))
            if of == "residue":
                draw_chains_of_image(axes, names, "y" if axis is axes.yaxis else "x")
    # A narrow map has room beside it.
    titled(panels[0], look.only_title(title), figure_of(panels[0]).get_figwidth() / 2)
    return figure_of(panels[0])


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
    steps = [-(-len(frames) // MOST_PIXELS) or 1 for _, frames in sides]
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
    titled(axes, look.only_title("" if columns else f"pairs of frames, {labels[0]}"))
    return figure_of(axes)
