"""Single frames in the protocol of MDsrv, which NGL and 3Dmol speak.

The protocol (https://github.com/nglviewer/mdsrv, its README): `GET traj/numframes/NAME` returns the
number of frames as text. `POST traj/frame/NUMBER/NAME` returns a frame as little-endian numbers of
four bytes: number of frames (integer), time, the three box vectors (Å), then the positions (Å). The
form field `atomIndices` chooses atoms: ranges `first,last + 1` with semicolons between them.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.box import Box
from trajet.dataset import find_dataset
from trajet.server.table import Table
from trajet.trajectory import Trajectory
from trajet.trajectory import open as open_trajectory
from trajet.trajectory.cursor import Cursor

# Trajectories that are kept open, and selections of each whose preparation is kept.
_TRAJECTORIES = 16
_CURSORS = 4
# Trajectories that are opened at a time: some threads are left for those that are open. Opening
# counts the frames of a file, which may take minutes.
_OPENINGS = 4
# State of a file: inode, size and time of the last change.
_State = tuple[int, int, int]


class RequestError(ValueError):
    """A request that names what is not there or is malformed; its text is sent to the client.

    Attributes
    ----------
    status
        Status of the answer.
    """

    def __init__(self, text: str, status: int = 404) -> None:
        super().__init__(text)
        self.status = status


class OpeningError(RequestError):
    """A trajectory that is being opened for another request, or waits for others to be opened."""

    def __init__(self) -> None:
        super().__init__("the trajectory is being opened: ask again in a while", 503)


@dataclass
class _Entry:
    """A trajectory, the state of its files when it was opened, and cursors by ranges of atoms.

    `lock` is held by the request that reads it; `is_opening` belongs to `Frames`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_opening: bool = False
    trajectory: Trajectory | None = None
    state: _State | None = None
    cursors: OrderedDict[str, Cursor] = field(default_factory=OrderedDict)

    def is_open(self, target: str) -> bool:
        """Return whether the trajectory is open and its files have not changed since."""
        return self.trajectory is not None and self.state == _state(target)

    def open(self, target: str) -> Trajectory:
        """Return the open trajectory; it is opened anew if its files have changed.

        Raises
        ------
        RequestError
            If it is no trajectory.
        """
        state = _state(target)
        if self.trajectory is None or self.state != state:
            self.close()
            try:
                trajectory = _open(target)
            except FormatError as error:
                raise RequestError("this is no trajectory that can be read") from error
            self.trajectory, self.state = trajectory, state
        return self.trajectory

    def cursor(self, target: str, ranges: str) -> Cursor:
        """Return the cursor for some atoms, whose preparation is kept for further frames."""
        trajectory = self.open(target)
        if (cursor := self.cursors.get(ranges)) is not None:
            self.cursors.move_to_end(ranges)
            return cursor
        columns = _atoms(ranges, trajectory.n_atoms) if ranges else None
        # Only the frames that are asked for are read.
        cursor = Cursor(
            trajectory, columns, positions=True, velocities=False, forces=False, read_ahead=False
        )
        self.cursors[ranges] = cursor
        if len(self.cursors) > _CURSORS:
            self.cursors.popitem(last=False)[1].close()
        return cursor

    def close(self) -> None:
        """Close the trajectory."""
        for cursor in self.cursors.values():
            cursor.close()
        self.cursors.clear()
        if self.trajectory is not None:
            self.trajectory.close()
            self.trajectory = None


class Frames:
    """Reads frames of the trajectories of a table, for several threads at a time."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._n_opening = 0

    def n_frames(self, name: str) -> int:
        """Return the number of frames of a trajectory.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        """
        with self._opened(name) as (target, entry):
            return entry.open(target).n_frames

    def index_of(self, name: str) -> Path | None:
        """Return the path of the index of a trajectory file; None if it has none.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        """
        with self._opened(name) as (target, entry):
            return entry.open(target).index_path

    def frame(self, name: str, number: int, ranges: str) -> bytes:
        """Return a frame as bytes.

        Parameters
        ----------
        ranges
            The atoms: "0,10;22,31" for the first ten, and for 22 to 30; empty for all.

        Raises
        ------
        RequestError
            If there is no such trajectory, frame or atom, or the frame has no positions.
        TrajetError, OSError
            If the frame cannot be read.
        """
        with self._opened(name) as (target, entry):
            cursor = entry.cursor(target, ranges)
            if not 0 <= number < cursor.n_frames:
                raise RequestError(f"no such frame: there are {cursor.n_frames}, from 0 on")
            cursor.read(number)
            if cursor.positions is None or not cursor.has_positions:
                raise RequestError("this frame has no positions")
            box = Box.of_cell(cursor.cell, cursor.vectors)
            vectors = box.vectors if box.exists else np.zeros((3, 3))
            return b"".join(
                (
                    np.array(cursor.n_frames, "<i4").tobytes(),
                    np.array(cursor.time, "<f4").tobytes(),
                    np.asarray(vectors, "<f4").tobytes(),
                    np.asarray(cursor.positions, "<f4").tobytes(),
                )
            )

    def close(self) -> None:
        """Close all trajectories."""
        with self._lock:
            entries, self._entries = self._entries, OrderedDict()
        for entry in entries.values():
            with entry.lock:
                entry.close()

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[str, _Entry]]:
        """Hold the lock of a trajectory that is open, or that this request opens.

        While one request opens it, others for it are refused: each would keep a thread waiting.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        OpeningError
            If it is being opened, or too many others are.
        """
        target, entry = self._find(name)
        is_open = entry.is_open(target)
        with self._lock:
            if entry.is_opening or (not is_open and self._n_opening >= _OPENINGS):
                raise OpeningError
            if not is_open:
                entry.is_opening = True
                self._n_opening += 1
        try:
            with entry.lock:
                if not is_open:
                    entry.open(target)
                    self._end_opening(entry)
                    is_open = True
                yield target, entry
        finally:
            if not is_open:
                self._end_opening(entry)

    def _end_opening(self, entry: _Entry) -> None:
        with self._lock:
            entry.is_opening = False
            self._n_opening -= 1

    def _find(self, name: str) -> tuple[str, _Entry]:
        """Return what to open for a name, and where its open trajectory is kept.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        """
        if (target := self._table.trajectory(name)) is None:
            raise RequestError("no such trajectory")
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            self._entries.move_to_end(name)
            if len(self._entries) > _TRAJECTORIES:
                # It is closed when the last request that reads it ends.
                self._entries.popitem(last=False)
        return target, entry


def _open(target: str) -> Trajectory:
    if find_dataset(target) is not None:
        return open_trajectory(target)
    return open_trajectory(None, target)


def _state(target: str) -> _State:
    """Return the state of a file, or of the manifest of a data set."""
    place = find_dataset(target)
    path = target if place is None else place.folder / place.name / "manifest.json"
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _atoms(ranges: str, n_atoms: int) -> NDArray[np.int64]:
    """Return the atoms of ranges that ascend without overlap, so that they are at most all atoms.

    Raises
    ------
    RequestError
        If the ranges are malformed.
    """
    pieces = []
    end = 0
    for text in ranges.split(";"):
        first, comma, last = text.partition(",")
        if not (comma and _is_number(first) and _is_number(last)):
            raise RequestError("atomIndices are of the form 0,10;22,31", 400)
        start, stop = int(first), int(last)
        if not end <= start < stop <= n_atoms:
            raise RequestError(
                f"atomIndices ascend without overlap, within the {n_atoms} atoms", 400
            )
        pieces.append(np.arange(start, stop, dtype=np.int64))
        end = stop
    return np.concatenate(pieces)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12
