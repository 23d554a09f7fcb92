"""`FrameBatches`: frames of one or several trajectories in batches, in a new order each epoch."""

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, FrameError, SelectionError
from trajet.atom_matching import check_same_atoms
from trajet.checked_numbers import whole_number
from trajet.messages import Message, Messages
from trajet.trajectory.atom_index import FrameChoice
from trajet.trajectory.trajectory import Selection


class FrameBatches(Messages):
    """Positions of frames in batches, as many times over as wanted: in epochs.

    Which frames a batch has depends on the seed, the epoch and the number of the batch alone, not
    on who reads it. Pickled, it opens its files anew.

    Attributes
    ----------
    size
        Frames of a batch; the last one may have fewer.
    n_frames
        Frames of an epoch.
    n_atoms
        Atoms of a frame.
    messages
        Messages on selections whose atoms have other names than those of the first.
    """

    def __init__(
        self,
        atoms: Selection | Sequence[Selection],
        frames: FrameChoice,
        size: int,
        *,
        shuffle: bool,
        seed: int,
    ) -> None:
        self._selections = _checked(atoms)
        self.messages: tuple[Message, ...] = _check_atoms(self._selections)
        self._frames = [each.source.numbers(frames) for each in self._selections]
        self._ends = np.cumsum([len(numbers) for numbers in self._frames])
        self.size = whole_number(size, "batch", least=1)
        self._seed = whole_number(seed, "seed", least=0)
        self._shuffle = shuffle
        self.n_frames = int(self._ends[-1])
        self.n_atoms = self._selections[0].n_atoms
        if not self.n_frames:
            raise ValueError("frames= chooses no frames, and a batch has at least one")
        # The order of the epoch that was read last.
        self._order: tuple[int, NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return (self.n_frames + self.size - 1) // self.size

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_order": None}

    def frames_of(self, batch: int, epoch: int) -> NDArray[np.int64]:
        """Return the frames of a batch, `(n, 2)`: number of the selection, and number of the frame.

        Raises
        ------
        IndexError
            If there is no such batch.
        """
        if not 0 <= batch < len(self):
            raise IndexError(f"batch {batch} is out of range: there are {len(self)}")
        first = batch * self.size
        if self._shuffle:
            entries = self._order_of(epoch)[first : first + self.size]
        else:
            entries = np.arange(first, min(first + self.size, self.n_frames))
        members = np.searchsorted(self._ends, entries, side="right")
        found = np.empty((len(entries), 2), np.int64)
        found[:, 0] = members
        for member in np.unique(members):
            here = members == member
            numbers = self._frames[member]
            found[here, 1] = numbers[entries[here] - (self._ends[member] - len(numbers))]
        return found

    def read(self, batch: int, epoch: int, out: NDArray[np.float32]) -> None:
        """Read the positions of a batch (Å) with one thread.

        Parameters
        ----------
        batch, epoch
            Numbers of the batch and the epoch.
        out
            `(n, n_atoms, 3)`, float32, C order, with the n frames of the batch; receives them.

        Raises
        ------
        IndexError
            If there is no such batch.
        FrameError
            If a frame has no positions, or an atom has none.
        TrajetError
            As `Selection.read`.
        """
        found = self.frames_of(batch, epoch)
        for member in np.unique(found[:, 0]):
            selection, here = self._selections[member], found[:, 0] == member
            if here.all():
                selection.read(found[:, 1], out, threads=1)
            else:
                out[here] = selection.read(found[here, 1], threads=1).positions
        if not np.isfinite(out).all():
            self._refuse(found, out)

    def _refuse(self, found: NDArray[np.int64], out: NDArray[np.float32]) -> NoReturn:
        """Raise the error on the first frame of a batch that has positions which are no numbers."""
        missing: NDArray[np.bool_] = np.logical_not(np.isfinite(out).all(axis=2))
        row = int(missing.any(axis=1).argmax())
        label = self._selections[found[row, 0]].trajectory.label
        which = "it has no positions"
        if not missing[row].all():
            which = f"{missing[row].sum()} of the {self.n_atoms} selected atoms have no positions"
        raise FrameError(
            f"{label}: frame {found[row, 1]}: {which}, and tensors need numbers: leave the frame"
            " out with frames="
        )

    def _order_of(self, epoch: int) -> NDArray[np.int64]:
        """Return the permutation of all frames of an epoch."""
        # Another thread may replace it at any moment.
        order = self._order
        if order is None or order[0] != epoch:
            random = np.random.Generator(np.random.PCG64([self._seed, epoch]))
            self._order = order = epoch, random.permutation(self.n_frames)
        return order[1]


def _checked(atoms: Selection | Sequence[Selection]) -> tuple[Selection, ...]:
    """Return selections whose frames can be mixed.

    Raises
    ------
    SelectionError
        If their numbers of atoms differ.
    AnalysisError
        If jumps over the box are removed.
    TypeError
        If one is no selection of fixed atoms.
    """
    selections = (atoms,) if isinstance(atoms, Selection) else tuple(atoms)
    if not selections:
        raise ValueError("atoms: give a selection, or several")
    for each in selections:
        if not isinstance(each, Selection):
            raise TypeError(
                "atoms: give a selection, as trajectory.select makes it, or several, not"
                f" {type(each).__name__}"
            )
        if each.n_atoms != selections[0].n_atoms:
            raise SelectionError(
                f"{each.trajectory.label}: {each.n_atoms} atoms are selected, and"
                f" {selections[0].n_atoms} in {selections[0].trajectory.label}: a batch needs the"
                " same number of each frame"
            )
        if each.trajectory.source.reader.has_no_jump:
            raise AnalysisError(
                f"{each.trajectory.label}: jumps over the box are removed from frame to frame,"
                " which frames in random order do not allow: write a copy with tj.convert first"
            )
    return selections


def _check_atoms(selections: Sequence[Selection]) -> tuple[Message, ...]:
    """Raise an error if selections are not the same atoms, and return messages.

    Without a topology, the same atoms have the same indices.

    Raises
    ------
    SelectionError
        If names, residues or masses of atoms show that they are others or in another order.
    """
    first = selections[0]
    messages: list[Message] = []
    for each in selections[1:]:
        what = f"{each.trajectory.label}, and {first.trajectory.label} as the reference"
        is_named = first.trajectory.has_topology and each.trajectory.has_topology
        is_same = np.array_equal(each.indices, first.indices)
        if is_named:
            if is_same and each.trajectory.topology is first.trajectory.topology:
                continue
            messages += check_same_atoms(each.topology_atoms, first.topology_atoms, what)
        elif not is_same:
            raise SelectionError(
                f"{what}: other atoms are selected, and without topologies of both nothing shows"
                " that they are the same: open both with a topology, or select the same indices"
            )
    return tuple(messages)
