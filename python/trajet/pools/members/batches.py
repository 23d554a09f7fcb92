"""`MembersInBatches`: members of an ensemble on a pool that runs jobs.

The runs of each open member are made by a thread of its own, its driver. The calling thread alone
talks to the pool: it gives it the tasks of several members as a batch of jobs. Meanwhile drivers
open the members of the next batch.
"""

import pickle
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Queue
from typing import TypeAlias

from trajet.advise.entries import RunReport
from trajet.pools.dispatch import History
from trajet.pools.jobs import GrowingPool, Job, JobPool, JobResult, ShowFrames
from trajet.pools.members.member_pool import (
    MemberPool,
    PassResults,
    StoppedError,
    TaskResult,
    do_task,
    largest_first,
    submit,
    task_counts,
)
from trajet.pools.passes import PassRun, new_sections
from trajet.pools.pool import Pool, facts_of
from trajet.pools.tasks import Worker, WorkerSpec
from trajet.pools.timing import RunTiming

# Runs the analyses of a member, given its number and its pool, and notes that it is done.
Drive: TypeAlias = "Callable[[int, Pool], None]"

# Members that are open at a time: at least, for each worker, and at most.
_OPEN, _OPEN_OF_WORKER, _MOST_OPEN = 24, 2, 128
# Tasks of each worker in a batch, at whose end workers wait for one another.
_TASKS_OF_BATCH = 16
# Setups of members that a worker process keeps, with their open files, and errors of members.
_KEPT = 4


