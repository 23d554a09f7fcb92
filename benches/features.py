"""Time sines and cosines of φ and ψ, block by block, beside mdtraj, on ADK of MDAnalysisTests.

Usage: `python benches/features.py [--rounds N] [--times N] [--threads 1 2]`. Prints microseconds
per frame, how many times as fast as mdtraj trajet is (aim: 3 times, with one thread), the best of
some rounds that take turns, and the peak memory that a longer trajectory adds. Both read the XTC
file in blocks of 1,000 frames and only the atoms of the angles; the native module must be a release
build. Before the clock starts both must have the same numbers.
"""

import argparse
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import mdtraj
import numpy as np
import trajet as tj
from host import describe_load
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build

BLOCK = 1000


def prepare(folder: Path, times: int) -> tuple[Path, Path]:
    """Write the protein as PDB, and its 98 frames so many times over as XTC."""
    protein = tj.open(datafiles.PSF, datafiles.DCD, sidecar=False).select("protein")
    pdb, once, path = folder / "protein.pdb", folder / "once.xtc", folder / "protein.xtc"
    protein[0].save(pdb)
    tj.convert(protein, once)
    with path.open("wb") as file:
        for _ in range(times):
            file.write(once.read_bytes())
    return pdb, path


def of_mdtraj(pdb: Path, path: Path) -> Callable[[], np.ndarray]:
    """Return a function that sums the features of mdtraj, of the angles that trajet has."""
    topology = mdtraj.load(str(pdb)).topology
    wanted = tj.features(tj.dihedrals.job(tj.open(pdb, path).all_atoms()))
    first = tj.dihedrals(tj.open(pdb, path).all_atoms(), frames=[0])
    assert wanted.n_features == len(first.atoms)
    atoms, places = np.unique(first.atoms, return_inverse=True)
    fours = places.reshape(first.atoms.shape)

    def work() -> np.ndarray:
        total = np.zeros(2 * len(fours))
        chunks = mdtraj.iterload(str(path), top=topology, chunk=BLOCK, atom_indices=atoms)
        for chunk in chunks:
            angles = mdtraj.compute_dihedrals(chunk, fours, periodic=False)
            features = np.stack([np.cos(angles), np.sin(angles)], axis=2)
            total += features.reshape(len(angles), -1).sum(axis=0, dtype=np.float64)
        return total

    return work


def of_trajet(pdb: Path, path: Path, threads: int) -> Callable[[], np.ndarray]:
    """Return a function that sums the features of trajet."""
    selection = tj.open(pdb, path).all_atoms()
    job = tj.dihedrals.job(selection, sin_cos=True)

    def work() -> np.ndarray:
        total: np.ndarray = np.zeros(1)
        for block in tj.features(job, pool=tj.LocalPool(threads=threads)).blocks(BLOCK):
            total = total + block.values.sum(axis=0)
        return total

    return work


def peak() -> float:
    """Return the peak memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    """Print the table."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_load())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pdb, path = prepare(folder, asked.times)
        short = folder / "short.xtc"
        short.write_bytes(path.read_bytes()[: path.stat().st_size // asked.times * 10])
        of_trajet(pdb, short, max(asked.threads))()
        before = peak()
        of_trajet(pdb, path, max(asked.threads))()
        print(
            f"peak memory, {98 * 10} and {98 * asked.times} frames: {before:.0f}, {peak():.0f} MB"
        )
        works = {"mdtraj": of_mdtraj(pdb, path)}
        for threads in asked.threads:
            works[f"trajet, {threads} threads"] = of_trajet(pdb, path, threads)
        expected = works["mdtraj"]()
        for tool, work in works.items():
            off = np.abs(work() - expected).max() / (98 * asked.times)
            if not off < 1e-4:
                raise SystemExit(f"{tool}: means of features differ by {off}")
        best = dict.fromkeys(works, float("inf"))
        for _ in range(asked.rounds):
            for tool, work in works.items():
                begin = time.perf_counter()
                work()
                best[tool] = min(best[tool], time.perf_counter() - begin)
        for tool, seconds in best.items():
            per_frame = 1e6 * seconds / (98 * asked.times)
            ratio = best["mdtraj"] / seconds
            print(f"{tool:18} {per_frame:8.1f} µs a frame {ratio:6.1f} times mdtraj")


if __name__ == "__main__":
    main()
