"""Time several analyses in one pass beside the same analyses one after another.

Usage: `python benches/one_pass.py [--rounds N] [--threads N] [--frames N]`. The trajectory is ADK,
repeated. Both ways run in turn, in every round; their values are compared first, bit by bit. The
sum of computing is that of the stages of the separate runs; one reading is that of the run that
reads the most. The native module must be a release build.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles
from trajet.analysis.job import Job

# Analyses by name: jobs that are made anew for each run.
Jobs = dict[str, Job[Any]]


def all_kinds(traj: tj.Trajectory) -> Jobs:
    """Return analyses of every kind, most of which compute more than they read."""
    calpha, protein = traj.select("name CA"), traj.select("protein")
    return {
        "rmsd": tj.rmsd.job(calpha),
        "rmsf": tj.rmsf.job(calpha, align=calpha),
        "gyration": tj.gyration.job(protein),
        "sasa": tj.sasa.job(protein, points=100),
        "hbonds": tj.hbonds.job(protein, pbc=False),
        "pca": tj.pca.job(calpha, n_components=10),
    }


def bound_by_reading(traj: tj.Trajectory) -> Jobs:
    """Return analyses of all atoms that read longer than they compute."""
    protein = traj.select("protein")
    return {
        "rmsd": tj.rmsd.job(protein),
        "gyration": tj.gyration.job(protein),
        "moments": tj.rmsf.job(protein),
    }


def numbers(result: Any) -> np.ndarray:
    """Return the main values of a result."""
    return np.asarray(result)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the duration of a call, and what it returns."""
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def compare(name: str, make: Callable[[], Jobs], pool: tj.LocalPool, rounds: int) -> None:
    """Print the times of one pass and of separate runs."""
    ratios: list[tuple[float, float, float]] = []
    for _ in range(rounds):
        alone = {
            key: timed(lambda job=job: tj.run([job], pool=pool)) for key, job in make().items()
        }
        together, results = timed(lambda: tj.run(list(make().values()), pool=pool))
        for (_, (separate,)), result in zip(alone.values(), results, strict=True):
            assert numbers(separate).tobytes() == numbers(result).tobytes()
        seconds = [spent for spent, _ in alone.values()]
        stages = [separate.report["stages"] for _, (separate,) in alone.values()]
        # Stages are sums over threads; several passes read several times.
        reading = max(of["t_open"] + of["t_read"] + of["t_decode"] for of in stages)
        computing = sum(of["t_comp"] + of["t_merge"] for of in stages)
        parts = (reading + computing) / pool.n_threads
        ratios.append((together / sum(seconds), together / max(seconds), together / parts))
        names = ", ".join(f"{key} {spent:.3f}" for key, spent in zip(alone, seconds, strict=True))
        print(f"  {names} s; together {together:.3f} s", flush=True)
    of_sum, of_dearest, of_parts = (median(column) for column in zip(*ratios, strict=True))
    print(
        f"{name}: {of_sum:.2f} of the sum, {of_dearest:.2f} of the dearest alone, {of_parts:.2f} of"
        " all computing and one reading",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frames", type=int, default=10_000)
    options = parser.parse_args(arguments)
    pool = tj.LocalPool(threads=options.threads)
    with tempfile.TemporaryDirectory() as place:
        once, path = Path(place) / "once.xtc", Path(place) / "adk.xtc"
        source = tj.open(datafiles.PSF, datafiles.DCD)
        tj.convert(source, once)
        times = -(-options.frames // source.n_frames)
        path.write_bytes(once.read_bytes() * times)
        traj = tj.open(datafiles.PSF, path)
        print(f"{traj.n_frames} frames of {traj.n_atoms} atoms, {options.threads} threads")
        compare("six analyses", lambda: all_kinds(traj), pool, options.rounds)
        compare("bound by reading", lambda: bound_by_reading(traj), pool, options.rounds)


if __name__ == "__main__":
    main()
