"""Jobs: what workers of a pool do beside analyses, such as a file each.

The process that was asked (here: the leader) tells each worker once what jobs have in common
(`JobBrief`), and with each job what it is about. A job may be done twice, where a worker was taken
for lost: it must not matter.
"""

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from trajet.pools.dispatch import is_retried
from trajet.pools.pool import Progress

# Called with how many frames of a job are done; what it raises ends the job.
ShowFrames: TypeAlias = Callable[[int], None]


@dataclass(frozen=True)
class Job:
    """What one worker does.

    Attributes
    ----------
    n_frames
        How much that is.
    what
        What it is about; it can be sent.
    """

    n_frames: int
    what: Any


class JobWorker(Protocol):
    """Does jobs in this process."""

    def do(self, what: Any, threads: int, show: ShowFrames) -> Any:
        """Do a job; return what can be sent, and is small."""
        ...


class JobSpec(Protocol):
    """What a worker is told once; it can be sent."""

    def begin(self) -> JobWorker:
        """Return who does the jobs."""
        ...


@dataclass(frozen=True)
class JobResult:
    """What comes back of a job.

    Attributes
    ----------
    result
        What the worker returned.
    retried
        Errors of the storage after which it was tried again.
    where
        Where it ran, as reports say it: `worker` (its number), `host`, `process`, ….
    begin, end
        Seconds by the clock of that machine (`time.time`).
    """

    result: Any
    retried: list[str]
    where: dict[str, Any]
    begin: float
    end: float

    def by(self, **where: Any) -> "JobResult":
        """Return it with more of where it ran."""
        return replace(self, where={**self.where, **where})


@runtime_checkable
class JobPool(Protocol):
    """A pool whose workers do jobs.

    Attributes
    ----------
    kind
        What reports call it.
    n_threads
        How many threads all workers have.
    """

    kind: ClassVar[str]

    @property
    def n_threads(self) -> int:
        """How many threads all workers have."""
        ...

    def do_jobs(
        self, spec: JobSpec, jobs: Sequence[Job], progress: Progress | None = None
    ) -> list[JobResult]:
        """Have jobs done; `progress` is called with frames done and in total.

        Where one fails, the others end soon, and its error is raised.
        """
        ...


def do_job(worker: JobWorker, job: Job, threads: int, show: ShowFrames) -> JobResult:
    """Do a job in this process, again where storage fails in a way that may pass."""
    retried: list[str] = []
    begin = time.time()
    while True:
        try:
            result = worker.do(job.what, threads, show)
            where = {"host": socket.gethostname(), "process": os.getpid()}
            return JobResult(result, retried, where, begin, time.time())
        except OSError as error:
            if not is_retried(error, len(retried) + 1):
                raise
            retried.append(str(error))
