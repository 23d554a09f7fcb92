"""`LocalPool`: threads of this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trajet import _trajet
from trajet._trajet import Plan, Reader
from trajet.pools.jobs import (
    Job,
    JobResult,
    JobSpec,
    Outcome,
    Payload,
    TakeResult,
    do_job,
    store_in,
)
from trajet.pools.mapping import MappingPool
from trajet.pools.pool import Frames, Pool, PoolFacts, Progress, RunOutput, check_counts


@dataclass(frozen=True, kw_only=True)
class LocalPool(MappingPool, Pool):
    """Threads of this process.

    Attributes
    ----------
    threads
        How many; None for as many as the process may use cores.
    task_frames
        Frames of a task, rounded up to whole leaves; None for a size that keeps all threads busy.
        It changes no bit of a result.

    Raises
    ------
    ValueError
        If a number is below one.
    """

    kind: ClassVar[str] = "local"

    threads: int | None = None
    task_frames: int | None = None

    def __post_init__(self) -> None:
        check_counts(threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return self.threads or _trajet.available_threads()

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool."""
        n = self.n_threads
        return PoolFacts(
            n_threads=n,
            threads=n,
            threads_here=n,
            is_local=True,
            hands_over=True,
            task_frames=self.task_frames,
        )

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        analyses, report = _trajet.run(
            reader,
            plan,
            frames,
            # Threads that wait for remote storage take no core.
            threads=max(self.n_threads, reader.connections or 1),
            task_frames=self.task_frames,
            progress=progress,
        )
        return RunOutput(analyses, report)

    def do_jobs(
        self,
        spec: JobSpec[Payload, Outcome],
        jobs: Sequence[Job[Payload]],
        progress: Progress | None = None,
        take: TakeResult[Outcome] | None = None,
    ) -> list[JobResult[Outcome]]:
        """Run jobs one after another on the calling thread; see `trajet.pools.jobs.JobPool`."""
        worker, total = spec.begin(), sum(job.n_frames for job in jobs)
        done: dict[int, JobResult[Outcome]] = {}
        take = take or store_in(done)
        before, unwanted = 0, set[int]()

        def show(done: int) -> None:
            if progress is not None:
                progress(before + done, total)

        for number, job in enumerate(jobs):
            if number not in unwanted:
                unwanted.update(
                    take(number, do_job(worker, job, self.n_threads, show).by(worker=0))
                )
            before += job.n_frames
            show(0)
        return list(done.values())
