"""`Cursor`: some atoms of a trajectory, one frame at a time."""

import os
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Self
from weakref import WeakSet, finalize

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import FrameError
from trajet.box import Box
from trajet.report_entries import Counts
from trajet.trajectory.array_pool import ArrayPool
from trajet.trajectory.atom_index import frame_number
from trajet.trajectory.source import FrameSource

if TYPE_CHECKING:
    from trajet.h5md import Numbers

# Cursors that may read ahead.
_alive: "WeakSet[Cursor]" = WeakSet()


def _pause_all() -> None:
    """Pause reading ahead: a forked process cannot release the locks of threads that it lacks."""
    for cursor in list(_alive):
        cursor.pause()


os.register_at_fork(before=_pause_all)


class Cursor:
    """Some atoms of a trajectory, one frame at a time, in any order; made by `Trajectory.cursor`.

    The atoms are prepared once. After a few frames with the same distance, a thread decodes the
    frames that follow, so that they are ready when they are asked for.

    Attributes
    ----------
    n_atoms
        Number of atoms; may be 0.
    n_frames
        Number of frames.
    frame
        Number of the current frame; -1 before the first.
    time, step
        Its time, ps, and its integration step.
    cell
        `(6,)`, float64: a, b, c (Å), α, β, γ (degrees); NaN without a cell.
    vectors
        `(3, 3)`, float64: the box vectors row by row, Å, if the box is rotated; else None.
    periodic
        `(3,)`, bool: whether the cell is periodic along a, b and c; False without a cell.
    origin
        `(3,)`, float64: the corner at which the cell begins, Å; None for 0.
    positions, velocities, forces
        `(n_atoms, 3)`, float32: Å, Å/ps, kJ/(mol Å). None unless asked for. NaN if the frame has
        none. The next frame has other arrays if the caller holds these.
    has_positions, has_velocities, has_forces
        Whether the frame has what was asked for; False for what was not.
    """

    def __init__(
        self,
        source: FrameSource,
        columns: NDArray[np.int64] | None,
        *,
        positions: bool,
        velocities: bool,
        forces: bool,
        read_ahead: bool,
    ) -> None:
        self._source, self._columns = source, columns
        self.n_atoms = source.n_atoms if columns is None else len(columns)
        self.n_frames = source.n_frames
        # Every frame may be asked for: jumps are counted through all of them.
        reader = source.reader_for((0, 1, self.n_frames), columns, call_frames=1)
        self._native = _trajet.Cursor(
            reader,
            columns,
            positions=positions,
            velocities=velocities,
            forces=forces,
            reads_ahead=read_ahead,
        )

        wanted = {"positions": positions, "velocities": velocities, "forces": forces}
        shape = (self.n_atoms, 3)
        self._pools = {name: ArrayPool(shape) for name, is_read in wanted.items() if is_read}
        self._arrays = {name: pool.array() for name, pool in self._pools.items()}
        for values in self._arrays.values():
            values.fill(np.nan)
        self._is_reading = Lock()
        self.frame, self.time, self.step = -1, float("nan"), 0
        self.cell: NDArray[np.float64] = np.full(6, np.nan)
        self.vectors: NDArray[np.float64] | None = None
        self.periodic: NDArray[np.bool_] = np.zeros(3, np.bool_)
        self.origin: NDArray[np.float64] | None = None
        self.has_positions = self.has_velocities = self.has_forces = False
        _alive.add(self)
        # Also at the end of a program, and when nothing refers to the cursor any more.
        self._end = finalize(self, _end, self._native, source.files.count_read, columns)

    def __repr__(self) -> str:
        where = "before the first frame" if self.frame < 0 else f"at frame {self.frame}"
        return f"<Cursor {self._source.label}: {self.n_atoms} atoms, {where}>"

    def read(self, frame: int, out: NDArray[np.float32] | None = None) -> Self:
        """Read a frame, and return this cursor.

        Parameters
        ----------
        frame
            Its number; negative numbers count from the end.
        out
            An array `(n_atoms, 3)`, float32, C order, that receives the positions and becomes
            `positions`.

        Raises
        ------
        FrameError
            If there is no such frame.
        FormatError
            If the frame is corrupt.
        StaleIndexError
            If the index does not match the frames; the index file is removed.
        ValueError
            If the cursor is closed, `out` has another shape, or no positions are read.
        RuntimeError
            If another thread is reading a frame with this cursor.
        """
        number = frame_number(frame)
        if number < 0:
            number += self.n_frames
        if not 0 <= number < self.n_frames:
            raise FrameError(
                f"{self._source.label}: frame {frame} is out of range: the trajectory has"
                f" {self.n_frames} frames, 0 to {self.n_frames - 1}"
            )
        if not self._end.alive:
            raise ValueError(f"this cursor of {self._source.label} is closed")
        if out is not None and ("positions" not in self._pools or out.shape != (self.n_atoms, 3)):
            raise ValueError(f"out must be an array of shape {(self.n_atoms, 3)} for the positions")
        if not self._is_reading.acquire(blocking=False):
            raise RuntimeError(
                f"{self._source.label}: another thread reads a frame with this cursor: give each"
                " thread a cursor of its own, or a copy of the Universe (u.copy())"
            )
        try:
            for name, pool in self._pools.items():
                # An array of the last frame that nobody else holds is used again.
                self._arrays.pop(name, None)
                self._arrays[name] = pool.array() if out is None or name != "positions" else out
            with self._source.files.stale_index_removed():
                got = self._native.read(number, *self._arrays.values())
        finally:
            self._is_reading.release()
        self.frame = number
        self.time, self.step, self.cell, vectors, self.periodic, self.origin, present = got
        self.vectors = None if vectors is None else vectors.reshape(3, 3)
        self.has_positions, self.has_velocities, self.has_forces = present
        return self

    @property
    def box(self) -> Box:
        """The box of the current frame."""
        return Box.of_cell(self.cell, self.vectors, self.periodic, self.origin)

    @property
    def positions(self) -> NDArray[np.float32] | None:
        """Positions of the current frame."""
        return self._arrays.get("positions")

    @property
    def velocities(self) -> NDArray[np.float32] | None:
        """Velocities of the current frame."""
        return self._arrays.get("velocities")

    @property
    def forces(self) -> NDArray[np.float32] | None:
        """Forces on the atoms in the current frame."""
        return self._arrays.get("forces")

    def __iter__(self) -> Iterator[Self]:
        for frame in range(self.n_frames):
            yield self.read(frame)

    def __len__(self) -> int:
        return self.n_frames

    def __bool__(self) -> bool:
        return True

    def observables(self) -> "Numbers":
        """Return λ and observables of the current frame; see `Trajectory.observables`."""
        return self._source.observables(self.frame)

    @property
    def counts(self) -> "_trajet.CursorCounts":
        """Counts of reading so far: requests, bytes, frames and atoms, also of frames read ahead.

        `frames_ahead` is the number of frames that had been read ahead when they were asked for.
        """
        return self._native.counts()

    def pause(self) -> None:
        """Pause reading ahead until frames follow one another again.

        This happens by itself before the process forks.
        """
        self._native.pause()

    def close(self) -> None:
        """End reading ahead; further frames cannot be read.

        Closing is optional: the thread ends when nothing refers to the cursor any more.
        """
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(
    native: "_trajet.Cursor",
    count_read: Callable[[NDArray[np.int64] | None, Counts], None],
    columns: NDArray[np.int64] | None,
) -> None:
    """End reading ahead, and record what was read."""
    native.stop()
    count_read(columns, native.counts())
