"""Jobs: work other than analyses that a pool distributes, such as writing a file each.

The calling process sends each worker the common part of all jobs once (`JobSpec`), and then the
jobs. A job may run twice, if its worker was taken for dead: that must do no harm.
"""

import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Protocol, TypeAlias, TypeVar, Unpack, runtime_checkable

from trajet.pools.pool import Progress
from trajet.report_entries import Place

# Called with the frames of a job that are done; an exception from it ends the job.
ShowFrames: TypeAlias = Callable[[int], None]
# Types of the description of a job and of its result; the spec of the job determines both.
Payload = TypeVar("Payload")
Outcome = TypeVar("Outcome")
_Payload_co = TypeVar("_Payload_co", covariant=True)
_Payload_contra = TypeVar("_Payload_contra", contravariant=True)
_Outcome_co = TypeVar("_Outcome_co", covariant=True)


@dataclass(frozen=True)
class Job(Generic[_Payload_co]):
    """Work for one worker.

    Attributes
    ----------
    n_frames
        Size of the job, for progress.
    what
        Description of the job; picklable.
    """

    n_frames: int
    what: _Payload_co


class JobWorker(Protocol[_Payload_contra, _Outcome_co]):
    """Runs jobs in this process."""

    def do(self, what: _Payload_contra, /, threads: int, show: ShowFrames) -> _Outcome_co:
        """Run a job; return a small, picklable result."""
        ...


class JobSpec(Protocol[_Payload_contra, _Outcome_co]):
    """Common part of all jobs, sent to each worker once; picklable.

    It may have an attribute `history`, the `trajet.pools.dispatch.History` of earlier jobs of the
    same kind. With it a straggler may run on an idle worker as well, while the other goes on.
    """

    def begin(self) -> JobWorker[_Payload_contra, _Outcome_co]:
        """Return the worker that runs the jobs."""
        ...


@dataclass(frozen=True)
class JobResult(Generic[_Outcome_co]):
    """Table of a job.

    Attributes
    ----------
    result
        Return value of the worker.
    retried
        Errors of the storage after which the job was tried again.
    where
        Where it ran, as reports say it: `worker` (its number), `host`, `process`, ….
    begin, end
        Seconds by the clock of that machine (`time.time`).
    """

    result: _Outcome_co
    retried: list[str]
    where: Place
    begin: float
    end: float

    def by(self, **where: Unpack[Place]) -> "JobResult[_Outcome_co]":
        """Return a copy with more entries of `where`."""
        return replace(self, where={**self.where, **where})


# Takes the result of a job, by its number; returns the numbers of jobs that are wanted no more.
TakeResult: TypeAlias = Callable[[int, JobResult[Outcome]], Collection[int]]


def store_in(done: dict[int, JobResult[Outcome]]) -> TakeResult[Outcome]:
    """Return a function that takes results into a dictionary, by the numbers of their jobs."""

    def take(number: int, result: JobResult[Outcome]) -> Collection[int]:
        done[number] = result
        return ()

    return take


@runtime_checkable
class JobPool(Protocol):
    """A pool whose workers run jobs.

    Attributes
    ----------
    kind
        Name of the pool in reports.
    n_threads
        Number of threads of all workers.
    """

    kind: ClassVar[str]

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers."""
        ...

    def do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None = None,
        take: TakeResult[Outcome] | None = None,
    ) -> list[JobResult[Outcome]]:
        """Run jobs; `progress` is called with frames done and in total.

        With `take`, the calling thread calls it once with the result of each job, as it arrives,
        and the returned list is empty. Jobs that are wanted no more are left out, if they have not
        begun. Otherwise all results are in memory until they are returned.

        When a job fails, the others are stopped soon, and its error is raised.
        """
        ...


class JobStream(Protocol[_Payload_contra, _Outcome_co]):
    """Jobs that are submitted while others run."""

    def submit(self, jobs: Sequence[Job[_Payload_contra]]) -> range:
        """Submit further jobs; return their numbers."""
        ...

    def leave_out(self, numbers: Collection[int]) -> None:
        """Leave out jobs that are wanted no more, if they have not begun."""
        ...

    def wait(self) -> Sequence[tuple[int, JobResult[_Outcome_co]]]:
        """Wait for a short time, until results have come or `wake` is called; return them.

        Raises
        ------
        Exception
            The error of a job, or of the pool. No further job is done then.
        """
        ...

    def wake(self) -> None:
        """Have `wait` return; another thread may call it, at any time."""
        ...


@runtime_checkable
class StreamPool(JobPool, Protocol):
    """A pool of jobs whose workers need not wait for one another between sets of jobs."""

    def job_stream(
        self, spec: JobSpec[Payload, Outcome]
    ) -> "AbstractContextManager[JobStream[Payload, Outcome]]":
        """Return jobs with a common part, which are submitted one after the other."""
        ...


@runtime_checkable
class GrowingPool(Protocol):
    """A pool whose workers may join and leave at any time."""

    def await_worker(self) -> None:
        """Wait until a worker has joined.

        Raises
        ------
        WorkerError
            If none comes.
        """
        ...


def try_job(
    worker: JobWorker[Payload, Outcome], job: Job[Payload], threads: int, show: ShowFrames
) -> JobResult[Outcome]:
    """Run a job in this process, once."""
    begin = time.time()
    result = worker.do(job.what, threads, show)
    where: Place = {"host": os.uname().nodename, "process": os.getpid()}
    return JobResult(result, [], where, begin, time.time())


def do_job(
    worker: JobWorker[Payload, Outcome], job: Job[Payload], threads: int, show: ShowFrames
) -> JobResult[Outcome]:
    """Run a job in this process; try again after transient errors of the storage."""
    retried: list[str] = []
    begin = time.time()
    while True:
        try:
            done = try_job(worker, job, threads, show)
            return replace(done, retried=retried, begin=begin)
        except OSError as error:
            from trajet.pools.dispatch import is_retried

            if not is_retried(error, len(retried) + 1):
                raise
            retried.append(str(error))
