"""Jobs on a cluster: Dask assigns them to workers, and repeats those of killed workers."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from distributed import Client, Future, KilledWorker

from trajet.pools.dask.dispatcher import dropped, killed
from trajet.pools.dask.plugins import do_job_here
from trajet.pools.dask.workers import Workers, started_run
from trajet.pools.jobs import Job, JobResult, JobSpec, Outcome, Payload, TakeResult
from trajet.pools.pool import Progress

# Seconds between two looks at the jobs, and between two counts of the workers.
_LOOK = 0.1
_COUNT = 1.0


def run_jobs(
    client: Client,
    workers: Workers,
    spec: JobSpec[Payload, Outcome],
    jobs: Sequence[Job[Payload]],
    threads: int,
    progress: Progress | None,
    take: TakeResult[Outcome],
) -> None:
    """Run jobs on the workers of a client; `progress` is called when one is done."""
    with started_run(client) as run:
        name = run.announce(spec)
        work = partial(do_job_here, name, threads)
        # Each job has one copy.
        left = {
            number: client.submit(work, job, key=(name, number, 0), pure=False)
            for number, job in enumerate(jobs)
        }
        frames_done, total = 0, sum(job.n_frames for job in jobs)
        try:
            counted = time.monotonic()
            while left:
                for number in [k for k, future in left.items() if future.done()]:
                    if number not in left:
                        # It is wanted no more.
                        continue
                    what = f"the job {number} of {len(jobs)}"
                    done: JobResult[Outcome] = _result(client, workers, left[number], what)
                    del left[number]
                    frames_done += jobs[number].n_frames
                    unwanted = [left.pop(k) for k in take(number, done) if k in left]
                    if unwanted:
                        client.cancel(unwanted)
                if progress is not None:
                    progress(frames_done, total)
                if time.monotonic() - counted > _COUNT:
                    counted = time.monotonic()
                    workers.refresh()
                time.sleep(_LOOK)
        finally:
            # An error of the scheduler has been raised by then.
            with suppress(Exception):
                client.cancel(list(left.values()))
        run.end()


def _result(client: Client, workers: Workers, future: Future, what: str) -> JobResult[Outcome]:
    """Return the result of a job, or raise its error."""
    if future.status == "cancelled":
        raise dropped(client, what)
    try:
        answer = future.result()
    except KilledWorker as error:
        raise killed(error, what) from error
    if answer is None:
        # A job stops only when it is cancelled.
        raise dropped(client, what)
    done: JobResult[Outcome]
    done, address, thread = answer
    return done.by(worker=workers.number(address, thread), address=address)
