"""The current time step of a trajectory: what it holds, and which arrays are parts of it.

Analyses may compare with the frame that is current when they begin, which a script may have
changed. `CurrentFrame` makes it current again before each range of frames.
"""

from copy import deepcopy
from typing import TypeAlias

import numpy as np
from MDAnalysis.coordinates.base import ProtoReader
from MDAnalysis.coordinates.memory import MemoryReader
from MDAnalysis.coordinates.timestep import Timestep
from numpy.typing import NDArray

from trajet.mdanalysis.timestep import PENDING, LazyTimestep

# Arrays by name of their property, which a `LazyTimestep` decodes, and by name of the array.
_FIELDS = {"positions": "_pos", "velocities": "_velocities", "forces": "_forces"}

# A view of an array of a time step: name, offset in bytes, shape, strides and type.
Part: TypeAlias = tuple[str, int, tuple[int, ...], tuple[int, ...], np.dtype[np.generic]]


class CurrentFrame:
    """A copy of the current time step of a trajectory, picklable."""

    def __init__(self, reader: ProtoReader) -> None:
        ts = reader.ts
        self._frame, self._cell = ts.frame, ts._unitcell.copy()
        self._data, self._aux = deepcopy(ts.data), deepcopy(ts.aux)
        # None: the frame has none.
        self._values: dict[str, NDArray[np.float32] | None] = {}
        pending = _pending(reader)
        for name in _FIELDS:
            if name not in pending:
                has = getattr(ts, f"has_{name}")
                self._values[name] = getattr(ts, name).copy() if has else None

    def restore(self, reader: ProtoReader) -> None:
        """Make the time step of this trajectory, or of a copy of it, equal to this copy."""
        is_partial = len(self._values) < len(_FIELDS)
        if (is_partial or reader.ts.frame != self._frame) and 0 <= self._frame < reader.n_frames:
            reader[self._frame]
        ts, is_view = reader.ts, _has_views(reader)
        for name, values in self._values.items():
            if is_view:
                _replace(ts, name, values)
            else:
                setattr(ts, f"has_{name}", values is not None)
                if values is not None:
                    setattr(ts, name, values)
        if is_view:
            ts._unitcell = self._cell.copy()
        else:
            ts._unitcell[:] = self._cell
        ts.data.clear()
        ts.data.update(deepcopy(self._data))
        ts.aux = deepcopy(self._aux)
        ts.frame = self._frame


def _pending(reader: ProtoReader) -> set[str]:
    """Return names of numbers of the current frame that are still in the file."""
    ts = reader.ts
    # A script may have changed the number of the frame, and chains count over all files.
    if not isinstance(ts, LazyTimestep) or not (
        ts.frame == ts.frame_read == getattr(reader, "_frame", None)
    ):
        return set()
    positions = {"positions"} if ts.state == PENDING else set()
    return positions | ({"velocities", "forces"} if ts.motion_pending else set())


def attach(reader: ProtoReader) -> None:
    """Make the time step of a trajectory in memory a view of it again, after `restore`."""
    if _has_views(reader) and 0 <= reader.ts.frame < reader.n_frames:
        reader[reader.ts.frame]


def own_arrays(reader: ProtoReader) -> None:
    """Give the time step of a trajectory that was unpickled arrays that own their memory.

    A `LazyTimestep` knows by the references to an array whether a script holds a view of it; NumPy
    gives views of an unpickled array the bytes as their base, not the array.
    """
    if not _has_views(reader):
        for name in ("_unitcell", *_FIELDS.values()):
            array = getattr(Timestep, name)
            array.__set__(reader.ts, array.__get__(reader.ts).copy())


def _has_views(reader: ProtoReader) -> bool:
    """Return whether time steps are views of a trajectory in memory, which keeps changes."""
    readers = getattr(reader, "readers", [reader])
    return any(isinstance(one, MemoryReader) for one in readers)


def _replace(ts: Timestep, name: str, values: NDArray[np.float32] | None) -> None:
    """Replace an array of a time step; the trajectory of which it is a view does not change."""
    if values is None:
        setattr(ts, f"has_{name}", False)
        return
    # Marking numbers that were not there fills their array with zeros.
    setattr(ts, _FIELDS[name], np.empty_like(values))
    setattr(ts, f"has_{name}", True)
    setattr(ts, _FIELDS[name], values.copy())


def part_of(ts: Timestep, array: NDArray[np.generic]) -> Part | None:
    """Return where an array lies in a time step; None if it is no part of it."""
    for name in ("_unitcell", *_FIELDS.values()):
        # The array of the base class, as the property of a `LazyTimestep` would decode it.
        own = getattr(Timestep, name).__get__(ts)
        if _base(own) is not _base(array) or not own.flags.c_contiguous:
            continue
        offset = array.ctypes.data - own.ctypes.data
        steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
        low = offset + sum(step for step in steps if step < 0)
        high = offset + sum(step for step in steps if step > 0) + array.itemsize
        # Frames in memory share one array.
        if low >= 0 and high <= own.nbytes:
            return name, offset, array.shape, array.strides, array.dtype
    return None


def as_part(ts: Timestep, part: Part) -> NDArray[np.generic]:
    """Return the part of a time step: the inverse of `part_of`."""
    name, offset, shape, strides, dtype = part
    return np.ndarray(shape, dtype, getattr(ts, name), offset, strides)


def _base(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the array that owns the memory of an array."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
