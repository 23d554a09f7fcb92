"""Moves arrays and states to rank 0: gathered at the end, one-sided, by shared memory or files.

Each array with an entry for each frame is a section of bytes, `(n_frames, entry_bytes)`.

**Invariant:** one transfer has fewer than 2^31 items, and on rank 0 there is no second copy of all
frames.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet.pools.mpi.communicator import MAX_BYTES, Communicator
from trajet.pools.passes import mapped_section
from trajet.pools.tasks import Sections, Task

if TYPE_CHECKING:
    from mpi4py.MPI import Datatype, Request

# Bytes that are gathered at a time, unless a single task is larger.
_AT_ONCE = 2**26
# Tasks whose arrays may be in flight.
_UNDER_WAY = 2
_TAG = 1


# Name of the transport, and of each section the file, with the offset in it.
TransportSpec: TypeAlias = tuple[str, list[tuple[Path, int]]]


class SectionTransport(Protocol):
    """Moves the entries of tasks in one array to rank 0.

    Attributes
    ----------
    keeps
        Whether `put` keeps the array, so that the caller must not reuse it.
    """

    keeps: bool

    def put(self, task: Task, part: NDArray[np.uint8]) -> None:
        """Send the entries of a task that this rank has done."""
        ...

    def flush(self) -> None:
        """Wait until sent entries have arrived, as far as this rank can."""
        ...

    def collect(self, winners: NDArray[np.int64] | None) -> None:
        """Move the remaining entries; `winners` is the rank that has done each task, on rank 0."""
        ...

    def close(self) -> None:
        """Free windows and files; collective."""
        ...


class GatheredSection:
    """Entries stay on the ranks and are gathered when all tasks are done."""

    keeps = True

    def __init__(
        self,
        ranks: Communicator,
        tasks: Sequence[Task],
        section: NDArray[np.uint8] | None,
        size: int,
    ) -> None:
        self._ranks, self._tasks, self._section, self._size = ranks, tasks, section, size
        self._held: dict[int, NDArray[np.uint8]] = {}

    def put(self, task: Task, part: NDArray[np.uint8]) -> None:
        """Keep the entries."""
        self._held[task.number] = part

    def flush(self) -> None:
        """Do nothing."""

    def collect(self, winners: NDArray[np.int64] | None) -> None:
        """Gather entries, some tasks at a time."""
        # Counts are then in frames, which stay below 2^31.
        kind = self._ranks.mpi.BYTE.Create_contiguous(self._size).Commit()
        none = np.empty((0, self._size), np.uint8)
        for batch in _batches(self._tasks, self._size):
            held = [self._held.pop(task.number) for task in batch if task.number in self._held]
            mine = held[0] if len(held) == 1 else np.concatenate([none, *held])
            if winners is None or self._section is None:
                self._ranks.comm.Gatherv([mine, len(mine), kind], None, 0)
            else:
                self._receive(mine, batch, winners, kind)
        kind.Free()

    def _receive(
        self,
        mine: NDArray[np.uint8],
        batch: Sequence[Task],
        winners: NDArray[np.int64],
        kind: "Datatype",
    ) -> None:
        """Gather a batch on rank 0."""
        assert self._section is not None
        by_rank: list[list[Task]] = [[] for _ in range(self._ranks.size)]
        for task in batch:
            by_rank[winners[task.number]].append(task)
        counts = [sum(task.n_frames for task in tasks) for tasks in by_rank]
        first, end = batch[0].frames[0], batch[-1].frames[1]
        there = self._section[first:end]
        # Neighbouring tasks of one rank are received in place.
        if all(neighbours(tasks) for tasks in by_rank):
            offsets = [tasks[0].frames[0] - first if tasks else 0 for tasks in by_rank]
            self._ranks.comm.Gatherv([mine, len(mine), kind], [there, (counts, offsets), kind], 0)
            return
        mixed = np.empty_like(there)
        offsets = [0, *np.cumsum(counts)[:-1].tolist()]
        self._ranks.comm.Gatherv([mine, len(mine), kind], [mixed, (counts, offsets), kind], 0)
        at = 0
        for tasks in by_rank:
            for task in tasks:
                self._section[slice(*task.frames)] = mixed[at : at + task.n_frames]
                at += task.n_frames

    def close(self) -> None:
        """Do nothing."""


class OneSidedSection:
    """Entries are put into memory of rank 0 (RMA) as tasks are done."""

    keeps = True

    def __init__(self, ranks: Communicator, section: NDArray[np.uint8] | None) -> None:
        self._ranks = ranks
        self._window = ranks.mpi.Win.Create(section, 1, comm=ranks.comm)
        self._window.Lock_all()
        self._under_way: list[list[Request]] = []
        # Arrays must live until their transfer is complete.
        self._held: list[NDArray[np.uint8]] = []

    def put(self, task: Task, part: NDArray[np.uint8]) -> None:
        """Start the transfer; it overlaps with the next task."""
        data, first = part.reshape(-1), task.frames[0] * part.shape[1]
        kind, requests = self._ranks.mpi.BYTE, []
        for at in range(0, len(data), MAX_BYTES):
            piece = data[at : at + MAX_BYTES]
            place = (first + at, len(piece), kind)
            requests.append(self._window.Rput([piece, kind], 0, place))
        self._under_way.append(requests)
        self._held.append(part)
        while len(self._under_way) > _UNDER_WAY:
            self._end_first()

    def _end_first(self) -> None:
        for request in self._under_way.pop(0):
            self._ranks.wait(request)
        self._held.pop(0)

    def flush(self) -> None:
        """Wait until rank 0 has all entries."""
        while self._under_way:
            self._end_first()
        self._window.Flush(0)

    def collect(self, winners: NDArray[np.int64] | None) -> None:
        """Make the entries visible to rank 0."""
        self._window.Sync()

    def close(self) -> None:
        """Free the window."""
        self._window.Unlock_all()
        self._window.Free()


class SharedSection:
    """Entries are copied to memory that all ranks of the machine map."""

    keeps = False

    def __init__(self, path: Path, offset: int, shape: tuple[int, int]) -> None:
        self._section = mapped_section(path, offset, *shape)

    def put(self, task: Task, part: NDArray[np.uint8]) -> None:
        """Copy the entries."""
        self._section[slice(*task.frames)] = part

    def flush(self) -> None:
        """Do nothing: copies are visible at once."""

    def collect(self, winners: NDArray[np.int64] | None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Unmap the memory."""
        del self._section


