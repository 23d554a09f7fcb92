"""Time surface areas and secondary structure beside mdtraj, on ADK of MDAnalysisTests.

Usage: `python benches/proteins.py [--rounds N] [--threads 1 2]`. Prints milliseconds per frame and
how many times as fast as mdtraj trajet is, the best of some rounds that take turns; the native
module must be built with `make`. mdtraj gets its positions from memory, trajet reads them from a
file. Before the clock starts both must have the same numbers.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mdtraj
import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

# Of the 98 frames, mdtraj's surface areas take half a second each.
SASA_FRAMES = 5
# So many times over, so that starting costs little.
TIMES = 20


def prepare(folder: Path) -> tuple[tj.Selection, mdtraj.Trajectory]:
    """Return the protein, 98 frames so many times over, and the same frames for mdtraj."""
    once = tj.open(datafiles.PSF, datafiles.DCD, sidecar=False).select("protein")
    once[0].save(folder / "protein.pdb")
    paths = []
    for k in range(TIMES):
        paths.append(folder / f"protein{k}.xtc")
        tj.convert(once, paths[-1])
    selection = tj.open(folder / "protein.pdb", *paths, sidecar=False).all_atoms()
    positions = selection.read().positions / np.float32(10)
    return selection, mdtraj.Trajectory(positions, mdtraj.load(folder / "protein.pdb").topology)


def check(selection: tj.Selection, twin: mdtraj.Trajectory) -> None:
    """Raise an error unless areas and classes are those of mdtraj."""
    areas = tj.sasa(selection, frames=[0]).values
    expected = 100 * mdtraj.shrake_rupley(twin[:1]).sum(axis=1)
    if np.abs(areas - expected).max() > 1e-4 * expected.max():
        raise SystemExit(f"surface areas differ: {areas}, mdtraj {expected}")
    classes = mdtraj.compute_dssp(twin, simplified=False)
    if not np.array_equal(tj.dssp(selection).values, np.where(classes == " ", "-", classes)):
        raise SystemExit("classes of secondary structure differ from mdtraj's")


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        selection, twin = prepare(Path(folder))
        check(selection, twin)
        few, n = twin[:SASA_FRAMES], selection.trajectory.n_frames
        works: dict[str, dict[str, tuple[int, Callable[[], object]]]] = {
            "sasa": {"mdtraj": (SASA_FRAMES, lambda: mdtraj.shrake_rupley(few))},
            "dssp": {"mdtraj": (n, lambda: mdtraj.compute_dssp(twin, simplified=False))},
        }
        for threads in asked.threads:
            pool, name = tj.LocalPool(threads=threads), f"trajet, {threads} threads"
            some = slice(0, n // TIMES)
            works["sasa"][name] = (
                n // TIMES,
                lambda pool=pool, some=some: tj.sasa(selection, frames=some, pool=pool),
            )
            works["dssp"][name] = (n, lambda pool=pool: tj.dssp(selection, pool=pool))
        for task, by in works.items():
            best = dict.fromkeys(by, float("inf"))
            for _ in range(asked.rounds):
                for name, (n_frames, work) in by.items():
                    begin = time.perf_counter()
                    work()
                    best[name] = min(best[name], (time.perf_counter() - begin) / n_frames)
            for name, seconds in best.items():
                times = best["mdtraj"] / seconds
                print(f"{task}  {name:20} {seconds * 1e3:9.3f} ms per frame  {times:6.1f} times")


if __name__ == "__main__":
    main()
