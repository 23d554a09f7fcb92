"""Runs functions of the tests of MPI on ranks, one after the other.

Usage: `mpiexec -n N python -m helpers.mpi_ranks FUNCTION FOLDER [FUNCTION FOLDER …]`. FOLDER holds
`adk.psf` and `adk.xtc`; rank 0 writes its answer to it.
"""

import errno
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import trajet as tj
from trajet import output
from trajet.conversion.files import Copier
from trajet.pools.mpi import rank_worker
from trajet.pools.mpi.communicator import communicator_of
from trajet.pools.tasks import Worker

from helpers import pool_laws

HEAVY = {"MDAnalysis", "matplotlib", "scipy", "h5py"}
# Longer than any run of the tests: a rank that is not stopped fails.
FOREVER = 60.0


# Ways of scheduling and gathering, each with the analyses that the gate runs: every shape has each
# way of scheduling and each of gathering, and all shapes have the usual way.
WAYS = {
    ("static", "collective"): pool_laws.HALVES[0],
    ("static", "one-sided"): pool_laws.HALVES[1],
    ("dynamic", "collective"): pool_laws.HALVES[1],
    ("dynamic", "one-sided"): pool_laws.SHAPES,
    ("dynamic", "shared"): pool_laws.SHAPES,
}


def _save_analyses(path: Path, traj: tj.Trajectory, pool: tj.MpiPool, names: Any) -> None:
    """Save the results, which rank 0 has, of analyses."""
    found = {}
    for name, compute in pool_laws.analyses(traj, names).items():
        try:
            found[name] = compute(pool)
        except AttributeError:
            # The result is on rank 0.
            assert pool.rank
    if not pool.rank:
        np.savez(path, **found)


def bits(folder: Path, *, every: bool = False) -> None:
    """Save results by every way of scheduling and gathering: those of `WAYS`, or every analysis."""
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc")
    for (scheduling, gathering), names in WAYS.items():
        pool = tj.MpiPool(scheduling=scheduling, gathering=gathering)
        _save_analyses(
            folder / f"{scheduling} {gathering}.npz", traj, pool, None if every else names
        )


def every_bit(folder: Path) -> None:
    """Save the results of every analysis, by every way of scheduling and gathering."""
    bits(folder, every=True)


def structures(folder: Path) -> None:
    """Save the results of analyses of each shape of text files with several frames."""
    for name in ("made.gro", "made.pdb"):
        traj, pool = tj.open(folder / name), tj.MpiPool(task_frames=3)
        _save_analyses(folder / f"{name}.npz", traj, pool, pool_laws.SHAPES)


def record_opens(folder: Path) -> None:
    """Record what each rank opens and imports."""
    pool = tj.MpiPool(scheduling="static", oversubscription=4)
    traj = tj.open(folder / "adk.psf", *sorted((folder / "parts").iterdir()), pool=pool)
    result = tj.rmsd(traj.select("name CA"), groups=["name N"], pool=pool)
    heavy = gather_all(sorted(HEAVY & set(sys.modules)))
    if result:
        save(folder, {"report": json.loads(result.report.to_json()), "heavy": heavy})


def run_every_way(folder: Path) -> None:
    """Run with threads, small tasks, numbers in files, and user functions."""
    pools = {
        "threads": tj.MpiPool(threads=2),
        "small tasks": tj.MpiPool(task_frames=1, gathering="collective"),
        "file": tj.MpiPool(rows_in=folder / "rows"),
    }
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pools["threads"])
    atoms = traj.select(range(0, 3000, 50))
    fours = np.arange(400).reshape(-1, 4)
    found, reports = {}, {}
    for name, pool in pools.items():
        features = tj.dihedrals(traj, fours, sin_cos=True, pool=pool)
        spread = tj.apply(atoms, lambda positions: positions.std(axis=0), pool=pool)
        if features and spread:
            found |= {f"{name}, features": features.values, f"{name}, apply": spread.values}
            reports[name] = json.loads(features.report.to_json())
    if found:
        np.savez(folder / "ways.npz", **found)
        save(folder, reports)


def compute_wide_rows(folder: Path) -> None:
    """Compute half a megabyte for each of 150 frames a rank, with the pool's own tasks."""
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=tj.MpiPool())
    one, other = traj.select(range(245)), traj.select(range(245, 490))
    reports = {}
    for scheduling in ("static", "dynamic"):
        pool = tj.MpiPool(scheduling=scheduling)
        result = tj.distances(one, other, frames=slice(0, 150 * pool.size), pool=pool)
        if result:
            reports[scheduling] = [task["frames"] for task in result.report["tasks"]]
    if reports:
        save(folder, reports)


