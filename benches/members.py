"""Busy share of the workers while the members of an ensemble are analysed.

    .venv/bin/python benches/members.py                # simulated: 16 threads, 16 and 1,000 workers
    .venv/bin/python benches/members.py --measure      # on two cores, beside members one by one
    .venv/bin/python benches/members.py --write        # and the table to docs/ensembles.md

Three ensembles: a long member among ten, many short ones, two longer ones among eighteen. A
measured cell has the share of the time of two cores that the run takes by the system's account, and
the share in which its tasks read and compute. The simulation drives the product's code: threads
that sleep instead of computing; and jobs in batches, which the dispatch core gives to workers of a
clock that is only counted. The aim is 90 %, or what one leaf, which no worker divides, allows.
"""

from __future__ import annotations

import argparse
import heapq
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import trajet as tj
from host import describe_load
from page import write_section
from trajet._trajet import Pass, Plan
from trajet.pools.dispatch import Dispatch
from trajet.pools.jobs import Job, JobResult
from trajet.pools.members.jobs import MembersOnJobs
from trajet.pools.members.member_pool import LEAST_BYTES, MemberPool, TaskResult
from trajet.pools.members.threads import MembersOnThreads
from trajet.pools.passes import blocks_of
from trajet.pools.tasks import NO_STATES, Task, TaskOutcome

PAGE = Path(__file__).resolve().parent.parent / "docs" / "ensembles.md"
# Frames of the members.
MIXES = {
    "ten of 10,000 frames and one of 100,000": [10_000] * 10 + [100_000],
    "1,000 of 100 frames": [100] * 1000,
    "18 of 200 frames and two of 1,000": [200] * 18 + [1000] * 2,
}
# Logarithms of the times of tasks have this standard deviation.
SPREAD = 0.2
# Real seconds of a simulation on threads.
SECONDS = 10.0
# Frames of the largest file of which measured members are made, and the atoms that are analysed.
PIECE = 1000
CHOSEN = "all"
AIM = 0.9


@cache
def pass_of(n_frames: int) -> Pass:
    """Return a pass over some frames of 214 atoms."""
    plan = Plan("moments", atoms=np.arange(214), align=None, average=False)
    return Pass(plan, 214, n_frames, [])


def longest_leaf(n_frames: int) -> int:
    """Return the frames of the longest leaf of a run."""
    pass_ = pass_of(n_frames)
    leaves = [pass_.frames_of(k, k + 1) for k in range(pass_.n_leaves)]
    return max(end - first for first, end in leaves)


def bound(frames: Sequence[int], n_workers: int) -> float:
    """Return the busy share if the last worker ends a leaf after all others."""
    each = sum(frames) / n_workers
    return each / (each + max(map(longest_leaf, set(frames))))


def on_threads(frames: Sequence[int], n_threads: int, seconds: float = SECONDS) -> float:
    """Return the busy share of threads that sleep for each frame instead of computing."""
    a_frame, chance = seconds * n_threads / sum(frames), np.random.default_rng(1)
    lock, slept = threading.Lock(), [0.0]

    def sleep(n_frames: int) -> None:
        with lock:
            wanted = n_frames * a_frame * np.exp(chance.normal(-(SPREAD**2) / 2, SPREAD))
        begin = time.perf_counter()
        time.sleep(wanted)
        with lock:
            slept[0] += time.perf_counter() - begin

    def do(text: bytes, _sections: object, _stop: object) -> TaskOutcome:
        sleep(int(text))
        return TaskOutcome(NO_STATES, {"workers": []}, 0.0, 0.0, "", 0)

    members = MembersOnThreads(
        tj.LocalPool(threads=n_threads).facts, [LEAST_BYTES * n for n in frames]
    )

    def work(member: int, pool: Any) -> None:
        if not isinstance(pool, MemberPool):
            sleep(frames[member])
            return
        tasks = blocks_of(pass_of(frames[member]), pool.n_tasks)
        part: Any = SimpleNamespace(tasks=tasks, sections=[])
        worker: Any = SimpleNamespace(do=do)
        results: Any = SimpleNamespace(take=lambda *_: None)
        members.do(part, [str(task.n_frames).encode() for task in tasks], worker, results)

    begin = time.perf_counter()
    for _ in members.run(work):
        pass
    return slept[0] / n_threads / (time.perf_counter() - begin)


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
    members = MembersOnJobs(pool, [LEAST_BYTES * n for n in frames])  # type: ignore[arg-type]

    def work(member: int, own: Any) -> None:
        tasks: list[Task] = blocks_of(pass_of(frames[member]), own.n_tasks)
        jobs: list[Job[Any]] = [Job(task.n_frames, None) for task in tasks]
        members.do(jobs, lambda *_: True)

    for _ in members.run(work):
        pass
    return pool.work / n_workers / pool.now


