"""Where the tasks of members go: `BatchQueue` on any pool of jobs, `StreamQueue` without batches.

Queues are used by one thread, which alone talks to the pool. Workers run `MemberTask`.
"""

import math
import pickle
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from trajet.pools.dispatch import History
from trajet.pools.jobs import Job, JobPool, JobResult, JobStream, ShowFrames, StreamPool
from trajet.pools.members.member_pool import TaskResult, do_task
from trajet.pools.passes import new_sections
from trajet.pools.tasks import Worker, WorkerSpec

# Tasks of each worker in a batch, at whose end workers wait for one another.
_TASKS_OF_BATCH = 16
# Seconds without a task for any worker after which twice as many members get ready at a time.
_STARVED = 0.05
# Setups of members that a worker process keeps, with their open files, and errors of members.
_KEPT = 4


# The pickled setup of a pass, or a file with it that processes of this machine can read.
Spec: TypeAlias = "bytes | Path"


@dataclass(frozen=True)
class MemberTask:
    """A task of a member, as a worker gets it.

    Attributes
    ----------
    spec
        The pickled setup of the pass, or the file that holds it.
    task
        The serialised task.
    n_frames
        Its frames.
    """

    spec: Spec
    task: bytes
    n_frames: int


@dataclass(frozen=True)
class MemberTasks:
    """Common part of the tasks of members: nothing, as each member has a setup of its own.

    Attributes
    ----------
    history
        What the tasks of earlier batches have shown; workers get none.
    """

    history: History = field(default_factory=History)

    def __reduce__(self) -> "tuple[type[MemberTasks], tuple[()]]":
        return MemberTasks, ()

    def begin(self) -> "MemberTaskWorker":
        """Return the worker."""
        return MemberTaskWorker()


class MemberTaskWorker:
    """Runs tasks of members; it keeps the files of a few members open.

    After a task of a member has failed, its other tasks fail with the same error.
    """

    def __init__(self) -> None:
        self._workers: dict[Spec, Worker] = {}
        self._errors: dict[Spec, Exception] = {}
        self._lock = threading.Lock()

    def do(self, what: MemberTask, /, threads: int, show: ShowFrames) -> TaskResult:
        """Run a task; its error is part of the result, as it ends the run of its member alone."""
        show(0)
        if (error_before := self._errors.get(what.spec)) is not None:
            return TaskResult(error=error_before)
        try:
            worker = self._worker(what.spec)
            sections = new_sections(worker.pass_, what.n_frames)
        except Exception as error:
            result = TaskResult(error=error)
        else:
            result = do_task(worker, what.task, sections)
        if result.error is not None:
            with self._lock:
                self._errors[what.spec] = result.error
                _forget_oldest(self._errors)
        return result

    def _worker(self, spec: Spec) -> Worker:
        """Return the worker of a setup."""
        with self._lock:
            worker = self._workers.pop(spec, None)
            if worker is None:
                data = spec.read_bytes() if isinstance(spec, Path) else spec
                made: WorkerSpec = pickle.loads(data)
                worker = Worker(made)
            self._workers[spec] = worker
            _forget_oldest(self._workers)
            return worker


def _forget_oldest(by_spec: "dict[Spec, Worker] | dict[Spec, Exception]") -> None:
    """Remove entries from the front until `_KEPT` are left."""
    while len(by_spec) > _KEPT:
        del by_spec[next(iter(by_spec))]


@dataclass(eq=False)
class Submission:
    """The tasks of a pass of a member.

    Attributes
    ----------
    jobs
        The tasks.
    take
        Takes the result of a task, by its number; returns whether further tasks are wanted.
    left
        Numbers of the tasks whose results are not taken.
    end
        Gets a value when no task is left, or the error of the pool.
    """

    jobs: list[Job[MemberTask]]
    take: Callable[[int, TaskResult], bool]
    left: set[int] = field(init=False)
    end: "Future[None]" = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.left = set(range(len(self.jobs)))

    def take_result(self, number: int, done: JobResult[TaskResult]) -> bool:
        """Take the result of a task; return whether further ones are wanted, or else finish."""
        error: Exception | None = None
        self.left.discard(number)
        result = replace(done.result, worker=done.where.get("worker", 0))
        try:
            is_wanted = self.take(number, result)
        except Exception as raised:
            is_wanted, error = False, raised
        if not is_wanted:
            self.left.clear()
        if not self.left:
            self.finish(error)
        return is_wanted

    def finish(self, error: Exception | None = None) -> None:
        """End the wait of the driver, unless it has ended."""
        if self.end.done():
            return
        if error is None:
            self.end.set_result(None)
        else:
            self.end.set_exception(error)


