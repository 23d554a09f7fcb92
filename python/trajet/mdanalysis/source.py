"""`Source`: decodes the atoms that a script asks for, and learns what to decode ahead.

A frame is read in one of three ways: only its time and cell; these and a few atoms, the union of
those that were asked for lately; or all atoms. The cursor of each way reads ahead by itself once
frames follow one another.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import available_threads
from trajet.formats import formats_of
from trajet.mdanalysis.timestep import (
    KNOWN,
    PENDING,
    READY,
    LazyTimestep,
    is_held,
    mark_positions,
    marked_positions,
    positions_array,
)
from trajet.trajectory import MUCH_BYTES
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from trajet._trajet import ReadFrames

# Number of frames for which all atoms are decoded after the script asked for all.
PATIENCE = 2
# Number of frames after which atoms that the script did not ask for are no longer decoded.
MEMORY = 32
# All atoms are decoded if more than FEW atoms, and more than 1/SHARE of all, are requested one by
# one in a frame; in a system below SMALL atoms, with the first one: looking up an atom would take
# as long.
FEW, SHARE, SMALL = 16, 50, 2000
# If more than this share of the atoms is requested, all are decoded.
MOST = 0.5
# Maximal number of changes of the decoded atoms within MEMORY frames; after more, all atoms are
# decoded for REST frames.
CHANGES, REST = 8, 64
# Groups whose columns are kept.
GROUPS = 256
NEVER = -(10**9)


@dataclass(frozen=True)
class Report:
    """Report on the atoms that a reader decoded ahead for a script, and on the decoding saved.

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
        The data that are read ahead now: "times and cells", "all atoms", or "214 atoms".
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

    __slots__ = ("atoms", "columns", "ix", "tick")

    def __init__(
        self, ix: NDArray[np.intp], columns: NDArray[np.intp], n_read: int, tick: int
    ) -> None:
        is_all = np.array_equal(columns, np.arange(n_read))
        # None: the group has all atoms that are read, in their order.
        self.columns = None if is_all else columns
        # The array is held, so that its identity belongs to no other.
        self.ix, self.tick = ix, tick
        # Its numbers, which a script may overwrite.
        self.atoms = ix.tobytes()


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
        self.motion_fields = self._find_motion_fields()
        self.can_move = any(self.motion_fields.values())
        self.motion: Cursor | None = None
        # Frame that the cursor of velocities and forces has read.
        self._motion_frame = -1
        # Receives whole frames that must not overwrite the array of a time step yet.
        self._spare: NDArray[np.float32] | None = None
        # One cursor for each frame that is read; the ticks of events are compared with it.
        self._tick = 0
        self._whole_until = NEVER
        self._planned = True
        self._changes: list[int] = []
        self._groups: dict[int, _Group] = {}
        # Atoms that were asked for one by one in a frame, and how many are too many.
        self._single_tick, self._n_single = -1, 0
        self._most_single = max(FEW, self.n_atoms // SHARE) if self.n_atoms > SMALL else 0
        # Tick at which each atom was last asked for, but for those of `_groups`; made when needed.
        self._asked: NDArray[np.int32] | None = None
        self._lookup: NDArray[np.intp] | None = None
        self._n_whole = self._n_group = self._n_decoded = self._n_guesses = 0
        self._group_tick = NEVER
        # Frame that the cursor of the groups has read.
        self._group_frame = -1

    def _file_atoms(self, ix: NDArray[np.integer] | None) -> NDArray[np.int64] | None:
        """Return indices of atoms of the time steps as `Trajectory.cursor` takes them."""
        if self.atoms is not None:
            ix = self.atoms if ix is None else self.atoms[ix]
        return (
            None
            if ix is None
            else self.trajectory.source.index.indices_of(np.asarray(ix, np.int64))
        )

    def _find_motion_fields(self) -> dict[str, bool]:
        """Return whether frames of the files can have velocities, and forces."""
        formats = formats_of(self.trajectory.format)
        if not any({"velocities", "forces"} & info.fields for info in formats):
            return {"velocities": False, "forces": False}
        if len(self.trajectory.paths) == 1 and formats[0].declares_fields:
            # All frames have the same fields.
            first = self.trajectory.cursor([], positions=False, velocities=True, forces=True)
            first.read(0)
            return {"velocities": first.has_velocities, "forces": first.has_forces}
        # Some frames may have them, and the first none.
        return {"velocities": True, "forces": True}

    @property
    def report(self) -> Report:
        """Report on the atoms that were decoded ahead so far, and on the decoding saved."""
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

    def read(self, ts: LazyTimestep, frame: int, *, whole: bool = False) -> Cursor:
        """Read a frame for a time step, and return the cursor that has read it, for `show`.

        If this or anything before `show` fails, the time step is still that of the frame before.

        Parameters
        ----------
        ts
            The time step.
        frame
            Number of the frame.
        whole
            Whether all positions are needed for sure, and those of the time step are not the ones
            of the file.
        """
        self._tick = tick = self._tick + 1
        if whole:
            self._whole_until = tick
        is_whole = self._whole_until >= tick
        if not is_whole and not self._planned:
            is_whole = self._plan()
        if tick % MEMORY == 0:
            self._forget()
        if self.can_move and ts.holds_motion():
            self._motion_at(frame)
        # Views that a script holds must show the current frame.
        if is_whole or self._is_held(ts):
            return self._read_whole(ts, frame, keeps_array=whole)
        return self.head.read(frame) if self.group is None else self._group_at(frame)

    def show(self, ts: LazyTimestep, cursor: Cursor) -> None:
        """Make the frame that `read` has read that of a time step.

        All of the time step but positions, velocities and forces is the caller's.
        """
        is_whole = cursor is self.whole
        holds_motion = self.can_move and ts.holds_motion()
        mark_positions(ts, cursor.has_positions)
        if is_whole and cursor.has_positions:
            self._fill(ts)
        ts.source, ts.frame_read = self, cursor.frame
        if cursor.has_positions:
            ts.state = READY if is_whole else PENDING
        else:
            ts.state = KNOWN
        if self.can_move:
            ts.motion_pending = True
            if holds_motion:
                ts._ask_motion()

    def _is_held(self, ts: LazyTimestep) -> bool:
        """Return whether somebody holds the array of positions of a time step."""
        return is_held(ts, int(self.whole.positions is positions_array(ts)))

    def _read_whole(self, ts: LazyTimestep, frame: int, *, keeps_array: bool = False) -> Cursor:
        """Read all positions of a frame: into the array of a time step, or for `_fill`."""
        self._n_decoded += self.n_atoms
        self._n_whole += 1
        array = positions_array(ts)
        if ts.source is None:
            # Nobody has seen this time step.
            mark_positions(ts, True)
        elif keeps_array or not marked_positions(ts):
            array = None
        # A script may have replaced the array.
        if array is not None and array.flags.c_contiguous and array.dtype == np.float32:
            # If reading fails, the array is overwritten in part: a time step that somebody has seen
            # is read again when its positions are asked for.
            ts.state = KNOWN if ts.source is None else PENDING
            return self.whole.read(frame, array)
        if self._spare is None:
            self._spare = np.empty((self.n_atoms, 3), np.float32)
        return self.whole.read(frame, self._spare)

    def _fill(self, ts: LazyTimestep) -> None:
        """Have the whole frame that was read last in the array of a time step."""
        array = positions_array(ts)
        if self.whole.positions is not array:
            array[:] = self.whole.positions

    def whole_asked(self, ts: LazyTimestep) -> None:
        """Have all positions in the array of a time step, and read whole frames from now on."""
        if ts.state == PENDING:
            self._read_whole(ts, ts.frame_read)
            self._fill(ts)
        ts.state = KNOWN
        self._whole_until = max(self._whole_until, self._tick + PATIENCE)
        self._planned = False

    def read_motion(self, ts: LazyTimestep) -> None:
        """Read velocities and forces of a frame into a time step."""
        cursor = self._motion_at(ts.frame_read)
        for field, exists in self.motion_fields.items():
            if exists:
                there = getattr(cursor, f"has_{field}")
                setattr(ts, f"has_{field}", there)
                if there:
                    setattr(ts, field, getattr(cursor, field))

    def _motion_at(self, frame: int) -> Cursor:
        """Return the cursor of velocities and forces, which has read this frame."""
        if self.motion is None:
            self.motion = self.trajectory.cursor(
                self._file_atoms(None), positions=False, **self.motion_fields
            )
        if self._motion_frame != frame:
            # If reading fails, the cursor holds no frame.
            self._motion_frame = -1
            self.motion.read(frame)
            self._motion_frame = frame
        return self.motion

    def positions_of(self, ts: LazyTimestep, ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group of atoms, `(n, 3)`, of a time step that is not `KNOWN`."""
        if ts.state == READY:
            return self._of_ready(ts, ix)
        group = self._groups.get(id(ix))
        if group is None or group.atoms != ix.tobytes():
            if not len(ix):
                return np.empty((0, 3), np.float32)
            group = self._learn(ix)
            if group is None:
                self.whole_asked(ts)
                return self._copied(ts, ix)
        group.tick = self._tick
        cursor = self._group_at(ts.frame_read)
        positions, columns = cursor.positions, group.columns
        assert positions is not None
        # Copying takes a third of the time of taking rows.
        return positions.copy() if columns is None else positions.take(columns, axis=0)

    def position_of(self, ts: LazyTimestep, index: int) -> NDArray[np.float32]:
        """Return the position of one atom, `(3,)`, of a time step that is not `KNOWN`."""
        if self._single_tick != self._tick:
            self._single_tick, self._n_single = self._tick, 0
        self._n_single += 1
        # A script that goes through the atoms: looking at each costs more than decoding all.
        if self._n_single > self._most_single:
            self.whole_asked(ts)
            return self._copied(ts, index)
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
        # An array of indices makes a copy, one index a view.
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
        if not len(frames):
            return np.empty((0, self.n_atoms if ix is None else len(ix), 3), np.float32)
        found = self.read_fields(frames, ["positions"], ix)
        return None if found is None else found[0]["positions"]

    def read_fields(
        self, frames: NDArray[np.int64], fields: list[str], ix: NDArray[np.intp] | None = None
    ) -> (
        tuple[
            dict[str, NDArray[np.float32]],
            NDArray[np.float64],
            NDArray[np.float64] | None,
            NDArray[np.bool_],
        ]
        | None
    ):
        """Return fields of one frame or more, decoded on all cores; None if some frame lacks one.

        Parameters
        ----------
        frames
            Numbers of the frames.
        fields
            "positions", and possibly "velocities" and "forces".
        ix
            The atoms; None for all.

        Returns
        -------
        fields
            Arrays by name, `(n_frames, n_atoms, 3)`, as those of a cursor.
        cells
            Unit cells, `(n_frames, 6)`; NaN where a frame has none.
        vectors
            Box vectors, `(n_frames, 3, 3)`; NaN or None where the cells determine them.
        periodic
            Whether each cell is periodic along its vectors, `(n_frames, 3)`.
        """
        columns = self.atoms if ix is None else ix if self.atoms is None else self.atoms[ix]
        n_atoms = self.n_atoms if ix is None else len(ix)
        out = {name: np.empty((len(frames), n_atoms, 3), np.float32) for name in fields}
        trajectory = self.trajectory
        is_much = sum(one.nbytes for one in out.values()) > MUCH_BYTES
        threads = available_threads() if is_much else 1
        if columns is not None:
            columns = np.asarray(columns, np.int64)
        reader = trajectory.source.reader
        got: ReadFrames
        if len(fields) > 1:
            with trajectory.source.files.stale_index_removed():
                got = of_all = reader.read_fields(frames, columns, out, threads=threads)
            is_complete = all(of_all["n_with"][name] == len(frames) for name in fields)
        else:
            positions = out["positions"]
            with trajectory.source.files.stale_index_removed():
                got = reader.read(frames, columns, positions, "positions", threads=threads)
            is_complete = not got["counts"]["empty_frames"]
        trajectory.source.files.count_read(columns, got["counts"])
        vectors = got["vectors"]
        if vectors is not None:
            vectors = vectors.reshape(-1, 3, 3)
        return (out, got["cells"], vectors, got["periodic"]) if is_complete else None

    def updating_asked(self, ts: LazyTimestep, ix: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return positions of a group that changes from frame to frame: whole frames are read."""
        if ts.state != KNOWN:
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
        assert self.group is not None
        group = self._groups[id(ix)] = _Group(ix, columns, self.group.n_atoms, self._tick)
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
