"""`MembersOnThreads`: members of an ensemble on threads of this process.

The runs of a large member are made by a thread of its own, its driver. Their tasks queue for the
workers in the order in which they come. A small member is a single task, done by one worker.
"""

import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import Queue

from trajet import _trajet
from trajet._trajet import Plan, Reader
from trajet.pools.local import LocalPool
from trajet.pools.members.member_pool import (
    MemberPool,
    PassResults,
    StoppedError,
    do_task,
    largest_first,
    submit,
    task_counts,
)
from trajet.pools.passes import PassRun
from trajet.pools.pool import Frames, Pool, PoolFacts, Progress, RunOutput
from trajet.pools.tasks import Task, Worker
from trajet.pools.timing import RunTiming
from trajet.report_entries import RunReport

# Large members that are open at a time: each has a descriptor, and another one for its tasks.
_OPEN = 8


class MembersOnThreads:
    """Members that share threads of this process.

    Parameters
    ----------
    facts
        How many threads, and frames of a task.
    sizes
        Bytes of each member; None if not known.
    """

    def __init__(self, facts: PoolFacts, sizes: Sequence[float | None]) -> None:
        self._facts, self._sizes = facts, sizes
        self._workers = ThreadPoolExecutor(facts.n_threads)
        self._drivers = ThreadPoolExecutor(max(_OPEN, facts.n_threads))
        self._lock = threading.Lock()
        # Numbers of the threads that have done tasks.
        self._numbers: dict[int, int] = {}
        self._stopped = threading.Event()
        self._stops: set[_trajet.Stop] = set()

    def run(self, work: Callable[[int, Pool], None]) -> Generator[int, None, None]:
        """Call `work` for each member; yield the numbers of those that are done."""
        done: Queue[int] = Queue()
        n, n_tasks = self._facts.n_threads, task_counts(self._sizes, self._facts.n_threads)
        members = largest_first(self._sizes)
        small = deque(member for member in members if n_tasks[member] == 1)
        n_open = min(max(_OPEN, n), len(members) - len(small)) + min(n, len(small))

        def drive(member: int, pool: Pool) -> None:
            try:
                if not self._stopped.is_set():
                    work(member, pool)
            finally:
                done.put(member)

        def submit_small() -> None:
            alone = _OneThread(
                threads=1,
                task_frames=self._facts.task_frames,
                stopped=self._stopped,
                n_workers=n,
                runs_here=n_open,
            )
            submit(self._workers, drive, small.popleft(), alone)

        try:
            for member in members[: len(members) - len(small)]:
                own = _MemberOnThreads(
                    n_threads=n,
                    threads=1,
                    n_tasks=n_tasks[member],
                    task_frames=self._facts.task_frames,
                    is_local=True,
                    runs_here=n_open,
                    _members=self,
                )
                submit(self._drivers, drive, member, own)
            # Further ones follow as these end, so that tasks of large members come before them.
            for _ in range(min(2 * n, len(small))):
                submit_small()
            for _ in members:
                member = done.get()
                if small and n_tasks[member] == 1:
                    submit_small()
                yield member
        finally:
            self._stop()

    def do(
        self, part: PassRun, texts: Sequence[bytes], worker: Worker, results: PassResults
    ) -> None:
        """Do the tasks of a pass; none begins after one has failed."""
        stop, taking = _trajet.Stop(), threading.Lock()

        def do(number: int, task: Task, text: bytes) -> None:
            result = do_task(worker, text, task.part(part.sections), stop)
            if result.error is not None:
                stop.set()
            with taking:
                results.take(number, replace(result, worker=self._number()))

        with self._lock:
            self._stops.add(stop)
            if self._stopped.is_set():
                stop.set()
        try:
            # A task that is stopped ends at once. Tasks are not cancelled, since a cancelled future
            # would never get a result.
            for _ in self._workers.map(do, range(len(texts)), part.tasks, texts):
                pass
        finally:
            with self._lock:
                self._stops.discard(stop)

    def _number(self) -> int:
        """Return the number of this thread."""
        with self._lock:
            return self._numbers.setdefault(threading.get_ident(), len(self._numbers))

    def _stop(self) -> None:
        """Stop the runs of all members, and wait for all threads."""
        with self._lock:
            self._stopped.set()
            for stop in self._stops:
                stop.set()
        self._drivers.shutdown(cancel_futures=True)
        self._workers.shutdown()


@dataclass
class _MemberOnThreads(MemberPool):
    """The pool of a large member on threads of this process."""

    _members: MembersOnThreads
    _worker: Worker | None = None

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool; threads hold states of all members."""
        return replace(super().facts, threads_here=self.n_threads)

    def do(self, part: PassRun, texts: Sequence[bytes], results: PassResults) -> None:
        """Do the tasks of a pass; see `MemberPool.do`. Files stay open for the next pass."""
        self._worker = Worker(part.worker_spec, self._worker)
        self._members.do(part, texts, self._worker, results)

    def report(self, timing: RunTiming) -> RunReport:
        """Return the report of a run."""
        return timing.report(pool=LocalPool.kind, threads=self.n_threads)


@dataclass(frozen=True, kw_only=True)
class _OneThread(LocalPool):
    """The pool of a small member: the thread that calls it.

    Attributes
    ----------
    stopped
        Set when all members are stopped.
    n_workers
        Threads on which members run.
    runs_here
        Members whose states are merged at a time.
    """

    stopped: threading.Event
    n_workers: int
    runs_here: int

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool; threads hold states of all members."""
        return replace(super().facts, threads_here=self.n_workers, runs_here=self.runs_here)

    def run(
        self, reader: Reader, plan: Plan, frames: Frames, *, progress: Progress | None = None
    ) -> RunOutput:
        """Run a plan, until all members are stopped."""

        def check(done: int, total: int) -> None:
            if self.stopped.is_set():
                raise StoppedError
            if progress is not None:
                progress(done, total)

        return super().run(reader, plan, frames, progress=check)
