"""Jobs on ranks: each does its own part of them, neighbours, in order.

One thread does the jobs, while the main thread has all ranks tell each other, again and again, how
far they are and whether one has failed.
"""

import pickle
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from trajet.pools.jobs import Job, JobBrief, JobDone, do_job
from trajet.pools.mpi.link import Link, pickled
from trajet.pools.pool import Progress

# Seconds between two rounds in which ranks say how far they are.
_ROUND = 0.1


def lead_jobs(
    link: Link, brief: JobBrief, jobs: Sequence[Job], threads: int, progress: Progress | None
) -> list[JobDone]:
    """Have all ranks do jobs, while the others call `FollowJobs`."""
    total = sum(job.n_frames for job in jobs)

    def show(done: int) -> None:
        if progress is not None:
            progress(done, total)

    with link.together():
        borders = [len(jobs) * rank // link.size for rank in range(link.size + 1)]
        for rank in range(1, link.size):
            link.comm.send(jobs[borders[rank] : borders[rank + 1]], rank)
        answers = _Part(brief, jobs[: borders[1]], threads).take(link, show)
    for answer in answers:
        if answer.error is not None:
            raise pickle.loads(answer.error)
    return [
        done.by(worker=rank, rank=rank)
        for rank, answer in enumerate(answers)
        for done in answer.done
    ]


@dataclass(frozen=True)
class FollowJobs:
    """What a rank that follows does of jobs; it hears from rank 0 what became of them."""

    brief: JobBrief
    threads: int

    def __call__(self, link: Link) -> None:
        """Take part."""
        jobs: list[Job] = link.comm.recv(source=0)
        _Part(self.brief, jobs, self.threads).take(link, lambda _: None)


@dataclass
class _Answer:
    """What a rank says of its jobs."""

    done: list[JobDone] = field(default_factory=list)
    error: bytes | None = None


class _StoppedError(Exception):
    """Another rank has failed."""


class _Part:
    """The jobs of a rank."""

    def __init__(self, brief: JobBrief, jobs: Sequence[Job], threads: int) -> None:
        self._brief, self._jobs, self._threads = brief, jobs, threads
        self._answer, self._frames_done = _Answer(), 0
        self._stop = threading.Event()

    def take(self, link: Link, show: Callable[[int], None]) -> list[_Answer]:
        """Do them while other ranks do theirs; return what all ranks say, on rank 0.

        `show` is called with the frames that all have done.
        """
        with ThreadPoolExecutor(1) as executor:
            try:
                working = executor.submit(self._work)
                while True:
                    said = [self._frames_done, working.done(), self._answer.error is not None]
                    mine, every = np.array(said, np.int64), np.empty(3, np.int64)
                    link.wait(link.comm.Iallreduce(mine, every, link.mpi.SUM))
                    show(int(every[0]))
                    if every[1] == link.size:
                        break
                    if every[2]:
                        self._stop.set()
                    time.sleep(_ROUND)
                working.result()
            finally:
                self._stop.set()
        return link.gather_objects(self._answer)

    def _work(self) -> None:
        try:
            worker = self._brief.begin()
            for job in self._jobs:
                self._answer.done.append(do_job(worker, job, self._threads, self._shown()))
        except _StoppedError:
            return
        except BaseException as error:
            self._answer.error = pickled(error)

    def _shown(self) -> Callable[[int], None]:
        """Return what is called with the frames that are done of the next job."""
        before = self._frames_done

        def show(done: int) -> None:
            if self._stop.is_set():
                raise _StoppedError
            self._frames_done = before + done

        return show
