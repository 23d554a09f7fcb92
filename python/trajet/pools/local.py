"""`LocalPool`: threads of this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from trajet import _trajet
from trajet._trajet import Plan, Reader
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, do_job
from trajet.pools.mapping import MappingPool
from trajet.pools.pool import Frames, Progress, RunOutput, check_counts


@dataclass(frozen=True, kw_only=True)
class LocalPool(MappingPool):
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
    is_local: ClassVar[bool] = True

    threads: int | None = None
    task_frames: int | None = None

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_counts(threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return self.threads or _trajet.available_threads()

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
    ) -> list[JobResult[Outcome]]:
        """Run jobs one after another on the calling thread; see `trajet.pools.jobs.JobPool`."""
        worker, total = spec.begin(), sum(job.n_frames for job in jobs)
        results: list[JobResult[Outcome]] = []
        before = 0

        def show(done: int) -> None:
            if progress is not None:
                progress(before + done, total)

        for job in jobs:
            results.append(do_job(worker, job, self.n_threads, show).by(worker=0))
            before += job.n_frames
            show(0)
        return results
