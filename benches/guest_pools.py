"""Time analyses of MDAnalysis on a pool beside serial runs and MDAnalysis' own processes.

Usage: `python benches/guest_pools.py [--rounds N] [--workers N] [--repeats N] [--frames N]
[--reader]`. RMSD of C-alpha of ADK, whose frames are repeated 100 times, and of a made system of a
million atoms with few frames. All ways run in turn in every round, each with a Universe of its own
that is made before the clock starts; results are compared first. `cold` starts the processes
of the pool within the clock, as MDAnalysis' backend always does; `warm` finds them running, and
`forked` forks them within the clock.
`--reader` reads through `trajet.mdanalysis.Reader` in all ways. Aims: faster than serial
from two workers on for ADK, and at least twice as fast as `multiprocessing` for the million atoms.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import MDAnalysis as mda
import numpy as np
import trajet as tj
from host import describe_load
from MDAnalysis.analysis.rms import RMSD
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build
from selections import write_system
from trajet.mdanalysis import run
from trajet.pools.processes import end_kept

Way = Callable[[Any], Any]


def ways(workers: int) -> dict[str, Way]:
    """Return the ways to run an analysis."""
    pool = tj.ProcessPool(workers=workers)
    forked = tj.ProcessPool(workers=workers, fork=True)

    def cold(analysis: Any) -> Any:
        return run(analysis, pool=pool, progress=False)

    return {
        "serial": lambda analysis: analysis.run(),
        "multiprocessing": lambda analysis: analysis.run(
            backend="multiprocessing", n_workers=workers
        ),
        "forked": lambda analysis: run(analysis, pool=forked, progress=False),
        "cold": cold,
        "warm": cold,
    }


def compare(name: str, make: Callable[[], Any], workers: int, rounds: int) -> None:
    """Print the times of all ways, and how many times as fast as others the pool is."""
    universe = make().atoms.universe
    size = len(pickle.dumps(universe)) / 1e6
    print(
        f"{name}: {universe.trajectory.n_frames} frames of {len(universe.atoms):,} atoms, a pickle"
        f" of {size:.1f} MB, {workers} workers; {describe_load()}",
        flush=True,
    )
    truth, times = None, {way: [] for way in ways(workers)}
    for _ in range(rounds):
        for way, compute in ways(workers).items():
            if way == "cold":
                end_kept()
            analysis = RMSD(make(), select="name CA")
            begin = time.perf_counter()
            compute(analysis)
            times[way].append(time.perf_counter() - begin)
            truth = analysis.results.rmsd if truth is None else truth
            assert np.array_equal(analysis.results.rmsd, truth)
    for way, seconds in times.items():
        print(f"  {way:16} best {min(seconds):7.3f} s, median {median(seconds):7.3f} s")
    for way in ("forked", "cold", "warm"):
        for other in ("serial", "multiprocessing"):
            ratio = median(a / b for a, b in zip(times[other], times[way], strict=True))
            print(f"  {way} is {ratio:.2f} times as fast as {other}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the bench."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--atoms", type=int, default=1_000_000)
    parser.add_argument("--reader", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    reader: dict[str, Any] = {}
    if options.reader:
        from trajet.mdanalysis import Reader

        reader = {"format": Reader}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        once, adk = folder / "once.xtc", folder / "adk.xtc"
        tj.convert(tj.open(datafiles.PSF, datafiles.DCD), once)
        adk.write_bytes(once.read_bytes() * options.repeats)
        gro, xtc = write_system(folder, options.atoms, 27, turned=False)
        Path(xtc).write_bytes(Path(xtc).read_bytes() * options.frames)
        for name, files in (("ADK", (datafiles.PSF, str(adk))), ("made system", (gro, xtc))):

            def make(files: tuple[str, str] = files) -> mda.Universe:
                return mda.Universe(*files, **reader)

            # MDAnalysis writes its offsets, outside the clock.
            compare(name, make, options.workers, options.rounds)


if __name__ == "__main__":
    main()
