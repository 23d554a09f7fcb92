"""Reading of positions from HDF5 files by HDF5's library through MPI-IO.

After Khoshlessan, Paraskevakos, Fox, Jha and Beckstein (2020), section 3.3
(doi:10.1002/cpe.5789), whose ranks opened one file with the driver `mpio`. Differences:

1. Their file held only the analysed atoms, in a layout of its own. Here it is an H5MD or mdtraj
   file with any atoms.
2. Their ranks read independently. Here ranks may also read collectively.
3. Rank 0 reads and checks the tables and broadcasts the layout.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import (
    FormatError,
    FrameError,
    SelectionError,
    StaleIndexError,
    is_hdf5,
)
from trajet.h5md.library import parallel_h5py
from trajet.h5md.ranks import Communicator, raise_on_all
from trajet.h5md.tables import describe
from trajet.messages import Message

if TYPE_CHECKING:
    from h5py import File

# Largest gap between selected atoms that is read, too: a quarter of a request, as for other files.
_GAP_BYTES = 2**16


class MpioFrames:
    """Frames of an HDF5 trajectory that the ranks of a communicator read through MPI-IO.

    All ranks must create and close it at the same time. For collective reads, every rank must call
    `read` equally often, without frames if it has none left (`ranks.shares` divides frames so). A
    rank that fails leaves the others waiting: start programs with `python -m mpi4py`, which then
    aborts all ranks.

    Parameters
    ----------
    path
        An H5MD file, or one of mdtraj.
    comm
        A communicator of mpi4py.
    collective
        Whether ranks read collectively.
    particles, units, allow_truncated_tail
        As for `trajet.open`.

    Attributes
    ----------
    path
        The file.
    n_frames, n_atoms
        Numbers of frames and atoms.
    times, steps
        `(n_frames,)`, float64, ps; int64.
    cells
        `(n_frames, 6)`, float64: a, b, c (Å), α, β, γ (degrees); NaN in frames without a cell.
    turned
        `(n_frames, 9)`, float64, Å: vectors of rotated boxes, NaN in other frames; None if no frame
        has such a box.
    periodic
        `(3,)`, bool: whether the cells are periodic along a, b and c.
    chunk_frames
        Frames of a chunk; reading is fastest in multiples of it.
    messages
        Warnings and notes on the file.

    Raises
    ------
    MissingPackageError
        If h5py is not installed, or was built without MPI.
    FormatError, TruncatedError, ValueError, OSError
        As for `trajet.open`; an error of one rank is raised on all.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> with MpioFrames("run.h5md", MPI.COMM_WORLD) as frames:  # doctest: +SKIP
    ...     positions, cells = frames.read(range(0, 100))
    """

    def __init__(
        self,
        path: str | Path,
        comm: Communicator,
        *,
        collective: bool = False,
        particles: str | None = None,
        units: dict[str, str] | None = None,
        allow_truncated_tail: bool = False,
    ) -> None:
        self.path = Path(path)
        with raise_on_all(comm):
            module = parallel_h5py(str(path))
            described: _Layout | None = None
            if comm.rank == 0:
                described = _layout(
                    self.path,
                    particles=particles,
                    units=units,
                    allow_truncated_tail=allow_truncated_tail,
                )
        layout = comm.bcast(described)
        assert layout is not None
        self.n_frames: int = len(layout["times"])
        self.n_atoms: int = layout["n_atoms"]
        self.times: NDArray[np.float64] = layout["times"]
        self.steps: NDArray[np.int64] = layout["steps"]
        self.cells: NDArray[np.float64] = layout["cells"]
        self.turned: NDArray[np.float64] | None = layout["turned"]
        self.periodic: NDArray[np.bool_] = layout["periodic"]
        self.chunk_frames: int = layout["chunk_frames"]
        self.messages: tuple[Message, ...] = layout["messages"]
        self._factor = np.float32(layout["factor"])
        # No context manager: after an error of one rank, the others must not close the file alone.
        self._file: File = None
        with raise_on_all(comm):
            self._file = module.File(self.path, "r", driver="mpio", comm=comm)
        with raise_on_all(comm):
            self._dataset = self._file[layout["dataset"]]
            if (self._dataset.shape, self._dataset.dtype) != (layout["shape"], layout["dtype"]):
                raise StaleIndexError(f"{path}: it changed while it was opened: open it again")
            self._transfer = module.h5p.create(module.h5p.DATASET_XFER)
            if collective:
                self._transfer.set_dxpl_mpio(module.h5fd.MPIO_COLLECTIVE)
        self._spaces = module.h5s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()

    def close(self) -> None:
        """Close the file; every rank must call this."""
        self._file.close()

    def read(
        self,
        frames: range | NDArray[np.int64],
        atoms: Sequence[int] | NDArray[np.generic] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Read positions, with the same bits as `Trajectory.read`.

        Parameters
        ----------
        frames
            Frame numbers in any order. Without frames nothing is read, but the rank takes part in a
            collective read.
        atoms
            Atom indices, in any order; None for all.

        Returns
        -------
        positions
            `(n_frames, n_atoms, 3)`, float32, Å.
        cells
            `(n_frames, 6)`, float64, Å and degrees.

        Raises
        ------
        FrameError, SelectionError
            If a frame or an atom is out of range.
        FormatError
            If HDF5 cannot read the file.
        """
        wanted = np.asarray(frames, np.int64)
        if (wrong := wanted[(wanted < 0) | (wanted >= self.n_frames)]).size:
            raise FrameError(
                f"{self.path}: frame {wrong[0]} is out of range: the trajectory has"
                f" {self.n_frames} frames, 0 to {self.n_frames - 1}"
            )
        rows, row_of = _in_order(wanted)
        indices = np.arange(self.n_atoms) if atoms is None else np.asarray(atoms, np.int64)
        if (wrong := indices[(indices < 0) | (indices >= self.n_atoms)]).size or not indices.size:
            raise SelectionError(
                f"{self.path}: atom {wrong[0] if wrong.size else 'none'} is out of range: the"
                f" trajectory has {self.n_atoms} atoms, 0 to {self.n_atoms - 1}"
            )
        sorted_atoms, atom_of = _in_order(indices)
        gap = _GAP_BYTES // (3 * self._dataset.dtype.itemsize)
        spans = atom_ranges(sorted_atoms, gap)
        stored = self._stored(rows, spans)
        # In the order of the native reader: rounded to single precision, then multiplied.
        positions = stored.astype(np.float32, copy=False)
        if self._factor != 1:
            positions *= self._factor
        read = np.concatenate([np.arange(begin, end) for begin, end in spans])
        if len(read) != len(indices) or atom_of is not None:
            columns = np.searchsorted(read, indices)
            positions = positions[:, columns]
        if row_of is not None:
            positions = positions[row_of]
        return np.ascontiguousarray(positions), self.cells[wanted]

    def _stored(self, rows: NDArray[np.int64], spans: list[tuple[int, int]]) -> NDArray[np.generic]:
        """Read atoms of rows in their stored type: collective reads cannot convert types."""
        n_atoms = sum(end - begin for begin, end in spans)
        stored = np.empty((len(rows), n_atoms, 3), self._dataset.dtype)
        space = self._dataset.id.get_space()
        memory = self._spaces.create_simple(stored.shape if stored.size else (1,))
        if not stored.size:
            memory.select_none()
            space.select_none()
        operation = self._spaces.SELECT_SET
        for first, step, count in strides(rows):
            for begin, end in spans:
                space.select_hyperslab(
                    (first, begin, 0),
                    (count, 1, 1),
                    (step, 1, 1),
                    (1, end - begin, 3),
                    op=operation,
                )
                operation = self._spaces.SELECT_OR
        into = stored if stored.size else np.empty(1, stored.dtype)
        try:
            self._dataset.id.read(memory, space, into, self._dataset.id.get_type(), self._transfer)
        except (OSError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise FormatError(
                f"{self.path}: HDF5 cannot read frames {rows[0] if len(rows) else 'none'} to"
                f" {rows[-1] if len(rows) else 'none'} ({reason}): copy the file again"
            ) from error
        return stored


class _Layout(TypedDict):
    """Properties of a file that ranks need to read it."""

    n_atoms: int
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    cells: NDArray[np.float64]
    turned: NDArray[np.float64] | None
    periodic: NDArray[np.bool_]
    chunk_frames: int
    messages: tuple[Message, ...]
    factor: float
    dataset: str
    shape: tuple[int, ...]
    dtype: np.dtype


def _layout(
    path: Path,
    *,
    particles: str | None,
    units: dict[str, str] | None,
    allow_truncated_tail: bool,
) -> _Layout:
    """Return the layout of a file for the ranks, after all checks of the native reader."""
    # Raises FileNotFoundError for a missing file.
    path.stat()
    if not is_hdf5(path):
        raise FormatError(f"{path}: not an HDF5 file: convert it to .h5md, or read it with open()")
    found = describe(
        path, particles=particles, units=units, allow_truncated_tail=allow_truncated_tail
    )
    series = found["positions"]
    if series is None:
        raise FormatError(f"{path}: it holds no positions")
    reader = _trajet.Reader(
        [path],
        continuous=False,
        allow_truncated_tail=allow_truncated_tail,
        request_size=2**18,
        sidecar=False,
        rebuild_index=False,
        cache=None,
        threads=1,
        progress=None,
        described={path: found},
    )
    n = reader.n_frames
    boxes, turned = found["boxes"], None
    if (damaged := np.isinf(boxes).any(axis=1)).any():
        raise FormatError(
            f"{path}: frame {damaged.argmax()}: its box has a number that is not finite"
        )
    if boxes.shape[1] == 9:
        boxes, turned = _trajet.cells_of_vectors(boxes)
    storage = series["storage"]
    return {
        "n_atoms": reader.n_atoms,
        "times": reader.times(),
        "steps": reader.steps(),
        "cells": np.full((n, 6), np.nan) if not len(boxes) else _of_frames(boxes, n),
        "turned": None if turned is None else _of_frames(turned, n),
        "periodic": np.array([True] * 3 if found["own"] is None else found["own"]["periodic"]),
        "chunk_frames": storage["shape"][0] if isinstance(storage, dict) else 1,
        "messages": tuple(reader.messages),
        "factor": series["factor"],
        "dataset": series["dataset"],
        "shape": series["shape"],
        "dtype": series["dtype"],
    }


def _of_frames(boxes: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the boxes of `n` frames; a constant box is repeated."""
    return np.repeat(boxes, n, axis=0) if len(boxes) == 1 else boxes[:n]


def _in_order(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Return sorted unique numbers and the index of each number in them, None if unchanged."""
    if (np.diff(numbers) > 0).all():
        return numbers, None
    return np.unique(numbers, return_inverse=True)


def atom_ranges(atoms: NDArray[np.int64], gap: int) -> list[tuple[int, int]]:
    """Return the ranges `(first, end)` of atoms to read for ascending atom indices.

    Parameters
    ----------
    atoms
        Ascending atom indices, at least one.
    gap
        Largest number of atoms between selected ones that are read, too.
    """
    cuts = np.flatnonzero(np.diff(atoms) > gap + 1) + 1
    borders = [0, *cuts.tolist(), len(atoms)]
    return [(int(atoms[a]), int(atoms[b - 1]) + 1) for a, b in pairwise(borders)]


def strides(rows: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return ascending rows as (first, step, count); a single one if they are evenly spaced."""
    if not len(rows):
        return []
    distances = np.diff(rows)
    if not len(distances) or (distances == distances[0]).all():
        return [(int(rows[0]), int(distances[0]) if len(distances) else 1, len(rows))]
    return [(begin, 1, end - begin) for begin, end in atom_ranges(rows, 0)]