def ended(_: object) -> float:
    """Raise StopIteration, as a function of a user may."""
    return float(next(iter(())))


def ended_later(_: object, frame: int) -> float:
    """Raise StopIteration in a later frame."""
    return 0.0 if frame < 40 else ended(_)


def catch_errors(folder: Path) -> None:
    """Raise errors before and in a run on every rank, and continue."""
    pool, errors = tj.MpiPool(task_frames=8), []

    def attempt(what: Callable[[], object]) -> None:
        try:
            what()
        except Exception as error:
            errors.append([type(error).__name__, str(error)])

    attempt(lambda: tj.open(folder / "adk.psf", folder / "nothing.xtc", pool=pool))
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pool)
    broken = tj.open(folder / "adk.psf", folder / "broken.xtc", pool=pool)
    attempt(lambda: tj.rmsd(traj.select([1, 2, 3]), groups=["name X"], pool=pool))
    attempt(lambda: tj.rmsd(broken.select(range(0, 3000, 7)), pool=pool))
    attempt(lambda: tj.apply(traj.select([1]), lambda _: [1.0, 2.0][pool.rank :], pool=pool))
    attempt(lambda: tj.apply(traj.select([1]), ended, pool=pool))
    attempt(lambda: tj.run([tj.apply.job(traj.select([1]), ended_later)], pool=pool))
    plain, kept = Worker.do, tj.MpiPool(rows_in=folder / "rows")
    Worker.do = failing
    attempt(lambda: tj.rmsd(traj.select([1, 2, 3]), pool=kept))
    Worker.do = plain
    result = tj.rmsd(traj.select([1, 2, 3]), pool=pool)
    all_errors = gather_all(errors)
    if result:
        save(folder, {"errors": all_errors, "frames": len(result.frames)})


def keep_going(folder: Path) -> None:
    """Run analyses of which some fail, before and in the run, and then another."""
    pool = tj.MpiPool(task_frames=8)
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pool)
    atoms = traj.select(range(0, 3000, 70))
    jobs = [
        tj.rmsd.job(atoms),
        tj.rmsd.job(atoms, groups=["name X"]),
        tj.linear_density.job(atoms, quantity="number"),
        tj.rmsf.job(atoms, align=atoms, reference="average"),
    ]
    results = tj.run(jobs, keep_going=True, pool=pool)
    again = tj.rmsd(atoms, pool=pool)
    if results:
        errors = [f"{type(one).__name__}: {one}" for one in results[1:3]]
        values = {
            "rmsd": results[0].values.tolist(),
            "rmsf": results[3].values.tolist(),
            "again": again.values.tolist(),
        }
        save(folder, {"errors": errors, **values})


def members(folder: Path) -> None:
    """Run analyses of an ensemble of which a member has a corrupt frame, and stop at it."""
    pool = tj.MpiPool()
    names = ("adk.xtc", "broken.xtc", "backwards.xtc")
    if pool.rank == 0:
        # Each member has frames of its own.
        source = tj.open(None, folder / names[0])
        frames = np.arange(len(source))[::-1]
        tj.convert(source, folder / names[2], frames=frames)
    rows = [{"topology": folder / "adk.psf", "trajectory": folder / name} for name in names]
    ensemble = tj.ensemble(rows)
    try:
        tj.rmsd(ensemble.select("name CA"), pool=pool)
    except tj.FormatError as error:
        stopped = getattr(error, "__notes__", [""])[-1]
    atoms = ensemble.select("name CA")
    results = tj.run(
        [tj.rmsd.job(atoms), tj.rmsf.job(atoms, align="same")], keep_going=True, pool=pool
    )
    if results:
        values = [
            None if one.result is None else one.result.values.tolist()
            for result in results
            for one in result.outcomes
        ]
        save(folder, {"stopped": stopped, "values": values})


def failing(*_: object) -> None:
    """Return nothing, as a storage that is gone."""
    raise OSError(errno.EIO, "the storage is gone")


