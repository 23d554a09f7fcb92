"""Dispatch core: which task runs where, retries, stragglers and speculative execution.

The core decides and does nothing else: no clocks, no processes. An adapter calls a method per
event, with the time as an argument. `Dispatch` returns instructions, which the adapter carries out:
it serves pools that submit tasks from one process, processes and Dask. `trajet.pools.task_table` is
the core of workers that pull tasks from shared memory, MPI ranks.

Both retry (`is_retried`) and name stragglers (`StragglerRule`) by the same rules.
"""

import errno
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet import advise
from trajet._trajet import TrajetError
from trajet.pools.overdue import Overdue, Watched

# Attempts of a task whose storage fails.
MAX_ATTEMPTS = 3
# Tasks that are submitted ahead, at least and for each task that workers run at a time.
AHEAD = 1000
_AHEAD_OF_EACH = 4
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
    """State machine of the tasks that one process submits; an event costs O(log n).

    Tasks are submitted in their order, some ahead of those that workers run: backends then hold a
    few tasks of each worker, not all of a run. Tasks that are pinned are submitted at once.

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
    """

    def __init__(
        self,
        n_frames: Sequence[int],
        *,
        pins: Mapping[int, str] | None = None,
        rule: StragglerRule | None = None,
        ahead: int = AHEAD,
    ) -> None:
        self.stragglers: list[Straggler] = []
        self.frames_done = 0
        self._n_frames, self._pins, self._rule = n_frames, dict(pins or {}), rule
        self._ahead = len(n_frames) if pins else ahead
        self._open: dict[int, _OpenTask] = {}
        self._next = 0
        self._workers: dict[str, int] = {}
        self._slots = 0
        self._running: dict[Copy, str] = {}
        self._busy: Counter[str] = Counter()
        # workers that straggled: they get no more copies of stragglers
        self.slow: set[str | None] = set()
        # workers that could run more tasks, the one that is idle for longest first, since the tick
        # after which they were; and those that have become idle after the last tick
        self._idle: OrderedDict[str, float | None] = OrderedDict()
        self._newly_idle: list[str] = []
        # seconds a frame: of tasks, and of gathering their arrays
        self._rates = advise.RunningVerdict()
        self._gather_rates = advise.RunningVerdict()
        self._overdue = Overdue()

    @property
    def is_done(self) -> bool:
        """Whether the results of all tasks were taken."""
        return not self._open and self._next == len(self._n_frames)

    def is_open(self, copy: Copy) -> bool:
        """Return whether a copy is submitted and its result may still be taken."""
        return self._attempt(copy) is not None

    def start(self, workers: Mapping[str, int]) -> list[Submit]:
        """Return the first copies of the first tasks; see `workers_changed`."""
        self._set_workers(workers)
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
        n_frames = sum(self._n_frames[copy.task] for copy in copies)
        for copy in copies:
            if (attempt := self._attempt(copy)) is not None:
                attempt.gathering = now, n_frames
                self._watch(copy.task)

    def gathered(self, copies: Sequence[Copy], seconds: float) -> None:
        """Note how long a request for arrays took."""
        n_frames = sum(self._n_frames[copy.task] for copy in copies)
        self._gather_rates.add(seconds / n_frames)

    def finished(self, copy: Copy, worker: str, seconds: float) -> list[Instruction]:
        """Return what to do with a result that has arrived; its task took `seconds`."""
        if not self.is_open(copy):
            return []
        task = self._open[copy.task]
        self._drop(copy)
        cancelled = self._cancel(list(task.copies))
        del self._open[copy.task]
        self._overdue.forget(copy.task)
        for straggler in task.stragglers:
            straggler.answered_by = worker
        if self._rule is not None:
            self._rates.add(seconds / self._n_frames[copy.task])
        self.frames_done += self._n_frames[copy.task]
        return [*cancelled, Take(copy), *self._more()]

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
        for worker in self._newly_idle:
            if worker in self._idle and self._idle[worker] is None:
                self._idle[worker] = now
        self._newly_idle.clear()
        if self._rule is None or not self._idle:
            return []
        limits, gather_limits = map(self._rule.limits, (self._rates, self._gather_rates))
        # Tasks that wait while another worker is idle wait behind a straggler.
        idle_since = next(iter(self._idle.values())) or now
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
                idle = idle or deque(self._idle if not submitted else ())
                if not idle:
                    break
                if idle[0] == entry.worker:
                    idle.rotate(-1)
                if idle[0] == entry.worker:
                    self._overdue.set_aside(entry)
                    aside.append(entry)
                    continue
                other = idle.popleft()
                late = Straggler(entry.task, entry.worker, entry.state, rules, now - since, other)
                submitted.append(self._submit_again(late))
        self._overdue.put_back(aside)
        return submitted

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
        most = max(self._ahead, _AHEAD_OF_EACH * self._slots)
        if self._next == len(self._n_frames) or len(self._open) > most - most // 4:
            return []
        end = min(self._next + most - len(self._open), len(self._n_frames))
        tasks, self._next = range(self._next, end), end
        self._open.update((task, _OpenTask()) for task in tasks)
        return [self._submit(task, self._pins.get(task)) for task in tasks]

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

    def _drop(self, copy: Copy) -> None:
        self._run(copy, None)
        del self._open[copy.task].copies[copy]
        self._watch(copy.task)

    def _watch(self, number: int) -> None:
        """Note what may make a task a straggler: that needs one copy, and no result yet."""
        if self._rule is None:
            return
        task, n_frames = self._open[number], self._n_frames[number]
        if len(task.copies) != 1:
            self._overdue.forget(number)
            return
        (attempt,) = task.copies.values()
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
