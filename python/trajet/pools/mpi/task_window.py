"""RMA window on rank 0: the task states of the dispatch core, and the serialised tasks."""

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trajet.pools.dispatch import StragglerRule
from trajet.pools.mpi.communicator import MAX_BYTES, Communicator
from trajet.pools.task_table import OWN_CELLS, TaskTable

_CELL = 8
_LONGEST_SLEEP = 0.02
# A straggler is at least 50 ms over its limit.
_RULE = StragglerRule(min_done=1, grace=0.05)


class TaskWindow:
    """Window of a pass, made and closed by all ranks together.

    Attributes
    ----------
    table
        Task states, whose cells this window transports.
    """

    def __init__(
        self,
        ranks: Communicator,
        n_frames: Sequence[int],
        ends: NDArray[np.int64],
        task_bytes: Sequence[bytes],
    ) -> None:
        """Make the window of one pass.

        `n_frames` has the number of frames of each task, `ends` the byte at which each serialised
        task ends. `task_bytes` are the serialised tasks, which only rank 0 gives.
        """
        self._ranks, self._mpi, self._ends, self._task_bytes = (
            ranks,
            ranks.mpi,
            ends,
            task_bytes,
        )
        first = TaskTable.first_cells(ranks.size, len(n_frames))
        if ranks.rank:
            first_here, size = np.zeros(OWN_CELLS, np.int64), _CELL * OWN_CELLS
        else:
            first_here, size = first, first.nbytes + (int(ends[-1]) if len(ends) else 0)
        self._tasks_at = first.nbytes
        self._window = ranks.window(size, 1)
        memory: NDArray[np.uint8] = np.asarray(self._window.tomemory())
        self._cells: NDArray[np.int64] = memory[: first_here.nbytes].view(np.int64)
        self._window.Lock_all()
        self._cells[:] = first_here
        for end, data in zip(ends, task_bytes, strict=False):
            begin = first.nbytes + int(end) - len(data)
            memory[begin : begin + len(data)] = np.frombuffer(data, np.uint8)
        self._window.Sync()
        ranks.barrier()
        self._zero = time.perf_counter_ns()
        # numbers on their way to rank 0, which must live until they are there
        self._under_way: list[NDArray[np.int64]] = []
        self.table = TaskTable(self, ranks.rank, ranks.size, n_frames, _RULE)

    def close(self) -> None:
        """Free the window."""
        self._window.Unlock_all()
        del self._cells
        self._window.Free()

    def now(self) -> int:
        """Return the nanoseconds since all ranks made the window."""
        return time.perf_counter_ns() - self._zero

    def wait_for_straggler(self) -> tuple[range, int] | None:
        """Wait until a batch is overdue: return it and its rank, or None when all are done."""
        pause = 1e-3
        if self.table.rest(self.now()):
            return None
        while not self.table.has_ended:
            self.look()
            if (late := self.table.helped()) is not None:
                return late
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_SLEEP)
            self._ranks.progress()
        return None

    def look(self) -> None:
        """Find stragglers, on rank 0."""
        if self._ranks.rank == 0:
            self.table.look(self.now())

    def task_bytes(self, tasks: range) -> list[bytes]:
        """Return the serialised tasks of a batch."""
        if self._ranks.rank == 0:
            return [self._task_bytes[number] for number in tasks]
        begin = int(self._ends[tasks.start - 1]) if tasks.start else 0
        data = np.empty(int(self._ends[tasks.stop - 1]) - begin, np.uint8)
        for at in range(0, len(data), MAX_BYTES):
            piece = data[at : at + MAX_BYTES]
            place = (self._tasks_at + begin + at, len(piece), self._mpi.BYTE)
            self._window.Get([piece, self._mpi.BYTE], 0, place)
        self._flush()
        borders = [0, *(int(end) - begin for end in self._ends[tasks.start : tasks.stop])]
        return [data[first:end].tobytes() for first, end in pairwise(borders)]

    def _flush(self) -> None:
        """Wait until all operations on rank 0 are complete: one round trip."""
        self._window.Flush(0)
        self._under_way.clear()

    # Cells of the core.

    def add(self, cell: int, value: int) -> int:
        """Add to a cell of rank 0 and return what it was."""
        before = np.empty(1, np.int64)
        added = np.array([value], np.int64)
        self._window.Fetch_and_op(added, before, 0, _CELL * cell, self._mpi.SUM)
        self._flush()
        return int(before[0])

    def swap_if_zero(self, cell: int, value: int) -> bool:
        """Replace a cell of rank 0 if it is zero; return whether it was."""
        new, old = np.array([value], np.int64), np.zeros(1, np.int64)
        before = np.empty(1, np.int64)
        self._window.Compare_and_swap(new, old, before, 0, _CELL * cell)
        self._flush()
        return bool(before[0] == 0)

    def read(self, cell: int, count: int) -> NDArray[np.int64]:
        """Return cells of rank 0."""
        values = np.empty(count, np.int64)
        place = (_CELL * cell, count, self._mpi.INT64_T)
        origin: list[object] = [np.empty(count, np.int64), self._mpi.INT64_T]
        self._window.Get_accumulate(origin, [values, self._mpi.INT64_T], 0, place, self._mpi.NO_OP)
        self._flush()
        return values

    def write(self, worker: int, cell: int, values: Sequence[int]) -> None:
        """Replace cells of a rank; other ranks do not wait until rank 0 has the numbers."""
        place = (_CELL * cell, len(values), self._mpi.INT64_T)
        given = np.array(values, np.int64)
        self._window.Accumulate([given, self._mpi.INT64_T], worker, place, self._mpi.REPLACE)
        if worker == 0 and self._ranks.rank:
            self._under_way.append(given)
        else:
            self._window.Flush(worker)

    def tell(self, cell: int, values: Mapping[int, int]) -> None:
        """Replace a cell of several ranks, all at once: a rank answers when it polls."""
        # They must live until the operations are complete.
        given = {rank: np.array([value], np.int64) for rank, value in values.items()}
        for rank, value in given.items():
            place = (_CELL * cell, 1, self._mpi.INT64_T)
            self._window.Accumulate([value, self._mpi.INT64_T], rank, place, self._mpi.REPLACE)
        for rank in given:
            self._window.Flush(rank)

    def own(self) -> NDArray[np.int64]:
        """Return the cells of this rank."""
        self._window.Sync()
        return self._cells
