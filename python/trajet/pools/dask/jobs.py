"""Jobs on a cluster: Dask assigns them to workers, and repeats those of killed workers.

Jobs whose spec has a history also run on an idle worker while they are stragglers.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Generic, Never, cast

from distributed import Client, KilledWorker

from trajet.pools.dask.plugins import JobAnswer, do_job_here
from trajet.pools.dask.submissions import RULE, Submissions, SubmittedCopy, killed
from trajet.pools.dask.workers import Workers, started_run
from trajet.pools.dispatch import Dispatch, History, Submit, Take
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, TakeResult
from trajet.pools.pool import Progress
from trajet.pools.tasks import Task

# Bytes that the result of a job is taken for: some results are fetched from a worker at once.
_RESULT_BYTES = 4 << 20


def run_jobs(
    client: Client,
    workers: Workers,
    spec: JobSpec[Payload, Outcome],
    jobs: Sequence[Job[Payload]],
    threads: int,
    progress: Progress | None,
    take: TakeResult[Outcome],
) -> None:
    """Run jobs on the workers of a client; `progress` is called while they run."""
    with started_run(client) as run:
        name = run.announce(spec, sum(workers.threads.values()))
        history: History | None = getattr(spec, "history", None)
        dispatcher = _JobDispatcher(client, workers, name, jobs, threads, take, history)
        run.on_progress = dispatcher.on_progress
        dispatcher.do(progress)
        run.end()


class _JobDispatcher(Submissions[JobAnswer], Generic[Outcome]):
    """Runs jobs on the workers of a client."""

    def __init__(
        self,
        client: Client,
        workers: Workers,
        name: str,
        jobs: Sequence[Job[object]],
        threads: int,
        take: TakeResult[Outcome],
        history: History | None,
    ) -> None:
        self._jobs, self._threads, self._take_result = jobs, threads, take
        self._frames_done = 0
        # Files without frames have jobs too.
        n_frames = [max(1, job.n_frames) for job in jobs]
        dispatch = Dispatch(n_frames, rule=None if history is None else RULE, history=history)
        tasks = [Task(k, (k, k + 1), (0, count)) for k, count in enumerate(n_frames)]
        super().__init__(client, workers, name, dispatch, tasks)

    def do(self, progress: Progress | None) -> None:
        """Run all jobs."""
        total = sum(job.n_frames for job in self._jobs)

        def show(_: int) -> None:
            if progress is not None:
                progress(self._frames_done, total)

        self._run(show)
        show(0)

    def _submit(self, submitted: Iterable[Submit], workers: list[str], *, anywhere: bool) -> None:
        """Submit copies of jobs."""
        copies = [one.copy for one in submitted]
        self._send(
            partial(do_job_here, self._name, self._threads),
            [(copy, [self._tasks[copy.task]]) for copy in copies],
            [[self._jobs[copy.task] for copy in copies]],
            workers,
            anywhere=anywhere,
        )

    def _n_bytes(self, sent: SubmittedCopy) -> int:
        """Return the bytes of a result, about."""
        return _RESULT_BYTES

    def _name_of(self, sent: SubmittedCopy) -> str:
        """Return the name of a job in errors."""
        return f"the job {sent.copy.task} of {len(self._jobs)}"

    def _failed(self, sent: SubmittedCopy, error: BaseException) -> Never:
        """Raise the error of a job, which the worker has tried again already."""
        if isinstance(error, KilledWorker):
            raise killed(error, self._name_of(sent)) from error
        raise error

    def _take(
        self, sent: SubmittedCopy, answer: JobAnswer | None, moved: tuple[float, float]
    ) -> None:
        """Take the result of a job, if the core says so."""
        if sent.copy not in self._sent:
            return
        self._forget(sent)
        if answer is None:
            # Dask took the worker for dead, and then found it again.
            self._follow(self._dispatch.lost(sent.copy))
            return
        found, address, thread = answer
        seconds = found.end - found.begin
        instructions = self._dispatch.finished(sent.copy, address, seconds)
        self._follow(instructions)
        if Take(sent.copy) not in instructions:
            return
        number = sent.copy.task
        self._frames_done += self._jobs[number].n_frames
        worker = self._workers.number(address, thread)
        # The spec of the jobs determines the type of their results.
        done = cast(JobResult[Outcome], found.by(worker=worker, address=address))
        if unwanted := self._take_result(number, done):
            self._follow(self._dispatch.leave_out(unwanted))
