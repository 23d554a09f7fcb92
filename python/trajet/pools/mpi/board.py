"""Who does which task: numbers in the memory of rank 0 that every rank can reach.

Each rank has a run of neighbouring tasks of its own and takes them in order by a counter. When it
has none left it takes from the rank that has most: so a rank opens the files of its own part only,
and what it computed merges, unless others are late. When no task is left, one that takes too long
is done by an idle rank as well; the first of the two that claims it counts.

**Invariant:** every number is changed by one kind of operation alone, as MPI wants it.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet.pools import stragglers
from trajet.pools.mpi.link import MOST_BYTES, Link

# Each rank: the task that is to be given up (from 1), and whether something has failed.
_STOP, _FAILED = 0, 1
_OWN = 2
# Rank 0 besides: tasks that are not done, then the counter of each rank.
_LEFT = _OWN
_COUNTERS = _LEFT + 1
# Then of each task: who has done it and who begun it (from 1), when, who does it as well, and how
# long it took; nanoseconds.
_CLAIM, _OWNER, _BEGUN, _AGAIN, _TOOK = range(5)
_COLUMNS = 5
_CELL = 8
_MANY = 2**40
# Seconds below which nothing is late: it would not pay.
_NEVER_LATE = 0.05
_LONGEST_SLEEP = 0.02


class Board:
    """What the ranks know of a pass. Made and closed by all of them."""

    def __init__(
        self, link: Link, n_frames: Sequence[int], ends: NDArray[np.int64], told: Sequence[bytes]
    ) -> None:
        """Make it: task `k` has `n_frames[k]`, and is described by the bytes up to `ends[k]`.

        Rank 0 knows what all are `told`.
        """
        self._link, self._mpi, self._ends = link, link.mpi, ends
        self._told = told
        ranks = np.arange(link.size + 1)
        self._borders = len(n_frames) * ranks // link.size
        self._region: int | None = link.rank
        self._frames = np.array(n_frames, np.int64)
        self._table = _COUNTERS + link.size
        cells = _OWN
        if link.rank == 0:
            cells = self._table + _COLUMNS * len(n_frames)
        self._texts = _CELL * (self._table + _COLUMNS * len(n_frames))
        size = _CELL * cells + (int(ends[-1]) if link.rank == 0 and len(ends) else 0)
        self._window = link.window(size, 1)
        memory = np.frombuffer(self._window.tomemory(), np.uint8)
        self._cells: NDArray[np.int64] = memory[: _CELL * cells].view(np.int64)
        self._window.Lock_all()
        self._cells[:] = 0
        if link.rank == 0:
            self._cells[_LEFT] = len(n_frames)
            text = memory[self._texts :]
            for number, words in enumerate(told):
                text[ends[number] - len(words) : ends[number]] = np.frombuffer(words, np.uint8)
        self._window.Sync()
        link.meet()
        self._zero = time.perf_counter_ns()

    def close(self) -> None:
        """Give the memory back."""
        self._window.Unlock_all()
        del self._cells
        self._window.Free()

    def mine(self) -> range:
        """Return the tasks of this rank's own run."""
        return range(self._borders[self._link.rank], self._borders[self._link.rank + 1])

    def next(self) -> int | None:
        """Return a task that nobody has begun, and none when there is none."""
        while self._region is not None:
            region = self._region
            begin, end = self._borders[region], self._borders[region + 1]
            number = begin + self._add(_COUNTERS + region, 1)
            if number < end:
                return int(number)
            left = np.diff(self._borders) - self._read(_COUNTERS, self._link.size)
            # Neighbours first, so that not all go to the same.
            left = np.roll(left, -self._link.rank)
            most = int(np.argmax(left))
            self._region = None
            if left[most] > 0:
                self._region = (most + self._link.rank) % self._link.size
        return None

    def late(self) -> tuple[int, int] | None:
        """Wait for a task that takes too long: it and its rank; none when all are done."""
        pause = 1e-3
        while self._read(_LEFT, 1)[0] > 0:
            number = self._latest()
            if number is not None and self._swap(self._cell(number, _AGAIN)):
                # Its owner looks whether somebody does it as well when it claims it.
                claim, owner = self._read(self._cell(number, _CLAIM), 2)
                if claim == 0:
                    return number, int(owner) - 1
                continue
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_SLEEP)
            self._link.progress()
        return None

    def begin(self, number: int) -> None:
        """Note that this rank begins a task."""
        values = [self._link.rank + 1, time.perf_counter_ns() - self._zero]
        self._write(0, self._cell(number, _OWNER), values)

    def claim(self, number: int, seconds: float) -> bool:
        """Return whether this rank is the first to have done a task."""
        if not self._swap(self._cell(number, _CLAIM)):
            return False
        self._write(0, self._cell(number, _TOOK), [max(1, int(1e9 * seconds))])
        row = self._read(self._cell(number, 0), _COLUMNS)
        for other in {int(row[_OWNER]), int(row[_AGAIN])} - {0, self._link.rank + 1}:
            self._write(other - 1, _STOP, [number + 1])
        self._add(_LEFT, -1)
        return True

    def fail(self) -> None:
        """Have all ranks end."""
        self._add(_LEFT, -_MANY)
        for region in range(self._link.size):
            self._add(_COUNTERS + region, _MANY)
        for rank in range(self._link.size):
            self._write(rank, _FAILED, [1])

    def to_be_given_up(self, number: int) -> bool:
        """Return whether this rank should leave a task."""
        self._window.Sync()
        return bool(self._cells[_FAILED] or self._cells[_STOP] == number + 1)

    @property
    def failed(self) -> bool:
        """Whether any rank has failed."""
        self._window.Sync()
        return bool(self._cells[_FAILED])

    def text(self, number: int) -> bytes:
        """Return what is to be known of a task."""
        if self._link.rank == 0:
            return self._told[number]
        begin, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        words = np.empty(end - begin, np.uint8)
        for at in range(0, len(words), MOST_BYTES):
            piece = words[at : at + MOST_BYTES]
            place = (self._texts + begin + at, len(piece), self._mpi.BYTE)
            self._window.Get([piece, self._mpi.BYTE], 0, place)
        self._window.Flush(0)
        return words.tobytes()

    def claims(self) -> NDArray[np.int64]:
        """Return which rank has done each task, -1 where none has; on rank 0."""
        self._window.Sync()
        rows = self._cells[self._table :].reshape(-1, _COLUMNS)
        return rows[:, _CLAIM] - 1

    def frames_done(self) -> int:
        """Return the frames of tasks that are done; on rank 0."""
        return int(self._frames[self.claims() >= 0].sum())

    def _latest(self) -> int | None:
        """Return the task that has taken too long for longest."""
        rows = self._read(self._table, _COLUMNS * len(self._frames)).reshape(-1, _COLUMNS)
        took = rows[:, _TOOK] > 0
        if not took.any():
            return None
        pace = rows[took, _TOOK] / self._frames[took]
        limit = min(stragglers.limits(pace.tolist()).values())
        since = time.perf_counter_ns() - self._zero - rows[:, _BEGUN]
        open_ = (rows[:, _CLAIM] == 0) & (rows[:, _BEGUN] > 0) & (rows[:, _AGAIN] == 0)
        late = open_ & (since > limit * self._frames) & (since > 1e9 * _NEVER_LATE)
        late &= rows[:, _OWNER] != self._link.rank + 1
        return int(np.argmax(np.where(late, since, 0))) if late.any() else None

    def _cell(self, number: int, column: int) -> int:
        return self._table + _COLUMNS * number + column

    def _add(self, cell: int, value: int) -> int:
        """Add to a number of rank 0 and return what it was."""
        before = np.empty(1, np.int64)
        added = np.array([value], np.int64)
        self._window.Fetch_and_op(added, before, 0, _CELL * cell, self._mpi.SUM)
        self._window.Flush(0)
        return int(before[0])

    def _swap(self, cell: int) -> bool:
        """Put this rank, from 1, where zero was; return whether zero was there."""
        new, old = np.array([self._link.rank + 1], np.int64), np.zeros(1, np.int64)
        before = np.empty(1, np.int64)
        self._window.Compare_and_swap(new, old, before, 0, _CELL * cell)
        self._window.Flush(0)
        return bool(before[0] == 0)

    def _read(self, cell: int, count: int) -> NDArray[np.int64]:
        """Return numbers of rank 0."""
        values = np.empty(count, np.int64)
        place = (_CELL * cell, count, self._mpi.INT64_T)
        origin: list[Any] = [np.empty(count, np.int64), self._mpi.INT64_T]
        self._window.Get_accumulate(origin, [values, self._mpi.INT64_T], 0, place, self._mpi.NO_OP)
        self._window.Flush(0)
        return values

    def _write(self, rank: int, cell: int, values: Sequence[int]) -> None:
        """Replace numbers of a rank."""
        place = (_CELL * cell, len(values), self._mpi.INT64_T)
        given = [np.array(values, np.int64), self._mpi.INT64_T]
        self._window.Accumulate(given, rank, place, self._mpi.REPLACE)
        self._window.Flush(rank)
