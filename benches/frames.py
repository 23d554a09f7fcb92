"""Time analyses that compare or combine all frames beside mdtraj and MDAnalysis, on made frames.

Usage: `python benches/frames.py [pairs|pca|clusters ...] [--rounds N] [--threads N] [--size SIZE]`.
Rounds of all programs alternate; the table has the best of each, and the ratio to trajet's.
The native module must be built with `make`.

Frames are ADK's (MDAnalysisTests' adk_dims.dcd, 3341 atoms), one after the other with noise of
0.3 Å, in a DCD file. `--size full` has 4187 frames of all atoms for PCA, as MDAnalysis' issue 5351,
which takes MDAnalysis a quarter of an hour and 5 GB; `--size small`, the default, has 1000 frames
of every third atom.
"""

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from peers.trajet import require_release_build

NOISE = 0.3
SIZES = {"small": (1000, 3), "full": (4187, 1)}
PAIRS = {"small": 1000, "full": 4187}


def threads_of_all(threads: int) -> None:
    """Run this program again with so many threads for OpenMP and BLAS, which read it at start."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    if any(os.environ.get(name) != str(threads) for name in names):
        os.environ.update(dict.fromkeys(names, str(threads)))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def alternate(programs: dict[str, Callable[[], object]], rounds: int) -> None:
    """Print the best seconds of each program, and how many times those of the first."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for name, work in programs.items():
            begin = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - begin)
    first = next(iter(best.values()))
    for name, seconds in best.items():
        print(f"  {name:52} {seconds:9.3f} s {seconds / first:8.2f}", flush=True)


def make(path: Path, n_frames: int, every: int) -> Path:
    """Write frames with some of the atoms to a DCD file, and a PDB file beside it."""
    import MDAnalysis as mda
    import numpy as np
    from MDAnalysisTests import datafiles

    universe = mda.Universe(datafiles.PSF, datafiles.DCD)
    atoms = universe.atoms[::every]
    known = np.array([atoms.positions for _ in universe.trajectory])
    rng = np.random.default_rng(1)
    atoms.write(str(path.with_suffix(".pdb")))
    with mda.Writer(str(path), n_atoms=len(atoms)) as writer:
        for frame in range(n_frames):
            nearest = known[frame * len(known) // n_frames]
            atoms.positions = nearest + rng.normal(0, NOISE, nearest.shape)
            writer.write(atoms)
    return path


def pairs(folder: Path, size: str, rounds: int, threads: int) -> None:
    """Time the RMSDs of all pairs."""
    import mdtraj
    import numpy as np
    import trajet as tj

    n_frames = PAIRS[size]
    path = make(folder / "pairs.dcd", n_frames, 1)
    traj = tj.open(path.with_suffix(".pdb"), path, sidecar=False)
    pool = tj.LocalPool(threads=threads)
    for text in ("name CA", "all"):
        atoms = traj.select(text)
        block = atoms.read()
        topology = mdtraj.load(str(path.with_suffix(".pdb"))).topology.subset(atoms.indices)

        def theirs(block: tj.Block = block, topology: mdtraj.Topology = topology) -> object:
            held = mdtraj.Trajectory(block.positions / 10, topology)
            held.center_coordinates()
            one = [mdtraj.rmsd(held, held, k, precentered=True) for k in range(len(held))]
            return np.array(one)

        print(f"RMSD of all pairs: {n_frames} frames, {atoms.n_atoms} atoms, {threads} threads")
        programs = {
            "tj.pairwise_rmsd, from the file": lambda atoms=atoms: tj.pairwise_rmsd(
                atoms, pool=pool
            ),
            "mdtraj.rmsd from each frame, in memory": theirs,
        }
        alternate(programs, rounds)


def components(folder: Path, size: str, rounds: int, threads: int) -> None:
    """Time principal components."""
    import MDAnalysis as mda
    import trajet as tj
    from MDAnalysis.analysis.pca import PCA

    n_frames, every = SIZES[size]
    path = make(folder / "pca.dcd", n_frames, every)
    top = str(path.with_suffix(".pdb"))
    traj = tj.open(top, path, sidecar=False)
    pool = tj.LocalPool(threads=threads)
    print(f"PCA: {n_frames} frames, {traj.n_atoms} atoms, {threads} threads")
    programs = {
        "tj.pca, ten components": lambda: tj.pca(traj, reference=0, pool=pool),
        "MDAnalysis PCA(align=True)": lambda: PCA(
            mda.Universe(top, str(path)), select="all", align=True
        ).run(),
    }
    alternate(programs, 1 if size == "full" else rounds)


def clusters(folder: Path, size: str, rounds: int, threads: int) -> None:
    """Time clusters of a matrix that is known."""
    import trajet as tj

    path = make(folder / "clusters.dcd", PAIRS[size], 1)
    atoms = tj.open(path.with_suffix(".pdb"), path, sidecar=False).select("name CA")
    matrix = tj.pairwise_rmsd(atoms, pool=tj.LocalPool(threads=threads))
    print(f"clusters of {PAIRS[size]} frames, of their matrix")
    programs = {
        "gromos, 1.5 Å": lambda: tj.cluster_rmsd(matrix, cutoff=1.5),
        "average linkage, by SciPy": lambda: tj.cluster_rmsd(
            matrix, method="average", n_clusters=5
        ),
    }
    alternate(programs, rounds)


BENCHES = {"pairs": pairs, "pca": components, "clusters": clusters}


def main() -> None:
    """Print the tables."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", choices=list(SIZES), default="small")
    options = parser.parse_args()
    threads_of_all(options.threads)
    warnings.simplefilter("ignore")
    for name in options.names or list(BENCHES):
        with tempfile.TemporaryDirectory() as folder:
            BENCHES[name](Path(folder), options.size, options.rounds, options.threads)


if __name__ == "__main__":
    main()