def stragglers(folder: Path) -> None:
    """Have the storage of a rank fail twice, and a rank never return from a task.

    It is its first task, and then one with others before and behind it in the same batch.
    """
    pool = tj.MpiPool(task_frames=16)
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pool)
    # Batches of several tasks, however busy the machine is.
    rank_worker._BATCH = FOREVER
    atoms, plain = traj.select(range(0, 3000, 7)), Worker.do
    failures = [errno.EIO, errno.ESTALE]
    # Tasks that the last rank does before it hangs.
    before = [0]
    has_hung = folder / "hung"

    def failing(self: Worker, task: bytes, rows: Any, stop: Any = None) -> Any:
        if failures and pool.rank == 1:
            raise OSError(failures.pop(), "the storage is not well")
        return plain(self, task, rows, stop)

    def stuck(self: Worker, task: bytes, rows: Any, stop: Any) -> Any:
        end = time.monotonic() + FOREVER
        is_last = pool.rank == pool.size - 1
        hangs = is_last and not before[0]
        if hangs:
            has_hung.touch()
        elif before[0] and not is_last and not has_hung.exists():
            # The last rank is to have as many tasks, also where three ranks share two cores. Others
            # would be stragglers if they waited for long.
            time.sleep(0.005)
        before[0] -= is_last and not hangs
        while hangs:
            time.sleep(0.01)
            if stop.is_set:
                raise KeyboardInterrupt
            assert time.monotonic() < end, "nobody has done the task instead"
        return plain(self, task, rows, stop)

    reports, values = {}, {}
    runs = (("failing", failing, 0), ("stuck", stuck, 0), ("stuck_later", stuck, 3))
    for name, do, n_before in runs:
        Worker.do, before[0] = do, n_before
        has_hung.unlink(missing_ok=True)
        result = tj.rmsd(atoms, pool=pool)
        if result:
            reports[name], values[name] = json.loads(result.report.to_json()), result.values
    Worker.do = plain
    if values:
        np.savez(folder / "stragglers.npz", **values)
        save(folder, reports)


def copies(folder: Path) -> None:
    """Divide a chain of files in every way, and write one file together."""
    pool = tj.MpiPool(threads=2)
    traj = tj.open(None, *sorted((folder / "parts").iterdir()), pool=pool)
    seen: list[tuple[int, int]] = []
    first = tj.split(
        traj, folder / "first", segments=8, pool=pool, progress=lambda *now: seen.append(now)
    )
    heavy = gather_all(sorted(HEAVY & set(sys.modules)))
    every = pool_laws.divisions(traj, folder / "there", pool)
    converted = pool_laws.conversions(traj, folder / "converted", pool)
    whole = tj.convert(
        traj, folder / "together.h5md", frames=slice(98, 196), compression=2, pool=pool
    )
    if first:
        done = {name: [part.n_frames for part in parts] for name, parts in every.items()}
        reports = [json.loads(part.report.to_json()) for part in first]
        found = {"heavy": heavy, "reports": reports, "seen": seen, "done": done}
        found["converted"] = {name: one.messages for name, one in converted.items()}
        save(folder, {**found, "whole": [whole.n_frames, whole.n_atoms, whole.size]})


def copies_to_hdf5(folder: Path) -> None:
    """Convert trajectories to H5MD."""
    pool_laws.hdf5_copies(folder / "sources", folder / "there", tj.MpiPool())


def copies_with_a_slow_rank(folder: Path) -> None:
    """Divide a trajectory while one rank waits until the others have written the rest."""
    pool = tj.MpiPool()
    traj = tj.open(None, folder / "adk.xtc", pool=pool)
    plain = Copier.do

    def n_written() -> int:
        there = (folder / "out").glob(".trajet-*/*.xtc")
        return sum(not path.name.startswith(".") for path in there)

    def slow(self: Copier, what: Any, threads: int, show: Any) -> Any:
        end = time.monotonic() + FOREVER / 4
        while pool.rank == 1 and n_written() < 7 and time.monotonic() < end:
            time.sleep(0.02)
        return plain(self, what, threads, show)

    Copier.do = slow
    parts = tj.split(traj, folder / "out", segments=8, pool=pool)
    Copier.do = plain
    if parts:
        save(folder, [part.report["workers"][0]["rank"] for part in parts])


