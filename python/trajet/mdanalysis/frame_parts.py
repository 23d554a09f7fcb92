"""Unit cells and copies of time steps of MDAnalysis."""

import warnings

import numpy as np
from MDAnalysis.coordinates.timestep import Timestep
from numpy.typing import NDArray

from trajet import FormatError
from trajet.mdanalysis.timestep import LazyTimestep
from trajet.trajectory.cursor import Cursor


def check_cell(cursor: Cursor, filename: object) -> None:
    """Raise an error if the box is rotated, which six numbers cannot say.

    Raises
    ------
    FormatError
        If it is.
    """
    if cursor.vectors is not None and is_turned(cursor.vectors):
        raise FormatError(
            f"{filename}: frame {cursor.frame}: the first box vector is not along x, or the second"
            " not in the x-y plane: a Universe would turn the box and not the atoms: rotate both"
            ' (trajet.open(…).transform, or "gmx trjconv"), or read the file with strict=False'
        )


def set_cell(ts: LazyTimestep, cell: NDArray[np.float64], frame: int) -> None:
    """Set the unit cell of a time step; not a number: no cell."""
    # Angles that were never written are zeros.
    if cell[0] != cell[0] and cell[3] == 0:
        warnings.warn(
            f"frame {frame}: its unit cell was never written (cell_lengths or cell_angles hold"
            " NetCDF's fill value): dimensions are None in such frames, so that analyses take no"
            " nearest images: leave them out",
            stacklevel=2,
        )
    ts._unitcell[:] = cell if cell[0] == cell[0] else 0


def is_turned(vectors: NDArray[np.float64]) -> bool:
    """Return whether a box differs from the one that MDAnalysis makes of lengths and angles."""
    largest = np.abs(vectors).max()
    beside = max(abs(vectors[0, 1]), abs(vectors[0, 2]), abs(vectors[1, 2]))
    # False for NaN, of frames without a box.
    return bool(beside > 1e-6 * largest or (vectors.diagonal() < 0).any())


def copy_frame(source: Timestep, ts: Timestep) -> None:
    """Copy a frame from one time step to another."""
    ts.dimensions = source.dimensions
    for name in ("positions", "velocities", "forces"):
        has = getattr(source, f"has_{name}")
        setattr(ts, f"has_{name}", has)
        if has:
            setattr(ts, name, getattr(source, name))
    ts.data.update(source.data)
    ts.frame = source.frame