class BatchQueue:
    """Tasks of several members, done as a batch, while the members of the next one get ready."""

    # Seconds to wait for a driver (None: for ever), and members that get ready at a time.
    patience, n_preparing = None, math.inf

    def __init__(self, pool: JobPool) -> None:
        self._pool, self._spec = pool, MemberTasks()
        # Submissions of the next batch, and how many tasks are enough for it.
        self._batch, self._enough = list[Submission](), 0
        # Submissions of a batch that failed, done one by one: the error is that of one member.
        self._alone: deque[Submission] = deque()

    def set_limits(self, n_workers: int, n_open: int) -> int:
        """Set limits by the workers and open members; return the least tasks of a large member."""
        # Half of the open members are one batch, and the others get ready for the next one.
        self._enough = _TASKS_OF_BATCH * n_workers
        return -(-2 * self._enough // n_open)

    def opened(self) -> AbstractContextManager[None]:
        """Return a context in which tasks are done."""
        return nullcontext()

    def wake(self) -> None:
        """Do nothing: a batch is done to its end, whatever drivers submit meanwhile."""

    def add(self, submission: Submission) -> None:
        """Add the tasks of a submission."""
        self._batch.append(submission)

    def has_batch(self, n_open: int) -> bool:
        """Return whether a batch is to be done now: it is large, or all open members wait."""
        is_large = sum(len(one.jobs) for one in self._batch) >= self._enough
        is_complete = len(self._batch) == n_open
        return bool(self._batch) and (is_large or is_complete)

    def run(self) -> None:
        """Do the batch; if it fails, do the first of its submissions."""
        batch, self._batch = self._batch, []
        self._alone.extend(_do(self._pool, self._spec, batch))
        self.retry()

    def retry(self) -> bool:
        """Do a submission of a batch that failed; return whether there was one."""
        if not self._alone:
            return False
        _do(self._pool, self._spec, [self._alone.popleft()])
        return True


class StreamQueue:
    """Tasks that workers take as they come, so that they do not wait for one another.

    Workers begin with the first member that is ready. Drivers get further members ready meanwhile,
    a few at a time: they share one interpreter, so that the first of many would be ready late.
    """

    def __init__(self, pool: StreamPool) -> None:
        self._pool, self._spec = pool, MemberTasks()
        self._stream: JobStream[MemberTask, TaskResult] | None = None
        # Submission and number of each task that is not done, by the number of its job.
        self._owners: dict[int, tuple[Submission, int]] = {}
        # Members that get ready at a time.
        self.n_preparing: float = 0

    @property
    def patience(self) -> float:
        """Seconds to wait for a driver: none while workers have tasks."""
        return 0 if self._owners else _STARVED

    def set_limits(self, n_workers: int, _n_open: int) -> int:
        """Set limits by the workers and open members; return the least tasks of a large member."""
        self.n_preparing = float(n_workers + 1)
        return 1

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Return a context in which tasks are done, until the pool fails.

        Its error is that of one member; it is raised if none has tasks left.
        """
        try:
            with self._pool.job_stream(self._spec) as self._stream:
                yield
        except Exception as error:
            undone = list(dict.fromkeys(one for one, _ in self._owners.values() if one.left))
            if not undone:
                raise
            if len(undone) == 1:
                undone[0].finish(error)
            else:
                for one in undone:
                    _do(self._pool, self._spec, [one])
        finally:
            self._stream = None
            self._owners.clear()

    def wake(self) -> None:
        """End a wait for results; drivers call it."""
        if (stream := self._stream) is not None:
            stream.wake()

    def add(self, submission: Submission) -> None:
        """Add the tasks of a submission."""
        assert self._stream is not None
        for number, job in enumerate(self._stream.submit(submission.jobs)):
            self._owners[job] = submission, number

    def has_batch(self, _n_open: int) -> bool:
        """Return False: workers do tasks while drivers are waited for."""
        return False

    def retry(self) -> bool:
        """Return False: tasks are done again as soon as the pool has failed."""
        return False

    def run(self) -> None:
        """Take results that come in a short time; without tasks, get more members ready."""
        if not self._owners:
            self.n_preparing *= 2
            return
        assert self._stream is not None
        for job, done in self._stream.wait():
            if job not in self._owners:
                continue
            one, number = self._owners.pop(job)
            if not one.take_result(number, done):
                unwanted = [k for k, (other, _) in self._owners.items() if other is one]
                self._stream.leave_out(unwanted)
                for k in unwanted:
                    del self._owners[k]


def _do(pool: JobPool, spec: MemberTasks, batch: Sequence[Submission]) -> list[Submission]:
    """Do the tasks that are left of submissions; return those that are not finished.

    An error of the pool ends a single submission. It may be that of any of several.
    """
    owners = [(one, number) for one in batch for number in sorted(one.left)]

    def take(job: int, done: JobResult[TaskResult]) -> Collection[int]:
        one, number = owners[job]
        if number not in one.left or one.take_result(number, done):
            return ()
        return [k for k, (other, _) in enumerate(owners) if other is one]

    error: Exception | None = None
    try:
        pool.do_jobs(spec, [one.jobs[number] for one, number in owners], take=take)
    except Exception as raised:
        if len(batch) > 1:
            return [one for one in batch if one.left]
        error = raised
    for one in batch:
        one.finish(error)
    return []
