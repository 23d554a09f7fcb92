"""Dispatch core: which task runs where, retries, stragglers and speculative execution.

The core decides and does nothing else: no clocks, no processes. An adapter calls a method per
event, with the time as an argument. `Dispatch` returns instructions, which the adapter carries out:
it serves pools that submit tasks from one process, processes and Dask. `trajet.pools.task_table` is
the core of workers that pull tasks from shared memory, MPI ranks.

Both retry (`is_retried`) and name stragglers (`StragglerRule`) by the same rules.
"""

import errno
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import advise
from trajet._trajet import TrajetError
from trajet.pools.overdue import Overdue, Watched
from trajet.pools.task_batches import MAX_TASKS, BatchRule

# Attempts of a task whose storage fails.
MAX_ATTEMPTS = 3
# Tasks that are submitted ahead, at least and for each task that workers run at a time.
AHEAD = 1000
_AHEAD_OF_EACH = 4
# Of batches, those that are submitted for each task that workers run at a time.
_BATCHES_OF_EACH = 2
# Results after which the usual seconds of a task are known, with few workers.
_SETTLED = 32
# A worker begins no further task of a batch after so many times the usual seconds of the batch.
_MAX_OF_USUAL = 2.0
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

    def limits(self, rates: advise.RunningVerdict) -> dict[str, float]:
        """Return the limit of each rule, in seconds a frame; empty while too few tasks are done.

        Parameters
        ----------
        rates
            Seconds a frame of the tasks that are done.
        """
        return rates.limits if len(rates) >= self.min_done else {}

    def broken(self, limits: Mapping[str, float], seconds: float, n_frames: int) -> list[str]:
        """Return the rules whose limit `seconds` for `n_frames` exceed."""
        return [rule for rule, rate in limits.items() if seconds - self.grace > rate * n_frames]

    def are_broken(
        self, limits: Mapping[str, float], seconds: NDArray[np.float64], n_frames: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each of some tasks whether it breaks a rule."""
        broken = np.zeros(len(seconds), np.bool_)
        for rate in limits.values():
            broken |= seconds - self.grace > rate * n_frames
        return broken


class Copy(NamedTuple):
    """One submission of a task; `number` counts the submissions of the task from 0.

    Of a batch, it is the first task.
    """

    task: int
    number: int


@dataclass(frozen=True, slots=True)
class Submit:
    """Instruction: submit a copy, to the worker `only` alone, or to one of `prefer` if possible.

    Attributes
    ----------
    n_tasks
        Tasks of the batch.
    most_seconds
        Seconds after which a worker, which is then slow, begins no further task of the batch.
    """

    copy: Copy
    only: str | None = None
    prefer: tuple[str, ...] = ()
    n_tasks: int = 1
    most_seconds: float = math.inf


@dataclass(frozen=True, slots=True)
class Cancel:
    """Instruction: cancel these copies; their results are not taken."""

    copies: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Take:
    """Instruction: merge the result of this copy; each task is in one that is taken."""

    copy: Copy


@dataclass(frozen=True, slots=True)
class GiveUp:
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
    """State of a task, or of a batch of them, whose result was not taken yet."""

    n_tasks: int = 1
    submitted: int = 0
    copies: dict[Copy, _Attempt] = field(default_factory=dict)
    # whether a copy has ended with a result, which is not here yet
    is_computed: bool = False
    stragglers: list[Straggler] = field(default_factory=list)


@dataclass
class History:
    """What earlier tasks on the same workers have shown, for a `Dispatch` of few further ones.

    Attributes
    ----------
    rates, gather_rates
        Seconds a frame of tasks, and of gathering their arrays.
    begun
        Workers that have begun a task.
    slow
        Workers that straggled: they get no more copies of stragglers.
    """

    rates: advise.RunningVerdict = field(default_factory=advise.RunningVerdict)
    gather_rates: advise.RunningVerdict = field(default_factory=advise.RunningVerdict)
    begun: set[str] = field(default_factory=set)
    slow: set[str | None] = field(default_factory=set)


class Dispatch:
    """State machine of the tasks that one process submits; an event costs O(log n).

    Tasks are submitted in their order, some ahead of those that workers run: backends then hold a
    few tasks of each worker, not all of a run. Tasks that are pinned are submitted at once.

    With `batches`, neighbouring tasks that are short are submitted together. A batch may end before
    its last task: after an error, or because its worker is slow. Tasks that are left are submitted
    again.

    Parameters
    ----------
    n_frames
        Frames of each task.
    pins
        Worker of each task that may run nowhere else while that worker lives.
    rule
        When to run a task on an idle worker as well; None for never.
    ahead
        Tasks that are submitted at least, if there are as many; with many workers more.
    batches
        How many tasks to submit together; None for one. It needs a rule for stragglers. Then
        `ahead` does not count: the size of batches is known only when some tasks are done.
    history
        What earlier tasks of the same kind have shown; it is kept up to date.
    """

    def __init__(
        self,
        n_frames: Sequence[int],
        *,
        pins: Mapping[int, str] | None = None,
        rule: StragglerRule | None = None,
        ahead: int = AHEAD,
        batches: BatchRule | None = None,
        history: History | None = None,
    ) -> None:
        self.stragglers: list[Straggler] = []
        self.frames_done = 0
        self._pins, self._rule = dict(pins or {}), rule
        self._batches = batches if rule is not None else None
        # frames of all tasks before each
        self._before = list(accumulate(n_frames, initial=0))
        self._n_tasks = self._n_left = len(n_frames)
        self._ahead = self._n_tasks if pins else ahead
        self._open: dict[int, _OpenTask] = {}
        self._failures: Counter[int] = Counter()
        self._left_out: set[int] = set()
        # tasks that are to be submitted, and the largest batch that is done
        self._left = deque([range(self._n_tasks)] if self._n_tasks else [])
        self._largest = 1
        self._workers: dict[str, int] = {}
        self._slots = 0
        self._running: dict[Copy, str] = {}
        self._busy: Counter[str] = Counter()
        history = history or History()
        self.slow, self._begun = history.slow, history.begun
        # workers that could run more tasks, the one that is idle for longest first, since the tick
        # after which they were; and those that have become idle after the last tick
        self._idle: OrderedDict[str, float | None] = OrderedDict()
        self._newly_idle: list[str] = []
        self._rates, self._gather_rates = history.rates, history.gather_rates
        self._overdue = Overdue()

    @property
    def is_done(self) -> bool:
        """Whether the results of all tasks were taken."""
        return not self._open and not self._n_left

    def is_open(self, copy: Copy) -> bool:
        """Return whether a copy is submitted and its result may still be taken."""
        return self._attempt(copy) is not None

    def start(self, workers: Mapping[str, int]) -> list[Submit]:
        """Return the first copies of the first tasks; see `workers_changed`."""
        self._set_workers(workers)
        return self._more()

    def add(self, n_frames: Sequence[int]) -> list[Submit]:
        """Add tasks behind the others, given their frames; return the first copies of some."""
        first = self._n_tasks
        self._before += [self._before[-1] + before for before in accumulate(n_frames)]
        self._n_tasks += len(n_frames)
        self._submit_later(range(first, self._n_tasks))
        return self._more()

    def workers_changed(self, workers: Mapping[str, int]) -> list[Instruction]:
        """Note the workers, with the tasks that each runs at a time, as they join and leave.

        Tasks that were pinned to a worker that left may run anywhere.
        """
        if workers == self._workers:
            return []
        self._set_workers(workers)
        tasks = [n for n, worker in self._pins.items() if worker not in workers]
        for task in tasks:
            del self._pins[task]
        tasks = [task for task in tasks if task in self._open]
        cancelled = self._cancel([copy for task in tasks for copy in self._open[task].copies])
        return [*cancelled, *(self._submit(task) for task in tasks), *self._more()]

    def started(self, copy: Copy, worker: str, now: float) -> None:
        """Note that a worker has begun a copy; another worker may have begun it before."""
        if (attempt := self._attempt(copy)) is not None:
            attempt.worker, attempt.started = worker, now
            self._run(copy, worker)
            self._watch(copy.task)

    def stopped(self, copy: Copy) -> None:
        """Note that a copy has stopped; its backend will run it again or report it."""
        if (attempt := self._attempt(copy)) is not None:
            attempt.gathering, self._open[copy.task].is_computed = None, False
            self._run(copy, None)
            self._watch(copy.task)

    def computed(self, copy: Copy) -> list[Instruction]:
        """Note that a copy has a result, which is to be gathered; others need not go on."""
        if not self.is_open(copy):
            return []
        self._open[copy.task].is_computed = True
        self._run(copy, None)
        cancelled = self._cancel([n for n in self._open[copy.task].copies if n != copy])
        self._watch(copy.task)
        return cancelled

    def gathering(self, copies: Sequence[Copy], now: float) -> None:
        """Note that the arrays of some copies are on their way, in one request."""
        n_frames = sum(self.n_frames(copy) for copy in copies if self.is_open(copy))
        for copy in copies:
            if (attempt := self._attempt(copy)) is not None:
                attempt.gathering = now, n_frames
                self._watch(copy.task)

    def gathered(self, n_frames: int, seconds: float) -> None:
        """Note how long a request for the arrays of so many frames took."""
        self._gather_rates.add(seconds / n_frames)

    def finished(
        self,
        copy: Copy,
        worker: str,
        seconds: float,
        n_done: int | None = None,
        error: BaseException | None = None,
    ) -> list[Instruction]:
        """Return what to do with a result that has arrived; its tasks took `seconds`.

        Parameters
        ----------
        n_done
            How many tasks of the batch, from its first on, are done; None for all.
        error
            Error of the next task, if that failed.
        """
        if not self.is_open(copy):
            return []
        task = self._open[copy.task]
        end = copy.task + (task.n_tasks if n_done is None else n_done)
        left = range(end, copy.task + task.n_tasks)
        if error is not None and not self._may_retry(end, error):
            return [GiveUp(copy)]
        self._drop(copy)
        cancelled = self._cancel(list(task.copies))
        self._close(copy.task)
        for straggler in task.stragglers:
            straggler.answered_by = worker
        n_frames = self._before[end] - self._before[copy.task]
        if self._rule is not None:
            self._rates.add(seconds / n_frames)
        self.frames_done += n_frames
        self._largest = max(self._largest, end - copy.task)
        again: list[Instruction] = []
        if error is not None:
            again = [self._alone(left[0], worker)]
            left = left[1:]
        self._submit_later(left)
        return [*cancelled, Take(copy), *again, *self._more()]

    def failed(self, copy: Copy, error: BaseException | None) -> list[Instruction]:
        """Return whether to run a failed task again, elsewhere if possible, or to give up.

        The failed task is the first of its batch; the remaining tasks are submitted again as well.
        """
        if (attempt := self._attempt(copy)) is None:
            return []
        if not self._may_retry(copy.task, error):
            return [GiveUp(copy)]
        task = self._open[copy.task]
        if task.n_tasks == 1:
            return self._again(copy, self._others(attempt.worker))
        self._drop(copy)
        if task.copies:
            return []
        self._close(copy.task)
        self._submit_later(range(copy.task + 1, copy.task + task.n_tasks))
        again = self._alone(copy.task, attempt.worker, task)
        return [again, *self._more()]

    def lost(self, copy: Copy) -> list[Instruction]:
        """Return what to do about a copy that its backend dropped with its worker."""
        return self._again(copy, []) if self.is_open(copy) else []

    def leave_out(self, tasks: Iterable[int]) -> list[Instruction]:
        """Note tasks that are wanted no more, if their results were not taken; none is of a batch.

        Those that are submitted are cancelled, and no result of theirs is taken.
        """
        wanted_no_more = set(tasks) - self._left_out
        self._left_out |= wanted_no_more
        open_tasks = sorted(wanted_no_more & self._open.keys())
        cancelled = self._cancel([copy for task in open_tasks for copy in self._open[task].copies])
        for task in open_tasks:
            self._close(task)
        return [*cancelled, *self._more()]

    def tick(self, now: float) -> list[Instruction]:
        """Return copies of stragglers for workers that are idle."""
        for worker in self._newly_idle:
            if worker in self._idle and self._idle[worker] is None:
                self._idle[worker] = now
        self._newly_idle.clear()
        if self._rule is None or not self._idle:
            return []
        limits, gather_limits = map(self._rule.limits, (self._rates, self._gather_rates))
        # Tasks that wait while another worker is idle wait behind a straggler.
        first_since = next(iter(self._idle.values()))
        idle_since = now if first_since is None else first_since
        submitted: list[Instruction] = []
        aside: list[Watched] = []
        idle = deque[str]()
        for group in self._overdue.groups():
            while (entry := self._overdue.first(group)) is not None:
                by = gather_limits if entry.state == "gathering" else limits
                since = idle_since if entry.state == "waiting" else entry.since
                rules = self._rule.broken(by, now - since, entry.n_frames)
                if not rules:
                    break
                idle = idle or deque(self._in_turn() if not submitted else ())
                if not idle:
                    break
                place = int(idle[0] == entry.worker)
                # A task that waits may wait at a worker that has begun nothing because it hangs.
                may_hang = entry.state == "waiting" and idle[0] not in self._begun
                if may_hang or place == len(idle):
                    self._overdue.set_aside(entry)
                    aside.append(entry)
                    continue
                other = idle[place]
                del idle[place]
                late = Straggler(entry.task, entry.worker, entry.state, rules, now - since, other)
                submitted.append(self._submit_again(late))
        self._overdue.put_back(aside)
        return submitted

    def _in_turn(self) -> list[str]:
        """Return the idle workers, those that have begun a task before the others."""
        return sorted(self._idle, key=lambda worker: worker not in self._begun)

    def _submit_again(self, late: Straggler) -> Submit:
        """Submit the task of a straggler for an idle worker."""
        self.slow.add(late.worker)
        if late.worker is not None:
            self._idle.pop(late.worker, None)
        self._open[late.task].stragglers.append(late)
        self.stragglers.append(late)
        return self._submit(late.task, prefer=(late.also_on,))

    def _more(self) -> list[Submit]:
        """Return the first copies of further tasks, many at a time."""
        if self._batches is None:
            most = max(self._ahead, _AHEAD_OF_EACH * self._slots)
        elif self._is_settled():
            most = _BATCHES_OF_EACH * self._slots
        else:
            # Short batches, before their size is known, are not for many workers at once.
            most = max(self._slots, min(_AHEAD_OF_EACH * self._slots, AHEAD))
        if not self._n_left or len(self._open) > most - most // 4:
            return []
        submitted: list[Submit] = []
        while self._n_left and len(self._open) < most:
            tasks = self._next_batch()
            if tasks.start in self._left_out:
                continue
            self._open[tasks.start] = _OpenTask(len(tasks))
            submitted.append(self._submit(tasks.start, self._pins.get(tasks.start)))
        return submitted

    def _next_batch(self) -> range:
        """Remove the next batch from the tasks that are to be submitted, and return it."""
        tasks, size = self._left.popleft(), 1
        if self._batches is not None and len(self._rates):
            first = tasks.start
            n_frames = self._before[first + 1] - self._before[first]
            rate, slots = self._rates.median, max(1, self._slots)
            largest = MAX_TASKS if self._is_settled() else self._largest
            size = self._batches.size(rate, n_frames, slots, self._n_left, largest)
        if tasks[size:]:
            self._left.appendleft(tasks[size:])
        self._n_left -= len(tasks[:size])
        return tasks[:size]

    def _is_settled(self) -> bool:
        """Return whether enough tasks are done, and not the fastest alone, to know their rate."""
        return len(self._rates) >= max(_SETTLED, self._slots // 2)

    def _submit_later(self, tasks: range) -> None:
        """Note tasks that a batch has left."""
        if tasks:
            self._left.append(tasks)
            self._n_left += len(tasks)

    def _may_retry(self, number: int, error: BaseException | None) -> bool:
        """Return whether a task that has failed may run again."""
        self._failures[number] += 1
        return is_retried(error, self._failures[number])

    def _alone(self, number: int, but: str | None, batch: _OpenTask | None = None) -> Submit:
        """Submit a task of a batch by itself, to another worker than `but` if possible.

        If it is the first task, `batch` is the batch: its copies are counted on, and its stragglers
        are answered by this task.
        """
        alone = _OpenTask()
        if batch is not None:
            alone.submitted, alone.stragglers = batch.submitted, batch.stragglers
        self._open[number] = alone
        return self._submit(number, prefer=self._others(but))

    def _others(self, but: str | None) -> list[str]:
        return [worker for worker in self._workers if worker != but]

    def _close(self, number: int) -> None:
        """Forget a task or a batch."""
        del self._open[number]
        self._overdue.forget(number)

    def n_frames(self, copy: Copy) -> int:
        """Return the frames of a copy that is open."""
        n_tasks = self._open[copy.task].n_tasks
        return self._before[copy.task + n_tasks] - self._before[copy.task]

    def _attempt(self, copy: Copy) -> _Attempt | None:
        task = self._open.get(copy.task)
        return None if task is None else task.copies.get(copy)

    def _submit(self, task: int, only: str | None = None, prefer: Iterable[str] = ()) -> Submit:
        state = self._open[task]
        copy = Copy(task, state.submitted)
        state.submitted += 1
        state.is_computed = False
        state.copies[copy] = _Attempt()
        self._watch(task)
        if state.n_tasks == 1:
            return Submit(copy, only, tuple(prefer))
        # Without a limit while all tasks so far took no time at all.
        most = _MAX_OF_USUAL * self._rates.median * self.n_frames(copy) or math.inf
        return Submit(copy, only, tuple(prefer), state.n_tasks, most)

    def _cancel(self, copies: Sequence[Copy]) -> list[Instruction]:
        for copy in copies:
            self._drop(copy)
        return [Cancel(tuple(copies))] if copies else []

    def _again(self, copy: Copy, prefer: Iterable[str]) -> list[Instruction]:
        """Forget a copy; return another one unless the task still has some."""
        self._drop(copy)
        task = self._open[copy.task]
        return [] if task.copies else [self._submit(copy.task, prefer=prefer)]

    def _drop(self, copy: Copy) -> None:
        self._run(copy, None)
        del self._open[copy.task].copies[copy]
        self._watch(copy.task)

    def _watch(self, number: int) -> None:
        """Note what may make a task a straggler: that needs one copy, and no result yet."""
        if self._rule is None:
            return
        task = self._open[number]
        if len(task.copies) != 1:
            self._overdue.forget(number)
            return
        ((copy, attempt),) = task.copies.items()
        n_frames = self.n_frames(copy)
        if attempt.gathering is not None:
            self._overdue.watch(number, "gathering", *attempt.gathering, attempt.worker)
        elif task.is_computed:
            self._overdue.forget(number)
        elif attempt.started is not None:
            self._overdue.watch(number, "running", attempt.started, n_frames, attempt.worker)
        else:
            self._overdue.watch(number, "waiting", 0.0, n_frames, None)

    def _run(self, copy: Copy, worker: str | None) -> None:
        """Note which worker runs a copy now, if any does."""
        before = self._running.pop(copy, None)
        if worker is not None:
            self._running[copy] = worker
            self._busy[worker] += 1
            self._begun.add(worker)
            self._note_idle(worker)
        if before is not None:
            self._busy[before] -= 1
            self._note_idle(before)

    def _note_idle(self, worker: str) -> None:
        """Note whether a worker could run more tasks; those that straggled are left out."""
        if self._busy[worker] >= self._workers.get(worker, 0) or worker in self.slow:
            self._idle.pop(worker, None)
        elif worker not in self._idle:
            self._idle[worker] = None
            self._newly_idle.append(worker)

    def _set_workers(self, workers: Mapping[str, int]) -> None:
        changed = [name for name in workers if workers[name] != self._workers.get(name)]
        changed += [name for name in self._workers if name not in workers]
        self._workers, self._slots = dict(workers), sum(workers.values())
        for name in changed:
            self._note_idle(name)
