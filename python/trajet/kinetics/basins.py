"""Basins of free energies, and the frames in them: `frames_in`."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FrameError
from trajet.checked_numbers import whole_number
from trajet.kinetics.bins import Region, cells_of, in_region
from trajet.kinetics.coordinates import Series, are_rows_of_files, coordinates_of
from trajet.result import Table

if TYPE_CHECKING:
    from trajet.result import EnsembleResult

    Runs = EnsembleResult[Table] | tuple[EnsembleResult[Table], str | int]


def basins_of(
    values: NDArray[np.float64], closed: Sequence[bool], depth: float
) -> NDArray[np.int64]:
    """Return the basin of each bin, from 0, the deepest, on; -1 of empty bins.

    A watershed: bins are flooded from the lowest to the highest. Each belongs to the basin of its
    lowest neighbour, also across a corner. Where two basins meet, they become one if the shallower
    one is less deep than `depth` (F. Meyer, Signal Process. 38, 113 (1994),
    doi:10.1016/0165-1684(94)90060-4, on flooding).

    Parameters
    ----------
    values
        Free energies, of one or two dimensions; NaN of empty bins.
    closed
        Whether the last bin of each dimension borders on the first one.
    depth
        In the units of the values.
    """
    flat = values.ravel()
    near = _neighbours(values.shape, closed)
    joined: list[int] = []
    lowest: list[float] = []
    owner = np.full(len(flat), -1)

    def root(basin: int) -> int:
        while joined[basin] != basin:
            joined[basin] = basin = joined[joined[basin]]
        return basin

    order = np.argsort(flat, kind="stable")[: np.count_nonzero(np.isfinite(flat))]
    for bin_ in order.tolist():
        around = near[bin_]
        around = around[(around >= 0) & (owner[around] >= 0)]
        if not len(around):
            owner[bin_] = len(joined)
            joined.append(len(joined))
            lowest.append(float(flat[bin_]))
            continue
        owner[bin_] = owner[around[flat[around].argmin()]]
        first, *others = sorted({root(basin) for basin in owner[around].tolist()})
        for other in others:
            if flat[bin_] - lowest[other] < depth:
                joined[other] = first
    # Basins began in the order of their depths.
    roots = np.array([root(basin) for basin in range(len(joined))], np.int64)
    _, numbers = np.unique(roots, return_inverse=True)
    found: NDArray[np.int64] = np.append(numbers, -1)[owner].reshape(values.shape)
    return found


def _neighbours(shape: tuple[int, ...], closed: Sequence[bool]) -> NDArray[np.int64]:
    """Return the neighbours of each bin of the flat array, `(n_bins, n)`; -1 for none."""
    places = np.indices(shape).reshape(len(shape), -1)
    sizes, wraps = np.array(shape)[:, None], np.array(closed)[:, None]
    found = []
    for step in product((-1, 0, 1), repeat=len(shape)):
        if any(step):
            moved = places + np.array(step)[:, None]
            is_there = np.all(((moved >= 0) & (moved < sizes)) | wraps, axis=0)
            found.append(np.where(is_there, np.ravel_multi_index(moved % sizes, shape), -1))
    return np.stack(found, axis=1)


@overload
def frames_in(
    free_energy: Table,
    x: "Table | tuple[Table, str | int]",
    y: "Table | tuple[Table, str | int] | None" = None,
    *,
    basin: int | None = None,
    region: Region | None = None,
) -> NDArray[np.int64]: ...


@overload
def frames_in(
    free_energy: Table,
    x: "Runs",
    y: "Runs | None" = None,
    *,
    basin: int | None = None,
    region: Region | None = None,
) -> list[NDArray[np.int64]]: ...


def frames_in(
    free_energy: Table,
    x: Series,
    y: Series | None = None,
    *,
    basin: int | None = None,
    region: Region | None = None,
) -> NDArray[np.int64] | list[NDArray[np.int64]]:
    """Return the frames in a basin or a region of a free energy, as `frames=` takes them.

    Parameters
    ----------
    free_energy
        What `free_energy` returned, or `load` of its file.
    x, y
        Coordinates, as `free_energy` took them.
    basin
        Number of a basin, from 0, the deepest: all of its bins.
    region
        A number or a range along each coordinate, such as `(-60, -45)`, the bin at this place, or
        `((-100, -30), (-80, 0))`. On a circle, ranges go from the first angle in rising direction
        to the second: `(150, -150)` has 180 in its middle, and `(-180, 180)` all angles.

    Returns
    -------
    ndarray, or list of ndarray
        `(n,)`, int64, numbers of frames; of members of an ensemble one array each.

    Raises
    ------
    ValueError
        If neither or both of `basin` and `region` are given, there is no such basin or region, or
        coordinates are others than those of the free energy.
    FrameError
        If coordinates are rows of a file, which `series.at(trajectory)` has not joined to frames.

    Examples
    --------
    >>> import trajet as tj
    >>> angles = tj.dihedrals(traj.select("protein"))
    >>> phi, psi = (angles, "phi GLY10"), (angles, "psi GLY10")
    >>> energy = tj.free_energy(phi, psi, temperature=300)
    >>> lowest = tj.frames_in(energy, phi, psi, basin=0)
    >>> tj.convert(traj, "lowest.xtc", frames=lowest).n_frames == len(lowest)
    True
    """
    if (basin is None) == (region is None):
        raise ValueError("give either basin, the number of a basin, or region")
    of = coordinates_of(x, y)
    if are_rows_of_files(of):
        raise FrameError(
            f"{' and '.join(one.quantity for one in of)}: these are rows of a file, not frames of a"
            " trajectory: join the series with series.at(trajectory) first"
        )
    axes = free_energy.axes
    names = [axis.label for axis in axes]
    given = [f"{one.quantity} ({one.units})" if one.units else one.quantity for one in of]
    if "basin" not in free_energy.also or names != given:
        raise ValueError(
            f"a free energy of {' and '.join(names)}, and coordinates {' and '.join(given)}: give"
            " those of which it was computed"
        )
    basins = free_energy.also["basin"].ravel()
    if basin is not None:
        whole_number(basin, "basin", least=0, most=int(basins.max()))
    found = []
    for table, *values in zip(of[0].tables, *(one.values for one in of), strict=True):
        if region is not None:
            chosen = in_region(axes, values, region)
        else:
            cells = cells_of(axes, values)
            chosen = (cells >= 0) & (basins[cells] == basin)
        found.append(table.frames[chosen])
    return found if of[0].runs != ("",) else found[0]
