"""`Source`: decodes the atoms that a script asks for, and learns what to decode ahead.

A frame is read in one of three ways: only its time and cell; these and a few atoms, the union of
those that were asked for lately; or all atoms. The cursor of each way reads ahead by itself once
frames follow one another.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import FormatError
from trajet._trajet import available_threads
from trajet.mdanalysis.timestep import (
    KNOWN,
    PENDING,
    READY,
    LazyTimestep,
    is_held,
    mark_positions,
    positions_array,
)
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.trajectory import MUCH_BYTES, Trajectory

# All atoms are decoded for so many frames after somebody asked for all.
PATIENCE = 2
# Atoms that were not asked for in so many frames are forgotten.
MEMORY = 32
# Of more than this share of the atoms, all are decoded.
MOST = 0.5
# So often may the atoms change within MEMORY frames; then all are decoded for REST frames.
CHANGES, REST = 8, 64
# Groups whose columns are kept.
GROUPS = 256
NEVER = -(10**9)


@dataclass(frozen=True)
class Report:
    """What a reader guessed of a script's needs, and what it saved.

    Attributes
    ----------
    frames
        Frames that the script went to, repeated ones included.
    frames_of_all_atoms
        Frames of which all positions were decoded.
    frames_of_groups
        Frames of which only atoms that were asked for were decoded.
    atoms_decoded
        Positions that were decoded for all of them.
    atoms_in_frames
        Positions that MDAnalysis' own readers would have decoded.
    guesses
        How often the set of atoms that are read ahead changed.
    reads_ahead
        What is read ahead now: "times and cells", "all atoms", or "214 atoms".
    """

    frames: int
    frames_of_all_atoms: int
    frames_of_groups: int
    atoms_decoded: int
    atoms_in_frames: int
    guesses: int
    reads_ahead: str


class _Group:
    """Columns of one group among the atoms that are read ahead."""

    __slots__ = ("columns", "ix", "tick")

    def __init__(self, ix: NDArray[np.intp], columns: NDArray[np.intp], tick: int) -> None:
        # The array is held, so that its identity belongs to no other.
        self.ix, self.columns, self.tick = ix, columns, tick


class Source:
    """Frames of a trajectory, for time steps.

    Parameters
    ----------
    trajectory
        The trajectory.
    atoms
        Indices in a frame of the atoms that the time steps have; None for all.
    """

    def __init__(self, trajectory: Trajectory, atoms: NDArray[np.int64] | None) -> None:
        self.trajectory, self.atoms = trajectory, atoms
        self.n_atoms = trajectory.n_atoms if atoms is None else len(atoms)
        self.n_frames = trajectory.n_frames
        self.head = trajectory.cursor([])
        self.whole = trajectory.cursor(self._file_atoms(None))
        self.group: Cursor | None = None
        self.motion_fields = {field: self._has_field(field) for field in ("velocities", "forces")}
        self._can_move = any(self.motion_fields.values())
        self.motion: Cursor | None = None
        # One cursor for each frame that is read; the ticks of events are compared with it.
        self._tick = 0
        self._whole_until = NEVER
        self._planned = True
        self._motion_tick = NEVER
        self._changes: list[int] = []
        self._groups: dict[int, _Group] = {}
        # Tick at which each atom was last asked for, but for those of `_groups`; made when needed.
        self._asked: NDArray[np.int32] | None = None
        self._lookup: NDArray[np.intp] | None = None
        self._n_whole = self._n_group = self._n_decoded = self._n_guesses = 0
        self._group_tick = NEVER
        # Frame that the cursor of the groups has read.
        self._group_frame = -1

    def _file_atoms(self, ix: NDArray[np.integer[Any]] | None) -> NDArray[np.integer[Any]] | None:
        """Return indices of atoms of the time steps as `Trajectory.cursor` takes them."""
        if self.atoms is not None:
            ix = self.atoms if ix is None else self.atoms[ix]
        return None if ix is None else self.trajectory.indices_of(np.asarray(ix, np.int64))

    def _has_field(self, field: str) -> bool:
        """Return whether frames of the files can have velocities or forces."""
        if self.trajectory.format in ("XTC", "DCD"):
            return False
        try:
            self.trajectory.cursor([], positions=False, **{field: True}).read(0)
        except FormatError:
            return False
        return True

    @property
    def report(self) -> Report:
        """What was guessed and what it saved so far."""
        if self._whole_until >= self._tick:
            reads = "all atoms"
        else:
            reads = "times and cells" if self.group is None else f"{self.group.n_atoms} atoms"
        return Report(
            self._tick,
            self._n_whole,
            self._n_group,
            self._n_decoded,
            self._tick * self.n_atoms,
            self._n_guesses,
            reads,
        )

    def go(self, ts: LazyTimestep, frame: int, *, whole: bool = False) -> Cursor:
        """Make a frame that of a time step, and return the cursor that has read its header.

        Parameters
        ----------
        ts
            The time step; all of it but positions, velocities and forces is the caller's.
        frame
            Number of the frame.
        whole
            Whether all positions are needed for sure.
        """
        # Until the frame is read, the time step is that of no frame.
        self._tick = tick = self._tick + 1
        if whole:
            self._whole_until = tick
        is_whole = self._whole_until >= tick
        if not is_whole and not self._planned:
            is_whole = self._plan()
        if tick % MEMORY == 0:
            self._forget()
        if not is_whole and self._is_held(ts):
            # Views that a script holds must show the current frame.
            is_whole = True
        if is_whole:
            # If reading fails, the array is overwritten in part.
            ts.state = PENDING if ts.source is not None else KNOWN
            cursor = self._read_whole(ts, frame)
        else:
            cursor = self.head.read(frame) if self.group is None else self._group_at(frame)
        ts.source, ts.frame_read = self, frame
        mark_positions(ts, cursor.has_positions)
        if cursor.has_positions:
            ts.state = READY if is_whole else PENDING
        else:
            ts.state = KNOWN
        if self._can_move:
            ts.motion_pending = True
            if self._motion_tick >= tick - PATIENCE or ts.holds_motion():
                ts._ask_motion()
        return cursor

    def _is_held(self, ts: LazyTimestep) -> bool:
        """Return whether somebody holds the array of positions of a time step."""
        return is_held(ts, int(self.whole.positions is positions_array(ts)))

    def _read_whole(self, ts: LazyTimestep, frame: int) -> Cursor:
        """Read all positions of a frame into the array of a time step."""
        # Afterwards this would fill the array with zeros.
        mark_positions(ts, True)
        array = positions_array(ts)
        self._n_decoded += self.n_atoms
        self._n_whole += 1
        if array.flags.c_contiguous and array.dtype == np.float32:
            return self.whole.read(frame, array)
        # A script may have replaced the array.
        cursor = self.whole.read(frame)
        array[:] = cursor.positions
        return cursor

    def whole_asked(self, ts: LazyTimestep) -> None:
        """Have all positions in the array of a time step, and read whole frames from now on."""
        if ts.state == PENDING:
            self._read_whole(ts, ts.frame_read)
        ts.state = KNOWN
        self._whole_until = max(self._whole_until, self._tick + PATIENCE)
        self._planned = False

    def read_motion(self, ts: LazyTimestep) -> None:
        """Read velocities and forces of a frame into a time step."""
        if self.motion is None:
            self.motion = self.trajectory.cursor(
                self._file_atoms(None), positions=False, **self.motion_fields
            )
        self._motion_tick = self._tick
        cursor = self.motion.read(ts.frame_read)
        for field, exists in self.motion_fields.items():
            if exists:
                there = getattr(cursor, f"has_{field}")
                setattr(ts, f"has_{field}", there)
                if there:
                    setattr(ts, field, getattr(cursor, field))

    def positions_of(self, ts: LazyTimestep, ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group of atoms, `(n, 3)`, of a time step that is not `KNOWN`."""
        if ts.state == READY:
            return self._of_ready(ts, ix)
        group = self._groups.get(id(ix))
        if group is None:
            if not len(ix):
                return np.empty((0, 3), np.float32)
            group = self._learn(ix)
            if group is None:
                self.whole_asked(ts)
                return self._copied(ts, ix)
        group.tick = self._tick
        cursor = self._group_at(ts.frame_read)
        assert cursor.positions is not None
        return cursor.positions.take(group.columns, axis=0)

    def position_of(self, ts: LazyTimestep, index: int) -> NDArray[np.float32]:
        """Return the position of one atom, `(3,)`, of a time step that is not `KNOWN`."""
        if ts.state == READY:
            self._stamp(index, self._tick)
            self._planned = False
            return self._copied(ts, index)
        if self._lookup is None or self._lookup[index] < 0:
            self._stamp(index, self._tick)
            if not self._rebuild(self._tick - MEMORY):
                self.whole_asked(ts)
                return self._copied(ts, index)
        assert self._lookup is not None
        self._stamp(index, self._tick)
        cursor = self._group_at(ts.frame_read)
        assert cursor.positions is not None
        position: NDArray[np.float32] = cursor.positions[self._lookup[index]].copy()
        return position

    @staticmethod
    def _copied(ts: LazyTimestep, ix: NDArray[np.intp] | int) -> NDArray[np.float32]:
        """Return a copy of positions of a time step that was decoded whole."""
        positions: NDArray[np.float32] = positions_array(ts)[ix]
        return positions.copy() if isinstance(ix, int | np.integer) else positions

    def _of_ready(self, ts: LazyTimestep, ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group of a frame that was decoded whole."""
        if len(ix) > MOST * self.n_atoms:
            self._whole_until = max(self._whole_until, self._tick + PATIENCE)
        else:
            self._stamp(ix, self._tick)
        self._planned = False
        return self._copied(ts, ix)

    def read_frames(
        self, frames: NDArray[np.int64], ix: NDArray[np.intp] | None
    ) -> NDArray[np.float32] | None:
        """Return positions of many frames, `(n_frames, n_atoms, 3)`, decoded on all cores.

        None if some frame has none.
        """
        places = self.atoms if ix is None else ix if self.atoms is None else self.atoms[ix]
        n_atoms = self.n_atoms if ix is None else len(ix)
        out = np.empty((len(frames), n_atoms, 3), np.float32)
        if not len(frames):
            return out
        trajectory = self.trajectory
        threads = available_threads() if out.nbytes > MUCH_BYTES else 1
        if places is not None:
            places = np.asarray(places, np.int64)
        got = trajectory.fresh(
            trajectory.reader.read, frames, places, out, "positions", threads=threads
        )
        return None if got["counts"]["empty_frames"] else out

    def updating_asked(self, ts: LazyTimestep, ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group that changes from frame to frame: whole frames are read."""
        if ts.state:
            self.whole_asked(ts)
        return self._copied(ts, ix)

    def _group_at(self, frame: int) -> Cursor:
        """Return the cursor of the groups, which has read this frame."""
        cursor = self.group
        assert cursor is not None
        if self._group_frame != frame:
            # If reading fails, the cursor holds no frame.
            self._group_frame = -1
            cursor.read(frame)
            self._group_frame = frame
            self._n_decoded += cursor.n_atoms
            if self._group_tick != self._tick:
                self._group_tick = self._tick
                self._n_group += 1
        return cursor

    def _stamp(self, ix: NDArray[np.intp] | int, tick: int) -> None:
        if self._asked is None:
            self._asked = np.full(self.n_atoms, NEVER, np.int32)
        self._asked[ix] = np.maximum(self._asked[ix], tick)

    def _learn(self, ix: NDArray[np.intp]) -> _Group | None:
        """Return the columns of a group that is asked for as this array for the first time.

        None if whole frames should be read.
        """
        if len(ix) > MOST * self.n_atoms:
            return None
        columns = None if self._lookup is None else self._lookup[ix]
        if columns is None or (columns < 0).any():
            self._stamp(ix, self._tick)
            if not self._rebuild(self._tick - MEMORY):
                return None
            assert self._lookup is not None
            columns = self._lookup[ix]
        if len(self._groups) >= GROUPS:
            self._stamp_groups()
            self._groups.clear()
        group = self._groups[id(ix)] = _Group(ix, columns, self._tick)
        return group

    def _stamp_groups(self) -> None:
        for group in self._groups.values():
            self._stamp(group.ix, group.tick)

    def _union(self, since: int) -> NDArray[np.intp]:
        """Return the atoms that were asked for since a tick, sorted."""
        self._stamp_groups()
        if self._asked is None:
            return np.empty(0, np.intp)
        return np.flatnonzero(self._asked >= since)

    def _rebuild(self, since: int) -> bool:
        """Read ahead the atoms that were asked for since a tick; False if these are too many."""
        tick = self._tick
        self._changes = [change for change in self._changes if change > tick - MEMORY]
        if len(self._changes) >= CHANGES:
            self._whole_until = tick + REST
            return False
        atoms = self._union(since)
        if len(atoms) > MOST * self.n_atoms:
            return False
        self._changes.append(tick)
        self._set_group(atoms)
        return True

    def _set_group(self, atoms: NDArray[np.intp]) -> None:
        """Read ahead these atoms; or times and cells only, if there is none."""
        self._groups.clear()
        self._group_frame = -1
        self._n_guesses += int(len(atoms) > 0)
        if not len(atoms):
            self.group = self._lookup = None
            return
        self.group = self.trajectory.cursor(self._file_atoms(atoms))
        self._lookup = np.full(self.n_atoms, -1, np.intp)
        self._lookup[atoms] = np.arange(len(atoms))

    def _plan(self) -> bool:
        """Decide what to read after whole frames; return whether whole frames are needed still."""
        self._planned = True
        atoms = self._union(self._tick - PATIENCE - 1)
        if len(atoms) > MOST * self.n_atoms:
            self._whole_until = self._tick + PATIENCE
            self._planned = False
            return True
        if self._lookup is None or (self._lookup[atoms] < 0).any():
            self._set_group(atoms)
        return False

    def _forget(self) -> None:
        """Forget atoms that were not asked for lately."""
        if self.group is None:
            return
        since = self._tick - MEMORY
        for key in [key for key, group in self._groups.items() if group.tick < since]:
            group = self._groups.pop(key)
            self._stamp(group.ix, group.tick)
        atoms = self._union(since)
        if len(atoms) < 0.9 * self.group.n_atoms:
            self._set_group(atoms)
