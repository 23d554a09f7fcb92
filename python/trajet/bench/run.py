"""A setup is measured in a process of its own, or in the ranks that `mpiexec` starts."""

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from trajet import trajectory
from trajet.analysis import apply, dihedrals, rmsd
from trajet.bench import elsewhere, empty
from trajet.bench.files import drop
from trajet.bench.setups import EMPTY, Setup
from trajet.pools.dask import DaskPool, dask_client
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.mpi.pool import Gathering
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool
from trajet.result import Report
from trajet.trajectory import Trajectory

# Parts of a run for which the rate of its tasks is told.
_BINS = 20

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A setup with what its process must know.

    Attributes
    ----------
    setup
        What is measured.
    files, atoms
        What is read; selections are made before, once for all.
    repeats
        Runs that count; one before them does not.
    """

    setup: Setup
    files: Sequence[str]
    atoms: list[Any]
    repeats: int

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """Return what JSON says."""
        told = json.loads(text)
        return cls(**{**told, "setup": Setup(**told["setup"])})


def measured(job: Job, mpiexec: str | None) -> list[Row]:
    """Return a row for each repeat, measured elsewhere.

    Raises
    ------
    WorkerError
        If it fails there; with what it said.
    """
    start = _mpiexec(mpiexec, job.setup.workers) if job.setup.pool == "mpi" else []
    found: list[Row] = elsewhere.answer(__name__, job.to_json(), start=start)
    return found


def _mpiexec(given: str | None, ranks: int) -> list[str]:
    """Return how ranks are started: as given, or by the mpiexec beside this Python."""
    beside = Path(sys.executable).with_name("mpiexec")
    start = shlex.split(given) if given else [str(beside) if beside.exists() else "mpiexec"]
    return [*start, "-n", str(ranks)]


def rows_of(job: Job) -> list[Row]:
    """Measure here; ranks of MPI that do not lead return nothing."""
    with _pool(job.setup) as pool:
        if isinstance(pool, MpiPool) and pool.serve():
            return []
        compute = _TASKS[job.setup.task]
        rows = []
        for repeat in range(-1, job.repeats):
            if job.setup.cache == "cold":
                drop([Path(path) for path in job.files])
            opened = trajectory.open(None, *job.files)
            begin = time.perf_counter()
            report = compute(job, opened, pool)
            wall = time.perf_counter() - begin
            if repeat >= 0:
                rows.append(
                    {
                        **asdict(job.setup),
                        "repeat": repeat,
                        **_figures(job.setup.task, report, wall),
                    }
                )
        if isinstance(pool, MpiPool):
            pool.close()
        return rows


@contextmanager
def _pool(setup: Setup) -> Iterator[Pool]:
    task_frames = 1 if setup.task == EMPTY else None
    if setup.pool == "local":
        yield LocalPool(threads=setup.workers * setup.threads, task_frames=task_frames)
    elif setup.pool == "processes":
        yield ProcessPool(workers=setup.workers, threads=setup.threads, task_frames=task_frames)
    elif setup.pool == "dask":
        with dask_client(workers=setup.workers, threads=setup.threads) as client:
            yield DaskPool(client, task_frames=task_frames)
    else:
        way = cast("Gathering", setup.gathering)
        yield MpiPool(threads=setup.threads, gathering=way, task_frames=task_frames)


def _rmsd(job: Job, opened: Trajectory, pool: Pool) -> Report:
    """Load 100 is the RMSD of the atoms and, after that superposition, of 99 such groups."""
    atoms, frames = opened.select(job.atoms), slice(0, job.setup.frames)
    groups = [atoms] * (job.setup.load - 1)
    return rmsd(atoms, groups=groups, frames=frames, pool=pool).report


def _dihedrals(job: Job, opened: Trajectory, pool: Pool) -> Report:
    frames = slice(0, job.setup.frames)
    return dihedrals(opened, job.atoms, features=True, frames=frames, pool=pool).report


def _empty(job: Job, opened: Trajectory, pool: Pool) -> Report:
    everything, frames = opened.select(range(opened.n_atoms)), empty.frames_of(job.setup.frames)
    return apply(empty.nothing, everything, frames=frames, pool=pool).report


_TASKS: dict[str, Callable[[Job, Trajectory, Pool], Report]] = {
    "rmsd": _rmsd,
    "dihedrals": _dihedrals,
    EMPTY: _empty,
}


def _figures(task: str, report: Report, wall: float) -> Row:
    """Return the observables of a run: means over workers, but for `t_N`, the longest of them."""
    means, opening = report["averages"], report["opening"]
    workers = report["workers"]
    row = {
        # Rank 0 opens for all; each worker opens the files that it reads.
        "t_open": opening["t_open"] + opening["t_index"] + means["t_open"] + means["t_index"],
        "t_io": means["t_io"],
        "t_comp": means["t_comp"],
        "t_comm": means["t_comm"],
        "t_wait": means["t_wait"],
        "t_N": max(worker["t_total"] for worker in workers),
        "t_total": report["stages"]["t_total"],
        "wall": wall,
        "unexplained": max(
            worker["t_overhead"] / worker["t_total"] if worker["t_total"] else 0.0
            for worker in workers
        ),
        "requests": report["requests"],
        "stragglers": len(report["stragglers"]),
    }
    if task == EMPTY:
        row["rates"] = _rates([task["t_end"] for task in report["tasks"]])
    return row


def _rates(ends: Sequence[float]) -> list[tuple[float, float]]:
    """Return times since the run's begin, and the tasks a second that ended about then."""
    counts, edges = np.histogram(ends, bins=_BINS, range=(0.0, max(ends)))
    middles = (edges[:-1] + edges[1:]) / 2
    return list(zip(middles.tolist(), (counts / np.diff(edges)).tolist(), strict=True))


def _respond(told: str) -> list[Row] | None:
    return rows_of(Job.from_json(told)) or None


if __name__ == "__main__":
    elsewhere.serve(_respond)
