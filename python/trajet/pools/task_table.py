"""Core of workers that pull tasks from shared memory: MPI ranks.

It changes numbers through `Cells`, which an adapter transports. An operation of a worker moves a
few numbers, whatever the number of tasks and workers, except for one a worker steals by: that
reads a number of each worker. Worker 0 alone finds stragglers, in its own memory, and gives them to
idle workers, which look at their own memory only.

Workers take tasks in batches (`trajet.pools.task_batches`). A batch is begun, claimed, cancelled
and given to an idle worker as a whole.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trajet import advise
from trajet.pools.dispatch import StragglerRule
from trajet.pools.task_batches import MAX_TASKS, shared


class Cells(Protocol):
    """Int64 numbers that all workers reach: a block that they share, and a few of each worker.

    Each number is changed by one kind of operation alone.
    """

    def add(self, cell: int, value: int) -> int:
        """Add to a shared number and return what it was, in one step."""
        ...

    def swap_if_zero(self, cell: int, value: int) -> bool:
        """Replace a shared number if it is zero, in one step; return whether it was."""
        ...

    def read(self, cell: int, count: int) -> NDArray[np.int64]:
        """Return shared numbers."""
        ...

    def write(self, worker: int, cell: int, values: Sequence[int]) -> None:
        """Replace numbers of a worker; those of worker 0 are the shared ones.

        Others see those of worker 0 before this worker's next operation but a write returns.
        """
        ...

    def tell(self, cell: int, values: Mapping[int, int]) -> None:
        """Replace a number of several workers; no order among them."""
        ...

    def own(self) -> NDArray[np.int64]:
        """Return the numbers of this worker."""
        ...


# Each worker: the batch to cancel, whether any worker has failed, and what an idle worker is to do:
# nothing yet, a batch that another worker runs (both in one number), or to end.
_CANCEL, _FAILED, _HELP = range(3)
_END = -1
# Numbers of a worker other than worker 0.
OWN_CELLS = 3
# Shared besides: tasks that are not done, then a counter of each worker, then two numbers of each
# worker: its batch or what else it does, and since when; then two numbers of each task that is
# done, in this order, of which those of the first task of a batch are set: the batch and how long
# it took (ns); then columns of each task: who has done it, and, of the first task of a batch, who
# runs it as well (from 1). A batch is one number, `_packed`.
_LEFT = OWN_CELLS
_COUNTERS = _LEFT + 1
_IDLE, _HELPS, _ENDED = -1, -2, -3
_MANY = 2**40
_BITS = MAX_TASKS.bit_length()


def _packed(tasks: range) -> int:
    """Return a batch as one number above 0."""
    return tasks.start << _BITS | len(tasks)


def _unpacked(packed: int) -> range:
    """Return the tasks of a packed batch."""
    return range(packed >> _BITS, (packed >> _BITS) + (packed & MAX_TASKS))


class TaskTable:
    """Tasks that workers pull from shared numbers, as one of the workers sees it.

    Each worker has a run of neighbouring tasks and takes them in order. When it has none left it
    takes from the worker that has most: so a worker opens the files of its own part only, and what
    it computed merges, unless others are late. When no task is left, worker 0 gives stragglers,
    which are batches, to idle workers; the first of the two that claims the batch counts.

    Parameters
    ----------
    cells
        The shared numbers; zero at the beginning, but for what `first_cells` returns.
    worker, n_workers
        This worker, from 0, and how many there are.
    n_frames
        Frames of each task.
    rule
        When a task is a straggler.
    """

    def __init__(
        self,
        cells: Cells,
        worker: int,
        n_workers: int,
        n_frames: Sequence[int] | NDArray[np.int64],
        rule: StragglerRule,
    ) -> None:
        self._cells, self._worker, self._n_workers, self._rule = cells, worker, n_workers, rule
        # frames of all tasks before each
        self._before = np.concatenate(([0], np.cumsum(n_frames, dtype=np.int64)))
        self._n_tasks = len(n_frames)
        self._at = _COUNTERS + n_workers
        self._log = self._at + 2 * n_workers
        self._claims = self._log + 2 * self._n_tasks
        self._also = self._claims + self._n_tasks
        # the worker whose run this one takes tasks from
        self._source: int | None = worker
        # tasks of this run that were left when this worker last looked
        self._left = self._border(worker + 1) - self._border(worker)
        # the straggler that this worker runs as well, and its worker
        self._helped: tuple[range, int] | None = None
        # on worker 0: entries of the log that it has read
        self._read = self._frames_done = 0
        self._rates = advise.RunningVerdict()
        self._slow: set[int] = set()

    @staticmethod
    def first_cells(n_workers: int, n_tasks: int) -> NDArray[np.int64]:
        """Return the shared numbers before anything is begun."""
        cells = np.zeros(_COUNTERS + 3 * n_workers + 4 * n_tasks, np.int64)
        cells[_LEFT] = n_tasks
        return cells

    def own_run(self) -> range:
        """Return the tasks of this worker's own run."""
        return range(self._border(self._worker), self._border(self._worker + 1))

    def next(self, size: int = 1) -> range | None:
        """Take up to `size` neighbouring tasks that no worker has begun; None if there are none.

        The number falls with the tasks that are left in the run, down to one.
        """
        while self._source is not None:
            begin, end = self._border(self._source), self._border(self._source + 1)
            count = shared(min(size, MAX_TASKS), self._left)
            first = begin + self._cells.add(_COUNTERS + self._source, count)
            if first < end:
                tasks = range(first, min(first + count, end))
                self._left = end - tasks.stop
                return tasks
            borders = self._n_tasks * np.arange(self._n_workers + 1) // self._n_workers
            left = np.diff(borders) - self._cells.read(_COUNTERS, self._n_workers)
            # Neighbours first, so that not all go to the same.
            left = np.roll(left, -self._worker)
            most = int(np.argmax(left))
            self._left = int(left[most])
            self._source = (most + self._worker) % self._n_workers if self._left > 0 else None
        return None

    def begin(self, tasks: range, now: int) -> None:
        """Note that this worker begins a batch, `now` nanoseconds after the pass began."""
        self._cells.write(0, self._at + 2 * self._worker, [_packed(tasks), now])

    def claim(self, tasks: range, seconds: float) -> bool:
        """Return whether this worker is the first to have done a batch; cancel it elsewhere."""
        first = tasks.start
        if not self._cells.swap_if_zero(self._claims + first, self._worker + 1):
            return False
        if len(tasks) > 1:
            self._cells.write(0, self._claims + first + 1, [self._worker + 1] * (len(tasks) - 1))
        if self._helped is not None and self._helped[0] == tasks:
            other = self._helped[1]
        else:
            other = int(self._cells.read(self._also + first, 1)[0]) - 1
        if other >= 0:
            self._cells.write(other, _CANCEL, [_packed(tasks)])
        left = self._cells.add(_LEFT, -len(tasks))
        if left > 0:
            entry = self._log + 2 * (self._n_tasks - left)
            self._cells.write(0, entry, [_packed(tasks), max(1, int(1e9 * seconds))])
        return True

    def rest(self, now: int) -> bool:
        """Note that this worker has no task, until `helped` returns one; return whether all end."""
        self._helped = None
        self._cells.write(self._worker, _HELP, [0])
        self._cells.write(0, self._at + 2 * self._worker, [_IDLE, now])
        is_over = self.is_done
        if is_over and not self._worker:
            # Worker 0 looks no more, and others may rest already.
            self.look(now)
        return is_over

    def helped(self) -> tuple[range, int] | None:
        """Return the straggler that worker 0 gave to this idle worker, and its worker."""
        asked = int(self._cells.own()[_HELP])
        if asked > 0:
            packed, owner = divmod(asked, self._n_workers)
            self._helped = _unpacked(packed), owner
        return self._helped

    def look(self, now: int) -> None:
        """Give stragglers to idle workers, or end them when all is done; on worker 0."""
        self._read_log()
        cells = self._cells.own()
        # A copy: other workers change these numbers meanwhile.
        tasks, since = cells[self._at : self._log].copy().reshape(-1, 2).T
        idle = np.flatnonzero(tasks == _IDLE)
        if not len(idle):
            return
        if cells[_LEFT] <= 0:
            for worker in idle.tolist():
                self._cells.write(0, self._at + 2 * worker, [_ENDED, now])
            self._cells.tell(_HELP, dict.fromkeys(idle.tolist(), _END))
            return
        limits = self._rule.limits(self._rates)
        if not limits:
            return
        owners = np.flatnonzero(tasks > 0)
        packed = tasks[owners]
        first = packed >> _BITS
        open_ = (cells[self._claims + first] == 0) & (cells[self._also + first] == 0)
        owners, packed, first = owners[open_], packed[open_], first[open_]
        seconds = 1e-9 * (now - since[owners])
        n_frames = self._before[first + (packed & MAX_TASKS)] - self._before[first]
        late = np.flatnonzero(self._rule.are_broken(limits, seconds, n_frames))
        if not len(late):
            return
        self._slow.update(owners[late].tolist())
        free = [worker for worker in idle.tolist() if worker not in self._slow]
        # A slow worker is not idle while it runs a task: helpers are other workers.
        by_time = late[np.argsort(-seconds[late], kind="stable")]
        given: dict[int, int] = {}
        for k, helper in zip(by_time.tolist(), free, strict=False):
            number, owner = int(first[k]), int(owners[k])
            self._cells.write(0, self._also + number, [helper + 1])
            # The owner looks whether another worker runs it as well after it has claimed it.
            if not self._cells.read(self._claims + number, 1)[0]:
                self._cells.write(0, self._at + 2 * helper, [_HELPS, now])
                given[helper] = int(packed[k]) * self._n_workers + owner
        self._cells.tell(_HELP, given)

    def fail(self) -> None:
        """Have all workers end."""
        self._cells.add(_LEFT, -_MANY)
        for worker in range(self._n_workers):
            self._cells.add(_COUNTERS + worker, _MANY)
        self._cells.tell(_FAILED, dict.fromkeys(range(self._n_workers), 1))

    def is_cancelled(self, tasks: range) -> bool:
        """Return whether this worker is to stop a batch."""
        own = self._cells.own()
        return bool(own[_FAILED] or own[_CANCEL] == _packed(tasks))

    @property
    def is_done(self) -> bool:
        """Whether all tasks are done, or a worker has failed."""
        return bool(self._cells.read(_LEFT, 1)[0] <= 0)

    @property
    def has_ended(self) -> bool:
        """Whether worker 0 has found that all is done, or any worker has failed."""
        own = self._cells.own()
        return bool(own[_FAILED] or own[_HELP] == _END)

    @property
    def has_failed(self) -> bool:
        """Whether any worker has failed."""
        return bool(self._cells.own()[_FAILED])

    def claims(self) -> NDArray[np.int64]:
        """Return the worker that has done each task, -1 where none has; on worker 0."""
        return self._cells.own()[self._claims : self._also] - 1

    def frames_done(self) -> int:
        """Return the frames of tasks that are done; on worker 0."""
        self._read_log()
        return self._frames_done

    def _read_log(self) -> None:
        """Read which batches were done since the last time, and how long they took."""
        log = self._cells.own()[self._log : self._claims]
        # An entry may be there in part.
        while self._read < self._n_tasks and log[2 * self._read] and log[2 * self._read + 1]:
            tasks, took = _unpacked(int(log[2 * self._read])), int(log[2 * self._read + 1])
            n_frames = int(self._before[tasks.stop] - self._before[tasks.start])
            self._rates.add(1e-9 * took / n_frames)
            self._frames_done += n_frames
            self._read += len(tasks)

    def _border(self, worker: int) -> int:
        """Return the first task of a worker's run."""
        return self._n_tasks * worker // self._n_workers
