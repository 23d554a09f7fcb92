"""Jobs on a cluster: Dask decides who does them, and has those of killed workers done again."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from distributed import KilledWorker

from trajet.pools.dask.dispatcher import dropped, killed
from trajet.pools.dask.plugins import do_one
from trajet.pools.dask.workers import Crew, begun
from trajet.pools.jobs import Job, JobBrief, JobDone
from trajet.pools.pool import Progress

# Seconds between two looks at the jobs, and between two counts of the workers.
_LOOK = 0.1
_COUNT = 1.0


def lead_jobs(
    client: Any,
    crew: Crew,
    brief: JobBrief,
    jobs: Sequence[Job],
    threads: int,
    progress: Progress | None,
) -> list[JobDone]:
    """Have jobs done by the workers of a client; `progress` is called when one is done."""
    with begun(client) as run:
        name = run.tell(brief)
        work = partial(do_one, name, threads)
        # The copy of a job is the first and only one.
        left = {
            number: client.submit(work, job, key=(name, number, 0), pure=False)
            for number, job in enumerate(jobs)
        }
        done: dict[int, JobDone] = {}
        try:
            counted = time.monotonic()
            while left:
                for number in [k for k, future in left.items() if future.done()]:
                    what = f"the job {number} of {len(jobs)}"
                    done[number] = _result(client, crew, left[number], what)
                    del left[number]
                if progress is not None:
                    progress(sum(jobs[k].n_frames for k in done), sum(job.n_frames for job in jobs))
                if time.monotonic() - counted > _COUNT:
                    counted = time.monotonic()
                    crew.count()
                time.sleep(_LOOK)
        finally:
            # Whatever is wrong with the scheduler is said by then.
            with suppress(Exception):
                client.cancel(list(left.values()))
        run.end()
    return [done[number] for number in range(len(jobs))]


def _result(client: Any, crew: Crew, future: Any, what: str) -> JobDone:
    """Return what came of a job."""
    if future.status == "cancelled":
        raise dropped(client, what)
    try:
        answer = future.result()
    except KilledWorker as error:
        raise killed(error, what) from error
    if answer is None:
        # Only who cancels a job stops it.
        raise dropped(client, what)
    done: JobDone
    done, address, thread = answer
    return done.by(worker=crew.number(address, thread), address=address)
