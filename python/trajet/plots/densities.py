"""Figures of densities on a grid: projections along the axes, relative to the bulk of a solvent."""

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import Numbers
from trajet.plots.drawing import (
    CHARACTER_INCHES,
    USUAL_INCHES,
    character_inches,
    check_axes,
    figure_of,
    finish,
    height_of,
    is_size_given,
    new_figure,
    unbroken,
    wrapped,
)
from trajet.plots.look import PLAIN, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Axes of the grid along x and y of each panel.
_SIDES = ((0, 1), (0, 2), (1, 2))
# Width of a figure of three panels, and what of it and of the height is no panel, inches.
_WIDTH, _BESIDE, _BELOW = 11.0, 1.8, 1.5
# Voxels along each edge of a block, whose mean is not that of single atoms.
_BLOCK = 3
# Blocks of a solvent have more than this part of the density of dense ones, and are this part of
# all blocks of the cell.
_DENSE_PART, _MIN_PART = 0.5, 0.6
_DENSE_QUANTILE = 0.95
# Part of the voxels of a grid that a solvent has atoms in; triclinic cells fill half of theirs.
_MIN_FILLED = 0.4
_MIN_PLANES = 6
# Part of the columns of a solvent within the range of colours.
_SHOWN_QUANTILE = 0.995


def projections(
    result: Numbers, name: str, unit: str, ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw the mean of a grid (`(nx, ny, nz)`) along z, y and x, as three images of one height.

    A density that fills most of the cell is drawn relative to that of its bulk, and its means are
    those of the voxels within the cell. Columns of voxels without atoms are left white. Into given
    axes, only the mean along z is drawn.

    Parameters
    ----------
    name, unit
        Name and unit of the values.
    """
    check_axes(ax)
    values = result.values
    edges = [cast("NDArray[np.float64]", axis.edges) for axis in result.axes]
    bulk = bulk_density(values)
    means = [_mean_along(values, axis, of_cell=bulk is not None) for axis in (2, 1, 0)]
    if bulk is not None:
        means = [mean / bulk for mean in means]
    label = f"mean {name} ({unit})"
    if bulk is not None:
        label = f"{name} / bulk {unbroken(f'(bulk: {bulk:.3g} {unit})')}"
    if ax is None:
        lengths = [float(edge[-1] - edge[0]) for edge in edges]
        ratios = [lengths[one] / lengths[other] for one, other in _SIDES]
        figure = new_figure((_WIDTH, USUAL_INCHES[1]), panels=3, layout="compressed")
        if not is_size_given():
            beside, below = (
                part * character_inches() / CHARACTER_INCHES for part in (_BESIDE, _BELOW)
            )
            figure.set_figheight((figure.get_figwidth() - beside) / sum(ratios) + below)
        panels = list(figure.subplots(1, 3, width_ratios=ratios))
        panels[2].sharey(panels[1])
    else:
        figure, panels = figure_of(ax), [ax]
    means = means[: len(panels)]
    shown = np.concatenate([mean.compressed() for mean in means])
    high = most = float(shown.max(initial=0.0))
    if bulk is not None:
        # Columns at the corners of a cell have few voxels, whose means scatter.
        high = float(np.quantile(shown, _SHOWN_QUANTILE))
    low = min(0.0, float(shown.min(initial=0.0)))
    for axes, mean, (one, other) in zip(panels, means, _SIDES, strict=False):
        image = axes.pcolormesh(
            edges[one],
            edges[other],
            mean.T,
            cmap=look.colour_map("viridis"),
            vmin=low,
            vmax=high or 1.0,
            rasterized=True,
        )
        axes.set_xlabel(f"{'xyz'[one]} (Å)")
        axes.set_ylabel(f"{'xyz'[other]} (Å)")
        axes.set_aspect("equal")
    for axes in panels[2:]:
        axes.tick_params(labelleft=False)
        axes.set_ylabel("")
    figure.colorbar(
        image,
        ax=panels,
        label=wrapped(label, height_of(panels[0]) if ax else figure.get_figwidth()),
        extend="max" if most > high else "neither",
        location="right" if ax else "bottom",
        aspect=20 if ax else 40,
        fraction=0.15 if ax else 0.05,
    )
    return finish(panels, ax, look, is_image=True)


def bulk_density(values: NDArray[np.float64]) -> float | None:
    """Return the density of the bulk of a solvent on a grid (`(nx, ny, nz)`).

    It is the median of the means of blocks of voxels, of those that are not nearly empty as they
    are within a solute.

    Returns
    -------
    float or None
        None if the density fills less than most of the cell, as that of a solute does, or is not
        one of atoms.
    """
    known = np.nan_to_num(values)
    size = min(_BLOCK, *known.shape)
    if (known < 0).any() or not size or not _fills_cell(known > 0):
        return None
    blocks = _means_of_blocks(known, size)
    blocks = blocks[_means_of_blocks(_within(known > 0).astype(np.float64), size) == 1]
    if not blocks.size:
        return None
    dense = blocks[blocks > _DENSE_PART * np.quantile(blocks, _DENSE_QUANTILE)]
    return float(np.median(dense)) if len(dense) >= _MIN_PART * blocks.size else None


def _fills_cell(occupied: NDArray[np.bool_]) -> bool:
    """Return whether atoms fill most of a grid, also close to both of its ends along z.

    Cells have faces at these ends, also triclinic ones; a solute has few atoms there.
    """
    planes = occupied.sum(axis=(0, 1))
    if len(planes) < _MIN_PLANES:
        return False
    ends = min(int(planes[1]), int(planes[-2]))
    return bool(occupied.mean() >= _MIN_FILLED and ends >= _DENSE_PART * np.median(planes))


def _means_of_blocks(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the means of blocks of `size` voxels along each edge; the rest is left out."""
    x, y, z = (n // size for n in values.shape)
    whole = values[: x * size, : y * size, : z * size]
    means: NDArray[np.float64] = whole.reshape(x, size, y, size, z, size).mean(axis=(1, 3, 5))
    return means


def _within(occupied: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which voxels lie between occupied ones along each of the axes, as those of a cell."""
    within = np.ones_like(occupied)
    for axis in range(3):
        before = np.logical_or.accumulate(occupied, axis=axis)
        after = np.flip(np.logical_or.accumulate(np.flip(occupied, axis), axis=axis), axis)
        within &= before & after
    return within


def _mean_along(
    values: NDArray[np.float64], axis: int, *, of_cell: bool
) -> "np.ma.MaskedArray[tuple[int, ...], np.dtype[np.float64]]":
    """Return means along an axis, of all voxels or of those within the cell; masked if empty."""
    known = np.nan_to_num(values)
    counts = _within(known > 0).sum(axis=axis) if of_cell else np.full(1, values.shape[axis])
    means = known.sum(axis=axis) / np.maximum(counts, 1)
    return np.ma.masked_where((known == 0).all(axis=axis), means)
