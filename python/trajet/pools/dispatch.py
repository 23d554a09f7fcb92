"""Dispatch core: which task runs where, retries, stragglers and speculative execution.

The core decides and does nothing else: no clocks, no processes. An adapter calls a method per
event, with the time as an argument. `Dispatch` returns instructions, which the adapter carries out;
`TaskTable` changes numbers through `Cells`, which the adapter transports.

- `Dispatch` serves pools that submit tasks from one process: processes and Dask.
- `TaskTable` serves workers that pull tasks from shared memory: MPI ranks.

Both retry (`is_retried`) and name stragglers (`StragglerRule`) by the same rules.
"""

import errno
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import advise
from trajet._trajet import TrajetError

# Attempts of a task whose storage fails.
MAX_ATTEMPTS = 3
# A storage that fails with one of these may answer the next time.
_TRANSIENT = {
    errno.EIO,
    errno.EAGAIN,
    errno.EINTR,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ECONNRESET,
    errno.EHOSTDOWN,
}


def is_retried(error: BaseException | None, attempts: int) -> bool:
    """Return whether a task that failed `attempts` times, last with `error`, runs again."""
    # Errors of readers of MDAnalysis have the number of an `OSError` and are none.
    is_ours = isinstance(error, (OSError, TrajetError))
    return is_ours and getattr(error, "errno", None) in _TRANSIENT and attempts < MAX_ATTEMPTS


@dataclass(frozen=True)
class StragglerRule:
    """Decides which tasks take unusually long, by the rules of `trajet.advise`.

    Attributes
    ----------
    min_done
        Tasks that must be done before a task can be a straggler.
    grace
        Seconds over the limit below which speculation does not pay.
    """

    min_done: int
    grace: float

    def limits(self, rates: Sequence[float]) -> dict[str, float]:
        """Return the limit of each rule, in seconds a frame; empty while too few tasks are done.

        Parameters
        ----------
        rates
            Seconds a frame of the tasks that are done.
        """
        return advise.Verdict(rates).limits if len(rates) >= self.min_done else {}

    def broken(self, limits: Mapping[str, float], seconds: float, n_frames: int) -> list[str]:
        """Return the rules whose limit `seconds` for `n_frames` exceed."""
        return [rule for rule, rate in limits.items() if seconds - self.grace > rate * n_frames]


class Copy(NamedTuple):
    """One submission of a task; `number` counts the submissions of the task from 0."""

    task: int
    number: int


class Submit(NamedTuple):
    """Instruction: submit a copy, to the worker `only` alone, or to one of `prefer` if possible."""

    copy: Copy
    only: str | None = None
    prefer: tuple[str, ...] = ()


class Cancel(NamedTuple):
    """Instruction: cancel these copies; their results are not taken."""

    copies: tuple[Copy, ...]


class Take(NamedTuple):
    """Instruction: merge the result of this copy; there is one for each task."""

    copy: Copy


class GiveUp(NamedTuple):
    """Instruction: end the run with the error of this copy."""

    copy: Copy


Instruction: TypeAlias = Submit | Cancel | Take | GiveUp


@dataclass
class Straggler:
    """A copy that took unusually long, so that an idle worker got the task as well.

    Attributes
    ----------
    worker
        Worker of the copy, if it has started.
    state
        `waiting`, `running` or `gathering` (its arrays were on their way).
    rules
        Rules of `StragglerRule` that it broke after `seconds`.
    also_on
        Worker that got the task as well.
    answered_by
        Worker whose result was taken.
    """

    task: int
    worker: str | None
    state: str
    rules: list[str]
    seconds: float
    also_on: str
    answered_by: str | None = None


@dataclass
class _Attempt:
    """State of a copy: its worker, since when it runs, and since when its arrays are gathered."""

    worker: str | None = None
    started: float | None = None
    # since when, and frames of the whole request
    gathering: tuple[float, int] | None = None


@dataclass
class _OpenTask:
    """State of a task whose result was not taken yet."""

    submitted: int = 0
    failed: int = 0
    copies: dict[Copy, _Attempt] = field(default_factory=dict)
    # whether a copy has ended with a result, which is not here yet
    is_computed: bool = False
    stragglers: list[Straggler] = field(default_factory=list)


