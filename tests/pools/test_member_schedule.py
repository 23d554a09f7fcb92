"""Members are scheduled so that workers which do jobs in batches are busy."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import trajet as tj
from trajet._trajet import Pass, Plan
from trajet.pools.dispatch import Dispatch
from trajet.pools.jobs import Job, JobResult
from trajet.pools.members.jobs import MembersOnJobs
from trajet.pools.members.member_pool import MIN_BYTES, TaskResult
from trajet.pools.passes import blocks_of
from trajet.pools.tasks import Task

LONG = "1,000 of 100 frames"
# Frames of the members.
MIXES = {
    "ten of 10,000 frames and one of 100,000": [10_000] * 10 + [100_000],
    "1,000 of 100 frames": [100] * 1000,
    "18 of 200 frames and two of 1,000": [200] * 18 + [1000] * 2,
}
# Logarithms of the times of tasks have this standard deviation.
SPREAD = 0.2
AIM = 0.9  # what one leaf, which no worker divides, allows in each


@cache
def pass_of(n_frames: int) -> Pass:
    """Return a pass over some frames of 214 atoms."""
    plan = Plan("moments", atoms=np.arange(214), align=None, average=False)
    return Pass(plan, 214, n_frames, [])


@dataclass
class CountedWorkers:
    """A pool whose workers take time that is only counted; the dispatch core gives them jobs."""

    n_threads: int
    kind: str = "counted"
    now: float = 0.0
    work: float = 0.0
    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    run = tj.LocalPool.run

    def do_jobs(
        self, _spec: object, jobs: Sequence[Job[Any]], _: object = None, *, take: Any
    ) -> list[Any]:
        """Do jobs; see `trajet.pools.jobs.JobPool`."""
        dispatch = Dispatch([job.n_frames for job in jobs])
        waiting = [submit.copy for submit in dispatch.start({"all": self.n_threads})][::-1]
        free, running = self.n_threads, list[tuple[float, Any]]()
        while not dispatch.is_done:
            while free and waiting:
                copy = waiting.pop()
                spread = np.exp(self.chance.normal(-(SPREAD**2) / 2, SPREAD))
                seconds = jobs[copy.task].n_frames * float(spread)
                self.work += seconds
                free -= 1
                heapq.heappush(running, (self.now + seconds, copy))
            self.now, done = heapq.heappop(running)
            free += 1
            instructions = dispatch.finished(done, "", 0.0)
            waiting = [one.copy for one in instructions if hasattr(one, "prefer")][::-1] + waiting
            take(done.task, JobResult(TaskResult(), [], {}, 0.0, 0.0))
        return []


def in_batches(frames: Sequence[int], n_workers: int) -> float:
    """Return the busy share of workers that do jobs in batches."""
    pool = CountedWorkers(n_workers)
    members = MembersOnJobs(pool, [MIN_BYTES * n for n in frames])  # type: ignore[arg-type]

    def work(member: int, own: Any) -> None:
        tasks: list[Task] = blocks_of(pass_of(frames[member]), own.n_tasks)
        jobs: list[Job[Any]] = [Job(task.n_frames, None) for task in tasks]
        members.do(jobs, lambda *_: True)

    for _ in members.run(work):
        pass
    return pool.work / n_workers / pool.now


@pytest.mark.parametrize(
    "mix", [pytest.param(mix, marks=[pytest.mark.long] * (mix == LONG)) for mix in MIXES]
)
def test_workers_are_busy(mix: str) -> None:
    """Their time is only counted: nine tenths of it are work, in batches of jobs."""
    assert in_batches(MIXES[mix], 16) >= AIM
