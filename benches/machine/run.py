"""Measures a setup in a process of its own, or in ranks that `mpiexec` starts."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from host import drop_pages
from numpy.typing import NDArray
from trajet import trajectory
from trajet._trajet import WorkerError
from trajet.analysis.apply import apply
from trajet.analysis.dihedrals import dihedrals
from trajet.analysis.rmsd import rmsd
from trajet.cli.pools import starting_ranks
from trajet.pools import task_batches
from trajet.pools.dask import DaskPool, dask_client
from trajet.pools.local import LocalPool
from trajet.pools.mpi import MpiPool
from trajet.pools.mpi.pool import Gathering
from trajet.pools.pool import Pool
from trajet.pools.processes import ProcessPool
from trajet.result import Table, entries_of
from trajet.trajectory import Trajectory

from machine import child_process
from machine.child_process import Row
from machine.files import empty_frames
from machine.mpio import MpioPool
from machine.setups import EMPTY, MPIO, Setup

# Name of the column with the digest of a result's bits.
DIGEST = "digest"
# Number of intervals of a run for which the rate of tasks is computed.
_BINS = 20


@dataclass(frozen=True)
class SetupRun:
    """A setup with its files, for the process that measures it.

    Selections are evaluated before, once for all setups: `atoms` are indices, or four for each
    dihedral angle. A first run precedes the `repeats` that count. `alone`: each task has its own
    message.
    """

    setup: Setup
    files: Sequence[str]
    atoms: list[Any]
    repeats: int
    alone: bool = False


def measured(job: SetupRun, mpiexec: str | None) -> list[Row]:
    """Measure a setup in a process of its own, and return a row per repeat."""
    start = starting_ranks(mpiexec, job.setup.workers) if job.setup.pool == "mpi" else []
    found: list[Row] = child_process.run(__name__, job, start=start)
    return found


def check_same(rows: Sequence[Row]) -> None:
    """Raise a `WorkerError` if setups with the same frames have different results."""
    first: dict[tuple[object, ...], Row] = {}
    for row in rows:
        task = tuple(row[name] for name in ("task", "load", "format", "frames"))
        other = first.setdefault(task, row)
        if row[DIGEST] != other[DIGEST]:
            ways = [
                " ".join(str(one[name]) for name in ("access", "pool", "gathering", "workers"))
                for one in (other, row)
            ]
            raise WorkerError(
                f"{row['task']} of {row['frames']} frames of {row['format']}: the numbers of"
                f" {' and of '.join(ways)} differ: please report this"
            )


def rows_of(job: SetupRun) -> list[Row]:
    """Measure a setup in this process; MPI ranks other than 0 return nothing."""
    if job.alone:
        task_batches.MAX_TASKS = 1
    with _pool(job.setup) as pool:
        if isinstance(pool, MpiPool) and pool.serve():
            return []
        compute = _TASKS[job.setup.task]
        rows = []
        for repeat in range(-1, job.repeats):
            if job.setup.cache == "cold":
                for path in job.files:
                    drop_pages(Path(path))
            opened = trajectory.open(None, *job.files)
            begin = time.perf_counter()
            result = compute(job, opened, pool)
            wall = time.perf_counter() - begin
            if repeat >= 0:
                figures = _figures(job.setup, result, wall)
                rows.append({**asdict(job.setup), "repeat": repeat, **figures})
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
        if setup.access in MPIO:
            yield MpioPool(gathering=way, collective=setup.access == "mpio-collective")
        else:
            yield MpiPool(threads=setup.threads, gathering=way, task_frames=task_frames)


def _rmsd(job: SetupRun, opened: Trajectory, pool: Pool) -> Table:
    """Compute RMSDs: a load of 100 is the RMSD of the selection and of 99 equal groups."""
    atoms, frames = opened.select(job.atoms), slice(0, job.setup.frames)
    groups = [atoms] * (job.setup.load - 1)
    return rmsd(atoms, groups=groups, frames=frames, pool=pool)


def _dihedrals(job: SetupRun, opened: Trajectory, pool: Pool) -> Table:
    frames = slice(0, job.setup.frames)
    return dihedrals(opened, job.atoms, sin_cos=True, frames=frames, pool=pool)


def nothing(_: NDArray[np.float32]) -> float:
    """Compute nothing."""
    return 0.0


def _empty(job: SetupRun, opened: Trajectory, pool: Pool) -> Table:
    everything, frames = opened.select(range(opened.n_atoms)), empty_frames(job.setup.frames)
    return apply(everything, nothing, frames=frames, pool=pool)


_TASKS: dict[str, Callable[[SetupRun, Trajectory, Pool], Table]] = {
    "rmsd": _rmsd,
    "dihedrals": _dihedrals,
    EMPTY: _empty,
}


def _figures(setup: Setup, result: Table, wall: float) -> Row:
    """Return the observables of a run: means over workers, but for `t_N`, the longest of them."""
    report = entries_of(result.report)
    means, opening, workers = report["averages"], report["opening"], report["workers"]
    t_open = means["t_open"] + means["t_index"]
    if setup.access not in MPIO:
        # The calling process opens the trajectory; each worker opens the files that it reads.
        t_open += opening["t_open"] + opening["t_index"]
    overheads = [w["t_overhead"] / w["t_total"] if w["t_total"] else 0.0 for w in workers]
    row: Row = {
        "t_open": t_open,
        **{name: means[name] for name in ("t_io", "t_comp", "t_comm", "t_wait")},
        "t_N": max(worker["t_total"] for worker in workers),
        "t_total": report["stages"]["t_total"],
        "wall": wall,
        "unexplained": max(overheads),
        "requests": report["requests"],
        "stragglers": len(report["stragglers"]),
        DIGEST: hashlib.sha256(result.values.data).hexdigest()[:16],
    }
    if setup.task == EMPTY:
        row["rates"] = _rates([task["t_end"] for task in report["tasks"]])
    return row


def _rates(ends: Sequence[float]) -> list[tuple[float, float]]:
    """Return times since the start of the run, s, and the rates of tasks that ended then, 1/s."""
    counts, edges = np.histogram(ends, bins=_BINS, range=(0.0, max(ends)))
    middles = (edges[:-1] + edges[1:]) / 2
    return list(zip(middles.tolist(), (counts / np.diff(edges)).tolist(), strict=True))


if __name__ == "__main__":
    child_process.serve(lambda job: rows_of(job) or None)