class Dispatch:
    """State machine of the tasks that one process submits.

    Parameters
    ----------
    n_frames
        Frames of each task.
    pins
        Worker of each task that may run nowhere else while that worker lives.
    rule
        When to run a task on an idle worker as well; None for never.
    """

    def __init__(
        self,
        n_frames: Sequence[int],
        *,
        pins: Mapping[int, str] | None = None,
        rule: StragglerRule | None = None,
    ) -> None:
        self.stragglers: list[Straggler] = []
        self.frames_done = 0
        self._n_frames, self._pins, self._rule = n_frames, dict(pins or {}), rule
        self._open = {task: _OpenTask() for task in range(len(n_frames))}
        self._workers: dict[str, int] = {}
        self._running: dict[Copy, str] = {}
        # workers that straggled: they get no more copies of stragglers
        self.slow: set[str | None] = set()
        # seconds a frame: of tasks, and of gathering their arrays
        self._rates: list[float] = []
        self._gather_rates: list[float] = []
        self._idle_since: float | None = None

    @property
    def is_done(self) -> bool:
        """Whether the results of all tasks were taken."""
        return not self._open

    def is_open(self, copy: Copy) -> bool:
        """Return whether a copy is submitted and its result may still be taken."""
        return self._attempt(copy) is not None

    def start(self, workers: Mapping[str, int]) -> list[Submit]:
        """Return the first copy of every task; see `workers_changed`."""
        self._workers = dict(workers)
        return [self._submit(task, self._pins.get(task)) for task in self._open]

    def workers_changed(self, workers: Mapping[str, int]) -> list[Instruction]:
        """Note the workers, with the tasks that each runs at a time, as they join and leave.

        Tasks that were pinned to a worker that left may run anywhere.
        """
        self._workers = dict(workers)
        tasks = [n for n, worker in self._pins.items() if worker not in workers]
        for task in tasks:
            del self._pins[task]
        tasks = [task for task in tasks if task in self._open]
        cancelled = self._cancel([copy for task in tasks for copy in self._open[task].copies])
        return [*cancelled, *(self._submit(task) for task in tasks)]

    def started(self, copy: Copy, worker: str, now: float) -> None:
        """Note that a worker has begun a copy; another worker may have begun it before."""
        if (attempt := self._attempt(copy)) is not None:
            attempt.worker, attempt.started = worker, now
            self._running[copy] = worker

    def stopped(self, copy: Copy) -> None:
        """Note that a copy has stopped; its backend will run it again or report it."""
        if (attempt := self._attempt(copy)) is not None:
            attempt.gathering, self._open[copy.task].is_computed = None, False
            self._running.pop(copy, None)

    def computed(self, copy: Copy) -> list[Instruction]:
        """Note that a copy has a result, which is to be gathered; others need not go on."""
        if not self.is_open(copy):
            return []
        self._open[copy.task].is_computed = True
        self._running.pop(copy, None)
        return self._cancel([other for other in self._open[copy.task].copies if other != copy])

    def gathering(self, copies: Sequence[Copy], now: float) -> None:
        """Note that the arrays of some copies are on their way, in one request."""
        n_frames = sum(self._n_frames[copy.task] for copy in copies)
        for copy in copies:
            if (attempt := self._attempt(copy)) is not None:
                attempt.gathering = now, n_frames

    def gathered(self, copies: Sequence[Copy], seconds: float) -> None:
        """Note how long a request for arrays took."""
        n_frames = sum(self._n_frames[copy.task] for copy in copies)
        self._gather_rates.append(seconds / n_frames)

    def finished(self, copy: Copy, worker: str, seconds: float) -> list[Instruction]:
        """Return what to do with a result that has arrived; its task took `seconds`."""
        if not self.is_open(copy):
            return []
        task = self._open[copy.task]
        self._drop(copy)
        cancelled = self._cancel(list(task.copies))
        del self._open[copy.task]
        for straggler in task.stragglers:
            straggler.answered_by = worker
        self._rates.append(seconds / self._n_frames[copy.task])
        self.frames_done += self._n_frames[copy.task]
        return [*cancelled, Take(copy)]

    def failed(self, copy: Copy, error: BaseException | None) -> list[Instruction]:
        """Return whether to run a failed task again, elsewhere if possible, or to give up."""
        if (attempt := self._attempt(copy)) is None:
            return []
        task = self._open[copy.task]
        task.failed += 1
        if not is_retried(error, task.failed):
            return [GiveUp(copy)]
        return self._again(copy, [worker for worker in self._workers if worker != attempt.worker])

    def lost(self, copy: Copy) -> list[Instruction]:
        """Return what to do about a copy that its backend dropped with its worker."""
        return self._again(copy, []) if self.is_open(copy) else []

    def tick(self, now: float) -> list[Instruction]:
        """Return copies of stragglers for workers that are idle."""
        idle = self._idle() if self._rule is not None else []
        if not idle or self._rule is None:
            self._idle_since = None
            return []
        if self._idle_since is None:
            self._idle_since = now
        limits, gather_limits = map(self._rule.limits, (self._rates, self._gather_rates))
        submitted: list[Instruction] = []
        for number, task in self._open.items():
            if not idle:
                break
            if len(task.copies) != 1:
                continue
            ((_, attempt),) = task.copies.items()
            n_frames = self._n_frames[number]
            if attempt.gathering is not None:
                (since, n_frames), state, by = attempt.gathering, "gathering", gather_limits
            elif task.is_computed:
                continue
            elif attempt.started is not None:
                since, state, by = attempt.started, "running", limits
            else:
                # Other workers are idle: it waits behind a straggler.
                since, state, by = self._idle_since, "waiting", limits
            rules = self._rule.broken(by, now - since, n_frames)
            others = [worker for worker in idle if worker != attempt.worker]
            if rules and others:
                idle.remove(others[0])
                self.slow.add(attempt.worker)
                late = Straggler(number, attempt.worker, state, rules, now - since, others[0])
                task.stragglers.append(late)
                self.stragglers.append(late)
                submitted.append(self._submit(number, prefer=(others[0],)))
        return submitted

    def _attempt(self, copy: Copy) -> _Attempt | None:
        task = self._open.get(copy.task)
        return None if task is None else task.copies.get(copy)

    def _submit(self, task: int, only: str | None = None, prefer: Iterable[str] = ()) -> Submit:
        state = self._open[task]
        copy = Copy(task, state.submitted)
        state.submitted += 1
        state.is_computed = False
        state.copies[copy] = _Attempt()
        return Submit(copy, only, tuple(prefer))

    def _cancel(self, copies: Sequence[Copy]) -> list[Instruction]:
        for copy in copies:
            self._drop(copy)
        return [Cancel(tuple(copies))] if copies else []

    def _again(self, copy: Copy, prefer: Iterable[str]) -> list[Instruction]:
        """Forget a copy; return another one unless the task still has some."""
        self._drop(copy)
        task = self._open[copy.task]
        return [] if task.copies else [self._submit(copy.task, prefer=prefer)]

    def _idle(self) -> list[str]:
        """Return the workers that could run more tasks, without those that straggled."""
        busy = Counter(self._running.values())
        workers = self._workers.items()
        return [name for name, n in workers if busy[name] < n and name not in self.slow]

    def _drop(self, copy: Copy) -> None:
        del self._open[copy.task].copies[copy]
        self._running.pop(copy, None)


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
        """Replace numbers of a worker; those of worker 0 are the shared ones."""
        ...

    def own(self) -> NDArray[np.int64]:
        """Return the numbers of this worker."""
        ...


