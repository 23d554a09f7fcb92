"""Single frames in the protocol of MDsrv, which NGL and 3Dmol speak.

The protocol (https://github.com/nglviewer/mdsrv, its README): `GET traj/numframes/NAME` returns the
number of frames as text. `POST traj/frame/NUMBER/NAME` returns a frame as little-endian numbers of
four bytes: number of frames (integer), time, the three box vectors (Å), then the positions (Å). The
form field `atomIndices` chooses atoms: ranges `first,last + 1` with semicolons between them.
"""

import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import STORE_MANIFEST, FormatError
from trajet.dataset import StoreFile, find_dataset
from trajet.server.served_names import ServedNames, TagFile
from trajet.trajectory import Trajectory, opened_dataset
from trajet.trajectory import open as open_trajectory
from trajet.trajectory.cursor import Cursor

# Trajectories that are kept open, and selections of each whose preparation is kept.
_TRAJECTORIES = 16
_CURSORS = 4
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
    """A trajectory that is not open.

    Attributes
    ----------
    name
        Its name, for `Frames.open`.
    """

    def __init__(self, name: str) -> None:
        super().__init__("the trajectory is being opened: ask again in a while", 503)
        self.name = name


@dataclass
class _Entry:
    """A trajectory, the state of its files when it was opened, and cursors by ranges of atoms.

    `lock` is held by the request that reads or opens it; `n_opening`, the number of calls that
    open it, belongs to `Frames`; `since` is when it was opened, in seconds of `time.monotonic`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    n_opening: int = 0
    trajectory: Trajectory | None = None
    index: Path | StoreFile | None = None
    state: _State | None = None
    since: float = 0.0
    cursors: OrderedDict[str, Cursor] = field(default_factory=OrderedDict)

    def is_open(self, target: str | TagFile, since: float) -> bool:
        """Return whether the trajectory is open as its files are now, or were after a time.

        Raises
        ------
        OSError
            If there is no file.
        """
        return self.trajectory is not None and (self.since >= since or self.state == _state(target))

    def open(self, target: str | TagFile) -> None:
        """Open the trajectory, unless it is open; it is opened anew if its files have changed.

        Raises
        ------
        RequestError
            If it is no trajectory.
        """
        since, state = time.monotonic(), _state(target)
        if self.trajectory is None or self.state != state:
            self.close()
            try:
                trajectory, index = _open(target)
            except FormatError as error:
                raise RequestError("this is no trajectory that can be read") from error
            self.trajectory, self.index, self.state = trajectory, index, state
        self.since = since

    def cursor(self, trajectory: Trajectory, ranges: str) -> Cursor:
        """Return the cursor for some atoms, whose preparation is kept for further frames."""
        if (cursor := self.cursors.get(ranges)) is not None:
            self.cursors.move_to_end(ranges)
            return cursor
        columns = _atoms(ranges, trajectory.n_atoms) if ranges else None
        # Only the frames that are asked for are read.
        cursor = Cursor(
            trajectory.source,
            columns,
            positions=True,
            velocities=False,
            forces=False,
            read_ahead=False,
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
    """Reads frames of the trajectories of a table, for several threads at a time.

    Trajectories are opened by `open` alone: it counts the frames of a file, which may take minutes.
    Methods that read raise `OpeningError` for others, and never wait for them to be opened. They
    read a trajectory as its files are now, or were at a time after `since`, in seconds of
    `time.monotonic`: a file that grows all the time would never be open otherwise.
    """

    def __init__(self, table: ServedNames) -> None:
        self._table = table
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, name: str) -> None:
        """Open a trajectory, unless it is open; that which was read least recently is closed.

        Raises
        ------
        RequestError
            If there is no such trajectory, or it cannot be read.
        """
        target = self._target(name)
        with self._lock:
            entry = self._entries.setdefault(name, _Entry())
            entry.n_opening += 1
            self._make_room()
        try:
            with entry.lock:
                entry.open(target)
        finally:
            with self._lock:
                entry.n_opening -= 1
                if self._entries.get(name) is entry:
                    self._entries.move_to_end(name)
                    # What cannot be opened takes no place.
                    if entry.trajectory is None and not entry.n_opening:
                        del self._entries[name]

    def n_frames(self, name: str, since: float = math.inf) -> int:
        """Return the number of frames of a trajectory.

        Raises
        ------
        RequestError
            If there is no such trajectory, or it is not open (OpeningError).
        """
        with self._opened(name, since) as (trajectory, _):
            return trajectory.n_frames

    def index_of(self, name: str, since: float = math.inf) -> Path | StoreFile | None:
        """Return the index of a trajectory file; None if it has none.

        Raises
        ------
        RequestError
            If there is no such trajectory, or it is not open (OpeningError).
        """
        with self._opened(name, since) as (_, entry):
            return entry.index

    def frame(self, name: str, number: int, ranges: str, since: float = math.inf) -> bytes:
        """Return a frame as bytes.

        Parameters
        ----------
        ranges
            The atoms: "0,10;22,31" for the first ten, and for 22 to 30; empty for all.

        Raises
        ------
        RequestError
            If there is no such trajectory, frame or atom, the frame has no positions, or the
            trajectory is not open (OpeningError).
        TrajetError, OSError
            If the frame cannot be read.
        """
        with self._opened(name, since) as (trajectory, entry):
            cursor = entry.cursor(trajectory, ranges)
            if not 0 <= number < cursor.n_frames:
                raise RequestError(f"no such frame: there are {cursor.n_frames}, from 0 on")
            cursor.read(number)
            if cursor.positions is None or not cursor.has_positions:
                raise RequestError("this frame has no positions")
            box = cursor.box
            # Viewers take a box for one that is periodic in all directions.
            is_held = box.exists and not box.is_open
            vectors = box.vectors if is_held else np.zeros((3, 3))
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
    def _opened(self, name: str, since: float) -> Iterator[tuple[Trajectory, _Entry]]:
        """Return a trajectory that is open, and hold its lock.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        OpeningError
            If it is not open.
        """
        target = self._target(name)
        with self._lock:
            entry = self._entries.get(name)
        if entry is None or not entry.is_open(target, since):
            raise OpeningError(name)
        with self._lock:
            if self._entries.get(name) is entry:
                self._entries.move_to_end(name)
        with entry.lock:
            if (trajectory := entry.trajectory) is None:
                raise OpeningError(name)
            yield trajectory, entry

    def _target(self, name: str) -> str | TagFile:
        """Return what to open for a name.

        Raises
        ------
        RequestError
            If there is no such trajectory.
        """
        if (target := self._table.trajectory(name)) is None:
            raise RequestError("no such trajectory")
        return target

    def _make_room(self) -> None:
        """Forget the trajectories read least recently, but none that is being opened.

        They are closed when the last requests that read them end.
        """
        idle = [name for name, entry in self._entries.items() if not entry.n_opening]
        for name in idle[: max(0, len(self._entries) - _TRAJECTORIES)]:
            del self._entries[name]


def _open(target: str | TagFile) -> tuple[Trajectory, Path | StoreFile | None]:
    """Open a trajectory, and return it with its index, if it has one."""
    if isinstance(target, TagFile):
        return opened_dataset(target.frames), target.file.index()
    if find_dataset(target) is not None:
        return open_trajectory(target), None
    opened = open_trajectory(None, target)
    return opened, opened.index_path


def _state(target: str | TagFile) -> _State:
    """Return the state of a file, or of the manifest of a data set."""
    if isinstance(target, TagFile):
        target = str(target.frames.folder / target.frames.name)
    place = find_dataset(target)
    path = target if place is None else place.folder / place.name / STORE_MANIFEST
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
