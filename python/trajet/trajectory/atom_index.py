"""Users' choices of frames and atoms as numbers, and `AtomIndex`, the atoms of a frame."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FrameError, SelectionError
from trajet.dataset import Dataset
from trajet.pools.pool import Frames
from trajet.result import FrameMask, TimedFrames
from trajet.selection_text import needs_positions
from trajet.topology import Topology
from trajet.trajectory.groups import groups_of_size

FrameChoice: TypeAlias = slice | Sequence[int] | NDArray[np.integer | np.bool_] | FrameMask | None
AtomChoice: TypeAlias = str | Sequence[int] | NDArray[np.integer | np.bool_]


def resolve_frames(frames: FrameChoice, of: TimedFrames) -> Frames:
    """Return numbers of frames of a trajectory as the native module takes them.

    Raises
    ------
    FrameError
        If one is out of range, or a mask is of other frames.
    TypeError
        If the choice is of another type, or a short tuple, which is probably meant as a range.
    """
    if isinstance(frames, tuple) and 1 < len(frames) < 4:
        numbers_of = ", ".join(map(str, frames))
        raise TypeError(
            f"frames=({numbers_of}) may mean a range or single frames: give slice({numbers_of}) for"
            f" the range, or the list [{numbers_of}] for these frames"
        )
    if isinstance(frames, FrameMask):
        return frames.numbers(of)
    n_frames, label = of.n_frames, of.label
    if frames is None:
        frames = slice(None)
    if isinstance(frames, slice):
        chosen = range(*frames.indices(n_frames))
        return (chosen.start, chosen.step, len(chosen)) if chosen else (0, 1, 0)
    if isinstance(frames, (bool, np.bool_)):
        raise TypeError(
            f"frames={frames} is no choice of frames: conditions on results are <, <=, > and >=;"
            " for others give a mask, such as result.values == 2"
        )
    numbers = np.atleast_1d(np.asarray(frames))
    if numbers.dtype == np.bool_:
        if numbers.shape != (n_frames,):
            raise FrameError(f"{label}: a mask of {numbers.shape} does not fit {n_frames} frames")
        return np.flatnonzero(numbers).astype(np.int64)
    if numbers.ndim != 1 or not (np.issubdtype(numbers.dtype, np.integer) or numbers.size == 0):
        raise TypeError(
            "frames must be a slice, such as slice(0, 100, 10), a list of frame numbers, a mask, or"
            f" None for all, not {frames!r:.40}"
        )
    wrong = numbers[(numbers < -n_frames) | (numbers >= n_frames)]
    if wrong.size:
        raise FrameError(
            f"{label}: frame {wrong[0]} is out of range: the trajectory has {n_frames} frames,"
            f" 0 to {n_frames - 1}"
        )
    # The sum below may overflow short integers.
    numbers = numbers.astype(np.int64)
    return np.where(numbers < 0, numbers + n_frames, numbers)


def frame_number(number: int) -> int:
    """Return the number of one frame; negative numbers count from the end.

    Raises
    ------
    TypeError
        If it is not a whole number.
    """
    if type(number) is int:
        return number
    if isinstance(number, (bool, slice)) or not hasattr(number, "__index__"):
        raise TypeError(
            "one frame is taken by its number; several are read with read(frames=...) or"
            " blocks(frames=...), and atoms are chosen by select(...)"
        )
    return operator.index(number)


def frame_numbers(frames: Frames) -> NDArray[np.int64]:
    """Return frame numbers as an array."""
    if isinstance(frames, tuple):
        first, step, count = frames
        return first + step * np.arange(count, dtype=np.int64)
    return frames


def resolve_indices(indices: np.ndarray, n_atoms: int) -> NDArray[np.int64]:
    """Return atom indices as int64, after checking that they are in range.

    Raises
    ------
    SelectionError
        If there are none, or one is out of range.
    TypeError
        If they are not a sequence of integers.
    """
    if indices.size == 0:
        raise SelectionError("selection of indices: it is empty")
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise TypeError("atoms must be a selection string, a sequence of integers, or a mask")
    wrong = indices[(indices < 0) | (indices >= n_atoms)]
    if wrong.size:
        raise SelectionError(
            f"atom {wrong[0]} is out of range: the trajectory has {n_atoms} atoms,"
            f" 0 to {n_atoms - 1}"
        )
    return np.ascontiguousarray(indices, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class AtomIndex:
    """The atoms of a frame, by their columns in it and by their indices in the topology.

    Attributes
    ----------
    label
        Name of the trajectory in messages.
    n_atoms, n_topology_atoms
        Number of atoms of every frame, and of the topology.
    chosen
        `(n_atoms,)`, int64: the atom of the topology of each atom of a frame, if the files have
        only some; else None.
    dataset
        The data set of a store, whose open tags may have only some; else None.
    """

    label: str
    n_atoms: int
    n_topology_atoms: int
    chosen: NDArray[np.int64] | None = None
    dataset: Dataset | None = None

    @cached_property
    def origin(self) -> NDArray[np.int64] | None:
        """Index of each atom in the topology, or None if frames have all atoms."""
        if self.chosen is not None:
            return self.chosen
        return None if self.dataset is None else self.dataset.origin

    @property
    def absent_atoms(self) -> str:
        """Reason why frames lack atoms of the topology, for messages."""
        return "not in the trajectory" if self.dataset is None else "in tags that are not open"

    @property
    def advice_on_absent_atoms(self) -> str:
        """Advice on reading all atoms of a molecule, for messages."""
        if self.dataset is None:
            return "give a trajectory with all atoms of its molecule"
        return "open all tags of its molecule"

    def columns_of(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the indices of atoms in a frame, and which of them belong to an open tag."""
        origin = self.origin
        if origin is None:
            return indices, np.ones(indices.shape, np.bool_)
        columns = np.searchsorted(origin, indices)
        return columns, origin[np.minimum(columns, len(origin) - 1)] == indices

    def indices_of(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices in the topology of atoms given by their indices in a frame."""
        origin = self.origin
        return columns if origin is None else origin[columns]

    def of_open_atoms(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of one value for each atom of the topology that belong to a frame."""
        origin = self.origin
        return values if origin is None else values[origin]

    def columns(self, atoms: Sequence[int] | NDArray[np.integer | np.bool_]) -> NDArray[np.int64]:
        """Return the indices in a frame of atoms given by topology indices or by a mask.

        A mask has one element per atom of a frame, or per atom of the topology.

        Raises
        ------
        SelectionError
            If there are none, or one is out of range or in a tag that is not open.
        """
        chosen = np.asarray(atoms)
        if chosen.dtype == np.bool_ and chosen.shape == (self.n_atoms,):
            chosen = self.indices_of(np.flatnonzero(chosen))
        elif chosen.dtype == np.bool_ and chosen.shape == (self.n_topology_atoms,):
            chosen = np.flatnonzero(chosen)
        indices = resolve_indices(chosen, self.n_topology_atoms)
        columns, there = self.columns_of(indices)
        if not there.all():
            raise SelectionError(
                f"{self.label}: atom {indices[~there][0]} is {self.absent_atoms} (indices are those"
                " of the topology): leave it out"
                + ("" if self.dataset is None else ", or open its tag too")
            )
        return columns


def index_of_some(found: Topology, atoms: AtomChoice, label: str, n_atoms: int) -> AtomIndex:
    """Return the index of files that have some atoms of a topology, in its order; see `open`.

    Raises
    ------
    SelectionError
        If their number is not that of a frame.
    """
    if isinstance(atoms, str):
        if needs_positions(atoms):
            raise SelectionError(
                f"atoms={atoms!r}: the atoms of the files cannot be found by positions: select"
                " them by names, or give their indices"
            )
        chosen = found.select(atoms, str(found))
    else:
        chosen = resolve_indices(np.asarray(atoms), found.n_atoms)
        if (np.diff(chosen) <= 0).any():
            raise SelectionError("atoms: the indices must rise, as files have that order")
    if len(chosen) != n_atoms:
        raise SelectionError(
            f"atoms={atoms if isinstance(atoms, str) else 'indices'!r}: selects"
            f" {len(chosen)} of the {found.n_atoms} atoms of {found}, but {label} has"
            f" {n_atoms}{groups_of_size(found, n_atoms)}"
        )
    return AtomIndex(label, n_atoms, found.n_atoms, chosen)
