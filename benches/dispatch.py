"""Seconds that a task costs beside its frames, in each way of running, with many small tasks.

    .venv/bin/python benches/dispatch.py [--tasks 100000] [--workers 2] [--pools dask mpi] [--alone]

RMSF of one atom over the same frames again and again: a task is one leaf of 256 frames. A run on
one thread, of which all frames are one task, takes the time of the frames alone. Prints a table of
Markdown: real seconds, and microseconds a task beyond those of the frames. With Dask and MPI such
tasks travel in batches; with `--alone` each has a message of its own, as tasks of seconds have.
`WAYS` in `trajet.advise.scaling` holds the costs with `--alone`. To compare with an older version,
run it with that version's package on `PYTHONPATH`.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import trajet as tj
from trajet.pools import task_batches

LEAF = 256


def rmsf(folder: Path, n_tasks: int, pool: Any) -> tuple[float, Any]:
    """Return the seconds of a run, and its result."""
    traj = tj.open(folder / "one.gro", folder / "one.dcd", pool=pool)
    frames = np.tile(np.arange(LEAF), n_tasks)
    begin = time.perf_counter()
    result = tj.rmsf(traj.select("all"), frames=frames, pool=pool)
    return time.perf_counter() - begin, result


def measured(folder: Path, n_tasks: int, pool: Any) -> list[Any]:
    """Return seconds, tasks and values of a run."""
    seconds, result = rmsf(folder, n_tasks, pool)
    return [seconds, len(result.report["tasks"]), result.values.tolist()]


def as_rank(folder: Path, n_tasks: int) -> None:
    """Run as one of the ranks; rank 0 prints its seconds and the number of tasks."""
    pool = tj.MpiPool(task_frames=LEAF)
    seconds, result = rmsf(folder, n_tasks, pool)
    if result:
        print(json.dumps([seconds, len(result.report["tasks"]), result.values.tolist()]))


def with_mpi(folder: Path, n_tasks: int, workers: int) -> list[Any]:
    """Return seconds, tasks and values of a run on ranks."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    own = [__file__, "--tasks", str(n_tasks), "--as-rank", str(folder)]
    own += ["--alone"] if task_batches.MOST_TASKS == 1 else []
    command = [mpiexec, "-n", str(workers), sys.executable, "-m", "mpi4py", *own]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout))


def with_threads(folder: Path, n_tasks: int, workers: int) -> list[Any]:
    """Return seconds, tasks and values of a run on threads."""
    return measured(folder, n_tasks, tj.LocalPool(threads=workers, task_frames=LEAF))


def with_processes(folder: Path, n_tasks: int, workers: int) -> list[Any]:
    """Return seconds, tasks and values of a run on other processes of this machine."""
    pool = tj.ProcessPool(workers=workers, task_frames=LEAF)
    rmsf(folder, 16, pool)
    return measured(folder, n_tasks, pool)


def with_dask(folder: Path, n_tasks: int, workers: int) -> list[Any]:
    """Return seconds, tasks and values of a run with Dask."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        pool = tj.DaskPool(client, task_frames=LEAF)
        rmsf(folder, 16, pool)
        return measured(folder, n_tasks, pool)


WAYS = {"threads": with_threads, "processes": with_processes, "dask": with_dask, "mpi": with_mpi}


def main() -> None:
    """Measure, or run as one of the ranks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pools", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--alone", action="store_true", help="send each task in its own message")
    parser.add_argument("--as-rank", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        task_batches.MOST_TASKS = 1
    if given.as_rank is not None:
        as_rank(given.as_rank, given.tasks)
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        positions = np.random.default_rng(1).random((LEAF, 1, 3), np.float32)
        tj.write(folder / "one.dcd", positions, times=np.arange(float(LEAF)))
        atom = "    1ALA     CA    1   0.000   0.000   0.000\n"
        (folder / "one.gro").write_text(f"one atom\n    1\n{atom}   1.0 1.0 1.0\n")
        alone, result = rmsf(folder, given.tasks, tj.LocalPool(threads=1))
        print(f"one thread: {alone:.1f} s, of which none is a task's")
        print("| pool | tasks | seconds | µs a task beyond its frames |")
        print("|---" * 4 + "|")
        for pool in given.pools:
            seconds, tasks, values = WAYS[pool](folder, given.tasks, given.workers)
            if values != result.values.tolist():
                sys.exit(f"{pool}: other bits than one thread")
            # Workers share the frames.
            beyond = 1e6 * (seconds - alone / given.workers) / tasks
            print(f"| {pool} | {tasks:,} | {seconds:.1f} | {beyond:.0f} |", flush=True)


if __name__ == "__main__":
    main()