def copies_that_fail(folder: Path) -> None:
    """Raise errors on rank 0 and on others; then write after all."""
    pool, errors = tj.MpiPool(), []
    traj = tj.open(None, folder / "adk.xtc", pool=pool)
    broken = tj.open(None, folder / "broken.xtc", pool=pool)
    out = folder / "out"

    def attempt(what: Callable[[], object]) -> None:
        try:
            what()
        except Exception as error:
            errors.append([type(error).__name__, str(error)])

    def refuse(*_: object, **__: object) -> None:
        raise tj.OutputError("somebody else was here")

    # Frame 500 is of the last rank.
    attempt(lambda: tj.split(broken, out, segments=2, format="trr", pool=pool))
    attempt(lambda: tj.split(broken, out, frames_per_segment=98, format="h5md", pool=pool))
    some = slice(490, 580)
    attempt(lambda: tj.convert(broken, folder / "out.h5md", frames=some, pool=pool))
    attempt(lambda: tj.convert(broken, folder / "out.trr", pool=pool))
    attempt(lambda: tj.split(traj, out, segments=3, pool=pool, threads=2))
    # When all have written.
    plain, output.give_name = output.give_name, refuse
    attempt(lambda: tj.split(traj, out, segments=3, pool=pool))
    output.give_name = plain
    left = sorted(path.name for path in folder.glob("*out*"))
    parts = tj.split(traj, out, segments=3, pool=pool)
    all_errors = gather_all(errors)
    if parts:
        save(folder, {"errors": all_errors, "left": left, "parts": len(parts)})


def copies_interrupted(folder: Path) -> None:
    """Convert and divide a trajectory again and again until it is interrupted."""
    pool = tj.MpiPool()
    traj = tj.open(None, folder / "adk.xtc", pool=pool)
    write_process_number(folder, pool.rank)
    while True:
        for kind in ("trr", "h5md"):
            some = slice(0, 98 if kind == "h5md" else None)
            tj.convert(traj, folder / "out" / f"one.{kind}", frames=some, force=True, pool=pool)
        tj.split(traj, folder / "out", segments=5, format="trr", force=True, pool=pool)


def copies_killed(folder: Path) -> None:
    """Convert and divide a trajectory again and again until a rank is killed."""
    pool = tj.MpiPool()
    traj = tj.open(None, folder / "adk.xtc", pool=pool)
    (folder / "out").mkdir(exist_ok=True)
    write_process_number(folder, pool.rank)
    one, some = folder / "out" / "one.h5md", slice(0, 98)
    while True:
        tj.convert(traj, one, frames=some, force=True, pool=pool)
        tj.split(traj, folder / "out", segments=5, format="trr", force=True, pool=pool)


def read_corrupt_frame(folder: Path) -> None:
    """Read a corrupt frame."""
    pool = tj.MpiPool()
    traj = tj.open(folder / "adk.psf", folder / "broken.xtc", pool=pool)
    tj.rmsd(traj.select(range(0, 3000, 7)), pool=pool)


def fail_on_one_rank(folder: Path) -> None:
    """Fail on one rank other than 0, in the script's own code."""
    pool = tj.MpiPool()
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pool)
    if pool.rank == 1:
        raise RuntimeError("of one's own")
    while True:
        tj.rmsd(traj.select([1, 2, 3]), pool=pool)


def run_until_killed(folder: Path) -> None:
    """Continue until a rank is killed."""
    pool = tj.MpiPool()
    traj = tj.open(folder / "adk.psf", folder / "adk.xtc", pool=pool)
    tj.rmsd(traj.select(range(0, 3000, 7)), pool=pool)
    write_process_number(folder, pool.rank)
    while True:
        tj.rmsd(traj.select(range(0, 3000, 7)), pool=pool)


def fill_windows(folder: Path) -> None:
    """Fill memory that other ranks reach, of any size, and check that no other rank has it."""
    ranks = communicator_of(None)
    for size in range(1, 34):
        window = ranks.window(size if ranks.rank == 0 else 16, 1)
        memory = np.frombuffer(window.tomemory(), np.uint8)
        assert len(memory) >= size or ranks.rank
        ranks.barrier()
        memory[:] = 1 + ranks.rank
        ranks.barrier()
        assert (memory == 1 + ranks.rank).all()
        ranks.barrier()
        window.Free()
    if ranks.rank == 0:
        save(folder, "nobody")


def write_process_number(folder: Path, rank: int) -> None:
    """Write the process number to a file name and its content."""
    part = folder / f"part {rank}"
    part.write_text(str(os.getpid()))
    part.rename(folder / f"rank {rank}")


def gather_all(thing: object) -> Any:
    """Return on rank 0 the object of every rank."""
    from mpi4py import MPI

    return MPI.COMM_WORLD.gather(thing)


def save(folder: Path, thing: object) -> None:
    """Save an answer that a test reads."""
    (folder / "answer.json").write_text(json.dumps(thing))


if __name__ == "__main__":
    for name, place in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        globals()[name](Path(place))