# Each worker: the task to cancel (from 1), and whether any worker has failed.
_CANCEL, _FAILED = 0, 1
# Numbers of a worker other than worker 0.
OWN_CELLS = 2
# Shared besides: tasks that are not done, then a counter of each worker, then columns of each task:
# who has done it and who began it (from 1), when, who runs it as well, and how long it took (ns).
_LEFT = OWN_CELLS
_COUNTERS = _LEFT + 1
_CLAIM, _OWNER, _BEGUN, _ALSO, _TOOK = range(5)
_COLUMNS = 5
_MANY = 2**40


class TaskTable:
    """Tasks that workers pull from shared numbers, as one of the workers sees it.

    Each worker has a run of neighbouring tasks and takes them in order. When it has none left it
    takes from the worker that has most: so a worker opens the files of its own part only, and what
    it computed merges, unless others are late. When no task is left, an idle worker runs a
    straggler as well; the first of the two that claims the task counts.

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
        n_frames: Sequence[int],
        rule: StragglerRule,
    ) -> None:
        self._cells, self._worker, self._n_workers, self._rule = cells, worker, n_workers, rule
        self._frames = np.array(n_frames, np.int64)
        self._borders = len(n_frames) * np.arange(n_workers + 1) // n_workers
        self._table = _COUNTERS + n_workers
        # the worker whose run this one takes tasks from
        self._source: int | None = worker

    @staticmethod
    def first_cells(n_workers: int, n_tasks: int) -> NDArray[np.int64]:
        """Return the shared numbers before anything is begun."""
        cells = np.zeros(_COUNTERS + n_workers + _COLUMNS * n_tasks, np.int64)
        cells[_LEFT] = n_tasks
        return cells

    def own_run(self) -> range:
        """Return the tasks of this worker's own run."""
        return range(self._borders[self._worker], self._borders[self._worker + 1])

    def next(self) -> int | None:
        """Take a task that no worker has begun; None when there is none."""
        while self._source is not None:
            begin, end = self._borders[self._source], self._borders[self._source + 1]
            number = begin + self._cells.add(_COUNTERS + self._source, 1)
            if number < end:
                return int(number)
            left = np.diff(self._borders) - self._cells.read(_COUNTERS, self._n_workers)
            # Neighbours first, so that not all go to the same.
            left = np.roll(left, -self._worker)
            most = int(np.argmax(left))
            self._source = (most + self._worker) % self._n_workers if left[most] > 0 else None
        return None

    def begin(self, number: int, now: int) -> None:
        """Note that this worker begins a task, `now` nanoseconds after the pass began."""
        self._cells.write(0, self._cell(number, _OWNER), [self._worker + 1, now])

    def claim(self, number: int, seconds: float) -> bool:
        """Return whether this worker is the first to have done a task; cancel it elsewhere."""
        if not self._cells.swap_if_zero(self._cell(number, _CLAIM), self._worker + 1):
            return False
        self._cells.write(0, self._cell(number, _TOOK), [max(1, int(1e9 * seconds))])
        row = self._cells.read(self._cell(number, 0), _COLUMNS)
        for other in {int(row[_OWNER]), int(row[_ALSO])} - {0, self._worker + 1}:
            self._cells.write(other - 1, _CANCEL, [number + 1])
        self._cells.add(_LEFT, -1)
        return True

    def straggler(self, now: int) -> tuple[int, int] | None:
        """Take the task that is overdue for longest: the task and its worker; None if none is."""
        rows = self._cells.read(self._table, _COLUMNS * len(self._frames)).reshape(-1, _COLUMNS)
        done = rows[:, _TOOK] > 0
        limits = self._rule.limits((1e-9 * rows[done, _TOOK] / self._frames[done]).tolist())
        runs = (rows[:, _CLAIM] == 0) & (rows[:, _BEGUN] > 0) & (rows[:, _ALSO] == 0)
        runs &= rows[:, _OWNER] != self._worker + 1
        seconds = {int(k): 1e-9 * float(now - rows[k, _BEGUN]) for k in np.flatnonzero(runs)}
        late = [k for k in seconds if self._rule.broken(limits, seconds[k], int(self._frames[k]))]
        if not late:
            return None
        number = max(late, key=lambda k: seconds[k])
        if not self._cells.swap_if_zero(self._cell(number, _ALSO), self._worker + 1):
            return None
        # Its owner looks whether another worker runs it as well when it claims it.
        claim, owner = self._cells.read(self._cell(number, _CLAIM), 2)
        return None if claim else (number, int(owner) - 1)

    def fail(self) -> None:
        """Have all workers end."""
        self._cells.add(_LEFT, -_MANY)
        for worker in range(self._n_workers):
            self._cells.add(_COUNTERS + worker, _MANY)
        for worker in range(self._n_workers):
            self._cells.write(worker, _FAILED, [1])

    def is_cancelled(self, number: int) -> bool:
        """Return whether this worker is to stop a task."""
        own = self._cells.own()
        return bool(own[_FAILED] or own[_CANCEL] == number + 1)

    @property
    def is_done(self) -> bool:
        """Whether all tasks are done, or a worker has failed."""
        return bool(self._cells.read(_LEFT, 1)[0] <= 0)

    @property
    def has_failed(self) -> bool:
        """Whether any worker has failed."""
        return bool(self._cells.own()[_FAILED])

    def claims(self) -> NDArray[np.int64]:
        """Return the worker that has done each task, -1 where none has; on worker 0."""
        rows = self._cells.own()[self._table :].reshape(-1, _COLUMNS)
        return rows[:, _CLAIM] - 1

    def frames_done(self) -> int:
        """Return the frames of tasks that are done; on worker 0."""
        return int(self._frames[self.claims() >= 0].sum())

    def _cell(self, number: int, column: int) -> int:
        return self._table + _COLUMNS * number + column