class FileSection:
    """Entries are written to a file by MPI-IO as tasks are done."""

    keeps = False

    def __init__(self, ranks: Communicator, path: Path, offset: int) -> None:
        self._ranks, self._offset = ranks, offset
        self._file = ranks.mpi.File.Open(ranks.comm, str(path), ranks.mpi.MODE_WRONLY)

    def put(self, task: Task, part: NDArray[np.uint8]) -> None:
        """Write the entries."""
        data, first = part.reshape(-1), task.frames[0] * part.shape[1]
        for at in range(0, len(data), MAX_BYTES):
            piece = data[at : at + MAX_BYTES]
            self._file.Write_at(self._offset + first + at, [piece, self._ranks.mpi.BYTE])

    def flush(self) -> None:
        """Make the entries visible to other ranks."""
        self._file.Sync()

    def collect(self, winners: NDArray[np.int64] | None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Close the file."""
        self._file.Close()


def make_transports(
    spec: TransportSpec,
    ranks: Communicator,
    tasks: Sequence[Task],
    sections: Sections | None,
    n_frames: int,
    entry_bytes: Sequence[int],
) -> dict[int, SectionTransport]:
    """Return the transport of each array that has bytes, by its number; collective.

    Rank 0 gives the destinations, `sections`.
    """
    name, locations = spec

    def transport(number: int, size: int) -> SectionTransport:
        section = None if sections is None else sections[number]
        if name == "shared":
            return SharedSection(*locations[number], (n_frames, size))
        if name == "file":
            return FileSection(ranks, *locations[number])
        if name == "one-sided":
            return OneSidedSection(ranks, section)
        return GatheredSection(ranks, tasks, section, size)

    return {k: transport(k, size) for k, size in enumerate(entry_bytes) if n_frames * size}


def neighbours(tasks: Sequence[Task]) -> bool:
    """Return whether each task follows the one before."""
    return all(a.number + 1 == b.number for a, b in pairwise(tasks))


def _batches(tasks: Sequence[Task], entry_bytes: int) -> list[list[Task]]:
    """Return runs of tasks whose entries are gathered at once."""
    batches: list[list[Task]] = []
    free = 0
    for task in tasks:
        size = entry_bytes * task.n_frames
        if not batches or free < size:
            batches.append([])
            free = _AT_ONCE
        batches[-1].append(task)
        free -= size
    return batches


def merge_steps(rank: int, size: int) -> Iterator[tuple[int, bool]]:
    """Iterate over what a rank does in the binary tree of ranks: the other rank, and if it sends.

    A rank receives the states of others, then sends its own once; rank 0 only receives.
    """
    step = 1
    while step < size:
        if rank & step:
            yield rank - step, True
            return
        if rank + step < size:
            yield rank + step, False
        step *= 2


def merge_along_tree(ranks: Communicator, states: _trajet.States) -> None:
    """Merge the states of all ranks along a binary tree of ranks, to rank 0.

    Rank 0 then receives a few states, not some of every rank.
    """
    for other, is_sender in merge_steps(ranks.rank, ranks.size):
        if is_sender:
            _send(ranks, states.subtrees(), other)
        else:
            states.add(_receive(ranks, other))


def _send(ranks: Communicator, states: NDArray[np.uint8], rank: int) -> None:
    ranks.comm.Send(np.array([len(states)], np.int64), rank, _TAG)
    for at in range(0, len(states), MAX_BYTES):
        ranks.comm.Send(states[at : at + MAX_BYTES], rank, _TAG)


def _receive(ranks: Communicator, rank: int) -> NDArray[np.uint8]:
    count = np.empty(1, np.int64)
    ranks.comm.Recv(count, rank, _TAG)
    states = np.empty(count[0], np.uint8)
    for at in range(0, len(states), MAX_BYTES):
        ranks.comm.Recv(states[at : at + MAX_BYTES], rank, _TAG)
    return states
