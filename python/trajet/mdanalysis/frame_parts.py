"""Unit cells and copies of time steps of MDAnalysis."""

import warnings

import numpy as np
from MDAnalysis.coordinates.timestep import Timestep
from numpy.typing import NDArray

from trajet.mdanalysis.conventions import Convention
from trajet.mdanalysis.timestep import LazyTimestep
from trajet.trajectory.cursor import Cursor


def set_cell(ts: LazyTimestep, cursor: Cursor, convention: Convention) -> None:
    """Set the unit cell of a time step."""
    cell = cursor.cell
    # Angles that were never written are zeros.
    if cell[0] != cell[0] and cell[3] == 0:
        warnings.warn(
            f"frame {cursor.frame}: its unit cell was never written (cell_lengths or cell_angles"
            " hold NetCDF's fill value): dimensions are None in such frames, so that analyses take"
            " no nearest images: leave them out",
            stacklevel=2,
        )
    ts._unitcell[:] = convention.dimensions(cell, cursor.vectors, cursor.periodic)


def warn_of_turned_cell(filename: object, frame: int, cell: NDArray[np.float64]) -> None:
    """Warn that a box is rotated, which lengths and angles cannot say."""
    numbers = ", ".join(f"{x:.4g}" for x in cell)
    warnings.warn(
        f"{filename}: frame {frame}: the box ({numbers}) is rotated (as CHARMM writes crystals):"
        " its first vector is not along x, or the second not in the x-y plane. dimensions have its"
        " lengths and angles, of which MDAnalysis makes a box that is not rotated: nearest images"
        " and wrapped positions are wrong. For these, use trajet.open, which keeps the vectors",
        stacklevel=2,
    )


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
