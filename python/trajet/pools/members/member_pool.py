"""`MemberPool`, the pool of one open member, and how members are cut into tasks."""

import contextvars
import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from trajet import _trajet
from trajet._trajet import Pass, Plan, Reader
from trajet.pools.dispatch import is_retried
from trajet.pools.passes import PassRun, blocks_of, most_frames, passes, tasks_of
from trajet.pools.pool import Frames, Pool, PoolFacts, Progress, RunOutput
from trajet.pools.tasks import Sections, Task, TaskOutcome, Worker
from trajet.pools.timing import RunTiming
from trajet.report_entries import RunReport

# Tasks of each worker over all members, so that workers finish within about a sixteenth of the run
# of each other.
TASKS_OF_WORKER = 16
# Bytes of a task below which its overhead would count.
MIN_BYTES = 256 * 1024


class StoppedError(Exception):
    """The run of a member was stopped, as another one failed or the caller was interrupted."""


def task_counts(sizes: Sequence[float | None], n_workers: int, least: int = 1) -> list[int]:
    """Return the number of tasks of a run of each member, if it has so many leaves.

    Parameters
    ----------
    sizes
        Bytes of each member; one that is not known (None) counts as large.
    n_workers
        Tasks that run at a time.
    least
        Tasks of each member at least, unless they were too small.
    """
    n_tasks = n_workers * TASKS_OF_WORKER
    large = max([n_tasks * MIN_BYTES, *(size for size in sizes if size is not None)])
    each = [large if size is None else size for size in sizes]
    unit = max(sum(each) / n_tasks, MIN_BYTES)
    return [max(1, math.ceil(size / unit), min(least, int(size // MIN_BYTES))) for size in each]


def largest_first(sizes: Sequence[float | None]) -> list[int]:
    """Return the members, the largest first; those of unknown size (None) come before them."""

    def key_of(member: int) -> float:
        size = sizes[member]
        return -math.inf if size is None else -size

    return sorted(range(len(sizes)), key=key_of)


def submit(
    executor: ThreadPoolExecutor, drive: Callable[[int, Pool], None], member: int, pool: Pool
) -> None:
    """Call a function in a thread, in a copy of the context of the caller."""
    executor.submit(contextvars.copy_context().run, drive, member, pool)


@dataclass(frozen=True)
class TaskResult:
    """Table of a task of a member; one that was stopped has neither outcome nor error.

    Attributes
    ----------
    outcome
        The outcome.
    sections
        Arrays of its frames, from another process.
    error
        Its error, which ends the run of its member alone.
    retried
        Errors of the storage after which it was tried again.
    worker
        Number of the worker.
    """

    outcome: TaskOutcome | None = None
    sections: Sections = field(default_factory=list)
    error: Exception | None = None
    retried: list[str] = field(default_factory=list)
    worker: int = 0


def do_task(
    worker: Worker, task: bytes, sections: Sections, stop: _trajet.Stop | None = None
) -> TaskResult:
    """Run a task of a member, again if storage fails for a moment, and fill its sections."""
    retried: list[str] = []
    while stop is None or not stop.is_set:
        try:
            done = worker.do(task, sections, stop)
            return TaskResult(done, sections, retried=retried)
        except BaseException as error:
            # A task that was stopped ends with KeyboardInterrupt.
            if stop is not None and stop.is_set:
                break
            if not isinstance(error, Exception):
                raise
            retried.append(str(error))
            if not is_retried(error, len(retried)):
                return TaskResult(error=error)
    return TaskResult()


class PassResults:
    """Results of the tasks of a pass of a member, which are merged as they arrive."""

    def __init__(self, part: PassRun, timing: RunTiming) -> None:
        self._part, self._timing = part, timing
        self._error: Exception | None = None
        self._n_merged = 0

    @property
    def has_failed(self) -> bool:
        """Whether a task has failed, so that no further one is needed."""
        return self._error is not None

    def take(self, number: int, result: TaskResult) -> None:
        """Merge the result of a task, by its number; one thread calls it at a time."""
        task = self._part.tasks[number]
        for text in result.retried:
            self._timing.retry(task, text)
        if result.error is not None:
            self._error = self._error or result.error
        elif result.outcome is not None:
            self._part.states.add(result.outcome.states)
            self._timing.add(result.worker, task, result.outcome)
            self._n_merged += 1

    def check(self) -> None:
        """Check that all tasks are done.

        Raises
        ------
        Exception
            The first error that has come.
        StoppedError
            If tasks were stopped.
        """
        if self._error is not None:
            raise self._error
        if self._n_merged < len(self._part.tasks):
            raise StoppedError


@dataclass
class MemberPool(Pool):
    """The pool of one open member, whose tasks run beside those of other members.

    Attributes
    ----------
    n_threads
        Threads of all workers.
    threads
        Threads of each.
    n_tasks
        Tasks of a pass.
    task_frames
        Frames of a task, in place of `n_tasks`.
    is_local
        Whether the workers are on this machine, so that they get the secrets of remote storage.
    runs_here
        Members whose states this process merges at a time, for checks of memory.
    """

    n_threads: int
    threads: int
    n_tasks: int
    task_frames: int | None
    is_local: bool
    runs_here: int

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool."""
        return PoolFacts(
            n_threads=self.n_threads,
            threads=self.threads,
            runs_here=self.runs_here,
            is_local=self.is_local,
            task_frames=self.task_frames,
        )

    def run(
        self, reader: Reader, plan: Plan, frames: Frames, *, progress: Progress | None = None
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`. Progress is that of all members."""
        timing = RunTiming()
        for part in passes(
            reader,
            plan,
            frames,
            timing,
            threads=self.threads,
            make_tasks=self._tasks,
            secrets=self.is_local,
        ):
            results = PassResults(part, timing)
            self.do(part, [part.task_bytes(task) for task in part.tasks], results)
            results.check()
        return part.output(self.report(timing))

    @abstractmethod
    def do(self, part: PassRun, texts: Sequence[bytes], results: PassResults) -> None:
        """Do the tasks of a pass, given as bytes; fill its sections, and `results`.

        After a task has failed no other begins.

        Raises
        ------
        Exception
            If the pool itself fails, or the runs of all members are stopped.
        """

    @abstractmethod
    def report(self, timing: RunTiming) -> RunReport:
        """Return the report of a run."""

    def _tasks(self, pass_: Pass) -> Sequence[Task]:
        if self.task_frames is not None:
            return tasks_of(pass_, self.n_threads, self.task_frames)
        _, n_frames = pass_.frames_of(0, pass_.n_leaves) if pass_.n_leaves else (0, 0)
        return blocks_of(pass_, max(self.n_tasks, -(-n_frames // most_frames(pass_))))
