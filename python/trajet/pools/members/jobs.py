"""`MembersOnJobs`: members of an ensemble on a pool that runs jobs.

The runs of each open member are made by a thread of its own, its driver. The calling thread alone
talks to the pool: it takes the tasks that drivers submit, and has them done by a queue, in batches
or one after the other. Meanwhile drivers open further members.
"""

import pickle
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, Queue
from typing import TypeAlias

from trajet.pools.jobs import GrowingPool, Job, JobPool, StreamPool
from trajet.pools.members.member_pool import (
    MemberPool,
    PassResults,
    StoppedError,
    TaskResult,
    largest_first,
    submit,
    task_counts,
)
from trajet.pools.members.queues import BatchQueue, MemberTask, Spec, StreamQueue, Submission
from trajet.pools.passes import PassRun
from trajet.pools.pool import Pool, facts_of
from trajet.pools.shared import file_of
from trajet.pools.timing import RunTiming
from trajet.report_entries import RunReport

# Runs the analyses of a member, given its number and its pool, and notes that it is done.
Drive: TypeAlias = "Callable[[int, Pool], None]"

# Members that are open at a time: at least, for each worker, and at most.
_OPEN, _OPEN_OF_WORKER, _MAX_OPEN = 24, 2, 128


class MembersOnJobs:
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
        self._queue = StreamQueue(pool) if isinstance(pool, StreamPool) else BatchQueue(pool)
        # Members that are open at a time, at most, and the number of tasks of each member.
        self._most, self._n_tasks = 0, list[int]()
        # Members that are not begun, and how many are open.
        self._unopened, self._n_open = deque(largest_first(sizes)), 0
        self._drivers = ThreadPoolExecutor(_MAX_OPEN)
        self._events: Queue[int | Submission] = Queue()
        # Ends of submissions that drivers wait for; none is added when all are stopped.
        self._waiting, self._is_stopped = set[Future[None]](), False
        self._lock = threading.Lock()

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
            while self._n_open:
                with self._queue.opened():
                    yield from self._until_all_are_done(drive)
        finally:
            self._stop()

    def _until_all_are_done(self, drive: Drive) -> Generator[int, None, None]:
        """Do what drivers submit, until all members are done; yield their numbers."""
        while self._n_open:
            match event := self._next_event():
                case int(member):
                    self._n_open -= 1
                    yield member
                case Submission(jobs=[]):
                    event.finish()
                case Submission():
                    self._queue.add(event)
                case None:
                    self._queue.run()
            self._begin(drive)
            if not self._queue.retry() and self._queue.has_batch(self._n_open):
                # With workers that have joined, it may be too small.
                self._count_workers()
                self._begin(drive)
                if self._queue.has_batch(self._n_open):
                    self._queue.run()

    def _put(self, event: int | Submission) -> None:
        """Give the calling thread a submission, or the number of a member that is done."""
        self._events.put(event)
        self._queue.wake()

    def _next_event(self) -> int | Submission | None:
        """Return what a driver gave; None if it gives nothing while the queue has patience."""
        try:
            return self._events.get(timeout=self._queue.patience)
        except Empty:
            return None

    def _count_workers(self) -> None:
        """Ask how many workers there are now, and divide the work by them."""
        n_workers = max(1, facts_of(self.pool).n_threads // self.threads)
        if n_workers == self.n_workers:
            return
        self.n_workers = n_workers
        self._most = min(max(_OPEN, _OPEN_OF_WORKER * n_workers), _MAX_OPEN)
        least = self._queue.set_limits(n_workers, self._most)
        self._n_tasks = task_counts(self._sizes, n_workers, least)

    def _begin(self, drive: Drive) -> None:
        """Begin members, until enough are open or get ready."""
        while self._unopened and self._n_open < self._most:
            if self._n_open - len(self._waiting) >= self._queue.n_preparing:
                break
            member = self._unopened.popleft()
            pool = _MemberOnJobs(
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

    @contextmanager
    def spec_of(self, data: bytes) -> Iterator[Spec]:
        """Yield the setup of a pass of a member, for its tasks; drivers call it.

        Workers of this machine get a file, if there is room for it: the setup may be larger than
        what a pipe holds. No other file gets its name: a worker may still have a task of a member
        that has failed.
        """
        with ExitStack() as kept:
            spec: Spec = data
            if self._facts.is_local:
                # Without room the bytes travel with each task.
                with suppress(OSError):
                    spec = kept.enter_context(file_of(data))
            yield spec

    def do(self, jobs: list[Job[MemberTask]], take: Callable[[int, TaskResult], bool]) -> None:
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
            if self._is_stopped:
                raise StoppedError
            self._waiting.add(submission.end)
        submission.end.add_done_callback(self._waiting.discard)
        self._put(submission)
        submission.end.result()

    def _stop(self) -> None:
        """End all submissions, wherever they are, and wait for all drivers."""
        with self._lock:
            self._is_stopped = True
        for end in list(self._waiting):
            # An interrupt may come between the end of a submission and its removal.
            if not end.done():
                end.set_exception(StoppedError())
        self._drivers.shutdown(cancel_futures=True)


@dataclass
class _MemberOnJobs(MemberPool):
    """The pool of a member whose tasks are jobs."""

    _members: MembersOnJobs

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
