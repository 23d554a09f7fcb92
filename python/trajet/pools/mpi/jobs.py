"""Jobs on ranks: each rank runs its own neighbouring jobs in order, then those of late ranks.

The task window assigns jobs as it assigns tasks. One thread runs the jobs, while the main thread
takes them from the window and exchanges progress and failures with all ranks, again and again.
"""

import pickle
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic

import numpy as np
from numpy.typing import NDArray

from trajet import signals
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, TakeResult, do_job
from trajet.pools.mpi.communicator import Communicator, pickled
from trajet.pools.mpi.task_window import TaskWindow
from trajet.pools.pool import Progress

# Seconds between two exchanges of progress, and between two polls of MPI.
_ROUND = 0.1
_LOOK = 1e-3


@dataclass(frozen=True)
class JobsSpec(Generic[Payload, Outcome]):
    """Setup of jobs, which all ranks get.

    Attributes
    ----------
    spec
        Common part of the jobs.
    threads
        Threads of each rank.
    n_frames
        Frames of each job.
    ends
        End of each serialised job, in bytes.
    """

    spec: JobSpec[Payload, Outcome]
    threads: int
    n_frames: list[int]
    ends: NDArray[np.int64]


def run_jobs(
    ranks: Communicator,
    jobs_spec: JobsSpec[Payload, Outcome],
    texts: Sequence[bytes],
    progress: Progress | None,
    take: TakeResult[Outcome],
) -> None:
    """Run pickled jobs on all ranks, on rank 0, while the others call `FollowerJobs`."""
    total = sum(jobs_spec.n_frames)

    def show(done: int) -> None:
        if progress is not None:
            progress(done, total)

    with signals.deferred() as interrupt, ranks.abort_all(interrupts=False):
        results = _RankJobs(jobs_spec, texts, interrupt).take(ranks, show)
    for result in results:
        if result.error is not None:
            raise pickle.loads(result.error)
    for rank, result in enumerate(results):
        for number, job in result.done:
            take(number, job.by(worker=rank, rank=rank))


@dataclass(frozen=True)
class FollowerJobs(Generic[Payload, Outcome]):
    """Jobs of a rank other than 0, which gets their outcome from rank 0."""

    jobs_spec: JobsSpec[Payload, Outcome]

    def __call__(self, ranks: Communicator) -> None:
        """Take part."""
        with signals.deferred() as interrupt:
            _RankJobs(self.jobs_spec, [], interrupt).take(ranks, lambda _: None)


@dataclass
class _RankResult(Generic[Outcome]):
    """Results of the jobs of a rank, by number, or its error."""

    done: list[tuple[int, JobResult[Outcome]]] = field(default_factory=list)
    error: bytes | None = None


class _StoppedError(Exception):
    """Another rank has failed."""


class _RankJobs(Generic[Payload, Outcome]):
    """The jobs that a rank runs; `interrupt` ends all ranks."""

    def __init__(
        self,
        jobs_spec: JobsSpec[Payload, Outcome],
        texts: Sequence[bytes],
        interrupt: threading.Event,
    ) -> None:
        self._jobs_spec, self._texts, self._interrupt = jobs_spec, texts, interrupt
        self._result: _RankResult[Outcome] = _RankResult()
        self._frames_done = 0
        self._stop = threading.Event()
        # requests of the working thread for a job; jobs for it, with their numbers
        # No SimpleQueue: one that waits some time, and meets a signal then, may wait for ever.
        self._wanted: queue.Queue[None] = queue.Queue()
        self._given: queue.SimpleQueue[tuple[int, Job[Payload]] | None] = queue.SimpleQueue()

    def take(self, ranks: Communicator, show: Callable[[int], None]) -> list[_RankResult[Outcome]]:
        """Run jobs while other ranks run theirs; return the results of all ranks, on rank 0.

        `show` is called with the frames that all have done.
        """
        task_window = TaskWindow(ranks, self._jobs_spec.n_frames, self._jobs_spec.ends, self._texts)
        self._given.put(self._next(task_window))
        # Each rank gets one job before any gets two.
        ranks.barrier()
        with ThreadPoolExecutor(1) as executor:
            try:
                working = executor.submit(self._work)
                self._serve(ranks, task_window, working.done, show)
                working.result()
            finally:
                self._stop.set()
                self._given.put(None)
        task_window.close()
        return ranks.gather_objects(self._result)

    def _serve(
        self,
        ranks: Communicator,
        task_window: TaskWindow,
        is_over: Callable[[], bool],
        show: Callable[[int], None],
    ) -> None:
        """Give jobs to the working thread, until all ranks are done."""
        every, asked, next_round = np.empty(3, np.int64), None, 0.0
        while True:
            wanted = False
            with suppress(queue.Empty):
                self._wanted.get(timeout=_LOOK)
                wanted = True
            if wanted:
                self._given.put(self._next(task_window))
            if self._interrupt.is_set() and self._result.error is None:
                self._result.error = pickled(KeyboardInterrupt())
            if asked is None and time.monotonic() >= next_round:
                message = [self._frames_done, is_over(), self._result.error is not None]
                mine = np.array(message, np.int64)
                asked = ranks.comm.Iallreduce(mine, every, ranks.mpi.SUM)
            ranks.progress()
            if asked is None or not asked.Test():
                continue
            asked, next_round = None, time.monotonic() + _ROUND
            if self._result.error is None:
                self._call(show, int(every[0]))
            if every[1] == ranks.size:
                return
            if every[2]:
                self._stop.set()

    def _call(self, show: Callable[[int], None], frames_done: int) -> None:
        """Report progress; an error of the callback stops all ranks."""
        try:
            show(frames_done)
        except Exception as error:
            self._result.error = pickled(error)

    def _next(self, task_window: TaskWindow) -> tuple[int, Job[Payload]] | None:
        """Return the next job of this rank, with its number, or None."""
        if self._stop.is_set() or (taken := task_window.table.next()) is None:
            return None
        (text,) = task_window.task_bytes(taken)
        return taken.start, pickle.loads(text)

    def _work(self) -> None:
        try:
            worker = self._jobs_spec.spec.begin()
            while (given := self._given.get()) is not None:
                number, job = given
                done = do_job(worker, job, self._jobs_spec.threads, self._shown())
                self._result.done.append((number, done))
                self._wanted.put(None)
        except _StoppedError:
            return
        except BaseException as error:
            self._result.error = pickled(error)

    def _shown(self) -> Callable[[int], None]:
        """Return the progress callback of the next job."""
        before = self._frames_done

        def show(done: int) -> None:
            if self._stop.is_set():
                raise _StoppedError
            self._frames_done = before + done

        return show