@dataclass(eq=False)
class Submission:
    """The tasks of a pass of a member, for a batch.

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

    jobs: "list[Job[MemberTask]]"
    take: Callable[[int, TaskResult], bool]
    left: set[int] = field(init=False)
    end: "Future[None]" = field(default_factory=Future)

    def __post_init__(self) -> None:
        """All tasks are left."""
        self.left = set(range(len(self.jobs)))


class MembersInBatches:
    """Members whose tasks are jobs of a pool.

    Each driver has one submission at a time, and waits for its results. The calling thread takes
    submissions, and the numbers of members that are done, from one queue.

    Parameters
    ----------
    pool
        Does the jobs, called by one thread.
    sizes
        Bytes of each member; None if not known.
    """

    def __init__(self, pool: JobPool, sizes: Sequence[float | None]) -> None:
        self.pool, self._sizes = pool, sizes
        self._facts = facts_of(pool)
        self.threads = self._facts.threads
        self.n_workers = 0
        # Members that are open at a time, at most.
        self._most = 0
        # Tasks of a batch, and of each member, for the workers that are there.
        self._enough, self._n_tasks = 0, list[int]()
        self._spec = MemberTasks()
        # Members that are not begun, and how many are open.
        self._unopened, self._n_open = deque(largest_first(sizes)), 0
        self._drivers = ThreadPoolExecutor(_MOST_OPEN)
        self._events: Queue[int | Submission] = Queue()
        # Submissions without results; None after the end.
        self._waiting: set[Submission] | None = set()
        self._lock = threading.Lock()
        # Submissions of a batch that failed, done one by one: the error is that of one member.
        self._alone: deque[Submission] = deque()

    def run(self, work: Callable[[int, Pool], None]) -> Generator[int, None, None]:
        """Call `work` for each member; yield the numbers of those that are done."""

        def drive(member: int, pool: Pool) -> None:
            try:
                work(member, pool)
            finally:
                self._put(member)

        try:
            if isinstance(self.pool, GrowingPool):
                self.pool.await_worker()
            self._count_workers()
            self._begin(drive)
            yield from self._drive(drive)
        finally:
            self._stop()

    def _drive(self, drive: Drive) -> Generator[int, None, None]:
        """Do what drivers submit, until all members are done; yield their numbers."""
        batch = list[Submission]()
        while self._n_open:
            match self._events.get():
                case int(member):
                    self._n_open -= 1
                    yield member
                    self._begin(drive)
                case submission:
                    batch.append(submission)
            if self._alone:
                self._do([self._alone.popleft()])
            elif self._is_ready(batch):
                # With workers that have joined it may be too small.
                self._count_workers()
                self._begin(drive)
                if self._is_ready(batch):
                    self._do(batch)
                    batch = []

    def _put(self, event: int | Submission) -> None:
        """Give the calling thread a submission, or the number of a member that is done."""
        self._events.put(event)

    def _count_workers(self) -> None:
        """Ask how many workers there are now, and set the size of batches by them."""
        n_workers = max(1, facts_of(self.pool).n_threads // self.threads)
        if n_workers == self.n_workers:
            return
        self.n_workers = n_workers
        self._most = min(max(_OPEN, _OPEN_OF_WORKER * n_workers), _MOST_OPEN)
        # Half of the open members are one batch, and the others get ready for the next one.
        self._enough = _TASKS_OF_BATCH * n_workers
        self._n_tasks = task_counts(self._sizes, n_workers, -(-2 * self._enough // self._most))

    def _begin(self, drive: Drive) -> None:
        """Begin members, until enough are open."""
        while self._unopened and self._n_open < self._most:
            self._begin_one(drive)

    def _begin_one(self, drive: Drive) -> None:
        """Begin the next member."""
        member = self._unopened.popleft()
        pool = _MemberInBatches(
            n_threads=self.n_workers * self.threads,
            threads=self.threads,
            n_tasks=self._n_tasks[member],
            task_frames=self._facts.task_frames,
            is_local=self._facts.is_local,
            runs_here=min(self._most, len(self._sizes)),
            _members=self,
        )
        submit(self._drivers, drive, member, pool)
        self._n_open += 1

    def _is_ready(self, batch: Sequence[Submission]) -> bool:
        """Return whether a batch is to be done now: it is large, or all open members wait."""
        is_large = sum(len(one.jobs) for one in batch) >= self._enough
        is_complete = len(batch) + len(self._alone) == self._n_open
        return bool(batch) and (is_large or is_complete)

    @contextmanager
    def spec_of(self, data: bytes) -> "Iterator[Spec]":
        """Yield the setup of a pass of a member, given as bytes, for its tasks; drivers call it."""
        yield data

    def do(self, jobs: "list[Job[MemberTask]]", take: Callable[[int, TaskResult], bool]) -> None:
        """Have the tasks of a pass done; called by drivers.

        Parameters
        ----------
        jobs
            The tasks.
        take
            Called by the calling thread with the number and the result of each task, as it
            arrives. It returns whether the tasks that have not begun are still wanted.

        Raises
        ------
        Exception
            The error of the pool.
        """
        submission = Submission(jobs, take)
        with self._lock:
            if self._waiting is None:
                raise StoppedError
            self._waiting.add(submission)
        self._put(submission)
        submission.end.result()

    def _do(self, batch: Sequence[Submission]) -> None:
        """Do the tasks that are left of a batch; an error of the pool is that of one member."""
        owners = [(one, number) for one in batch for number in sorted(one.left)]

        def take(job: int, done: JobResult[TaskResult]) -> Collection[int]:
            one, number = owners[job]
            if number not in one.left or self._take(one, number, done):
                return ()
            return [k for k, (other, _) in enumerate(owners) if other is one]

        try:
            jobs = [one.jobs[number] for one, number in owners]
            self.pool.do_jobs(self._spec, jobs, take=take)
        except Exception as error:
            undone = [one for one in batch if one.left]
            if undone == batch and len(batch) == 1:
                self._end(batch[0], error)
            elif undone:
                self._alone.extend(undone)
                self._do([self._alone.popleft()])
            return
        for one in batch:
            self._end(one)

    def _take(self, one: Submission, number: int, done: JobResult[TaskResult]) -> bool:
        """Take the result of a task; end its submission if it fails, or none is left.

        Returns
        -------
        bool
            Whether further tasks of the submission are wanted.
        """
        error: Exception | None = None
        one.left.discard(number)
        result = replace(done.result, worker=done.where.get("worker", 0))
        try:
            is_wanted = one.take(number, result)
        except Exception as raised:
            is_wanted, error = False, raised
        if not is_wanted:
            one.left.clear()
        if not one.left:
            self._end(one, error)
        return is_wanted

    def _end(self, submission: Submission, error: Exception | None = None) -> None:
        """End a submission, for which its driver waits, unless it has ended."""
        with self._lock:
            if self._waiting is None or submission not in self._waiting:
                return
            self._waiting.discard(submission)
        if error is None:
            submission.end.set_result(None)
        else:
            submission.end.set_exception(error)

    def _stop(self) -> None:
        """End all submissions, wherever they are, and wait for all drivers."""
        with self._lock:
            waiting, self._waiting = self._waiting, None
        for submission in waiting or ():
            submission.end.set_exception(StoppedError())
        self._drivers.shutdown(cancel_futures=True)


@dataclass
class _MemberInBatches(MemberPool):
    """The pool of a member whose tasks are jobs."""

    _members: MembersInBatches

    def do(self, part: PassRun, texts: Sequence[bytes], results: PassResults) -> None:
        """Do the tasks of a pass; see `MemberPool.do`."""

        def take(number: int, result: TaskResult) -> bool:
            # A task without an outcome has no sections.
            own = part.tasks[number].part(part.sections)
            for section, values in zip(own, result.sections, strict=False):
                section[:] = values
            results.take(number, result)
            return not results.has_failed

        with self._members.spec_of(pickle.dumps(part.worker_spec)) as spec:
            jobs = [
                Job(task.n_frames, MemberTask(spec, text, task.n_frames))
                for task, text in zip(part.tasks, texts, strict=True)
            ]
            self._members.do(jobs, take)

    def report(self, timing: RunTiming) -> RunReport:
        """Return the report of a run."""
        members = self._members
        return timing.report(
            pool=members.pool.kind, processes=members.n_workers, threads=self.threads
        )


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
        """Return what workers need."""
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