def simulated() -> list[str]:
    """Return the lines of the table of simulations."""
    lines = [
        "| members | 16 threads | one leaf | 16 workers | one leaf | 1,000 workers | one leaf |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, frames in MIXES.items():
        cells = [(on_threads(frames, 16), 16), *((in_batches(frames, n), n) for n in (16, 1000))]
        shares = [f"{busy:.0%} | {bound(frames, n):.0%}" for busy, n in cells]
        lines.append(f"| {name} | {' | '.join(shares)} |")
        print(lines[-1], flush=True)
    return lines


def measured(folder: Path) -> list[str]:
    """Return the lines of the table of runs on two cores."""
    one, many = tj.LocalPool(threads=2), tj.ProcessPool(workers=2)
    # Starts the processes, which stay for further runs.
    many.map(len, ["a", "b"])
    lines = ["| members | one by one, threads | threads | processes |", "|---|---|---|---|"]
    for name, lengths in MIXES.items():
        ensemble = members_of(lengths, folder)
        ensemble[0].open().close()
        cells = [share_of(one_by_one, ensemble, one)]
        cells += [share_of(together, ensemble, pool) for pool in (one, many)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def members_of(lengths: Sequence[int], folder: Path) -> tj.Ensemble:
    """Return members of so many frames, which are chains of the same file."""
    from MDAnalysisTests import datafiles

    size = min(PIECE, *lengths)
    piece = folder / f"{size}.xtc"
    source = tj.open(None, datafiles.XTC)
    tj.convert(source, piece, frames=np.arange(size) % len(source))
    rows = [
        {"run": k, "topology": datafiles.GRO, "trajectory": [piece] * (n // size)}
        for k, n in enumerate(lengths)
    ]
    return tj.ensemble(rows, chain=True)


def share_of(run: Callable[[tj.Ensemble, Any], float], ensemble: tj.Ensemble, pool: Any) -> str:
    """Return the share of the time of two cores that a run takes, and that of its tasks."""
    begin, before = time.perf_counter(), processor_seconds()
    at_work = run(ensemble, pool)
    seconds = 2 * (time.perf_counter() - begin)
    return f"{(processor_seconds() - before) / seconds:.0%}, {at_work / seconds:.0%}"


def processor_seconds() -> float:
    """Return the seconds that processors have spent on this process and those that it started."""
    total, left = 0, [os.getpid()]
    while left:
        process = Path("/proc", str(left.pop()))
        # Fields after the name, which may contain anything, begin with the third.
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        # Its own seconds, and those of children that have ended.
        total += sum(map(int, fields[11:15]))
        for children in process.glob("task/*/children"):
            left += map(int, children.read_text().split())
    return total / os.sysconf("SC_CLK_TCK")


def together(ensemble: tj.Ensemble, pool: Any) -> float:
    """Analyse all members; return the seconds of all tasks."""
    result = tj.rmsd(ensemble.select(CHOSEN), pool=pool)
    reports = [one.result.report for one in result.outcomes]
    return sum(seconds_of(worker) for report in reports for worker in report["workers"])


def one_by_one(ensemble: tj.Ensemble, pool: Any) -> float:
    """Analyse one member after the other; return the seconds of all tasks."""
    seconds = 0.0
    for member in ensemble:
        with member.open() as trajectory:
            report = tj.rmsd(trajectory.select(CHOSEN), pool=pool).report
            seconds += sum(seconds_of(worker) for worker in report["workers"])
    return seconds


def seconds_of(worker: Any) -> float:
    """Return the seconds for which a worker read and computed."""
    stages = ("t_open", "t_read", "t_decode", "t_comp", "t_merge")
    return float(sum(worker[name] for name in stages))


def main() -> None:
    """Print the tables, and write them to the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure on this machine")
    parser.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    options = parser.parse_args()
    print(describe_load())
    if options.measure:
        with TemporaryDirectory() as folder:
            name, lines = "members-measured", measured(Path(folder))
    else:
        name, lines = "members-simulated", simulated()
    if options.write:
        write_section(PAGE, name, lines)


if __name__ == "__main__":
    main()
