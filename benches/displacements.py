"""Time mean squared displacements beside MDAnalysis (with tidynamics), in one run, taking turns.

python benches/displacements.py [--frames 2000] [--atoms 2000] [--rounds 3] [--threads 2]

The file is a random walk in DCD, so that little time goes into decoding.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis.analysis.msd import EinsteinMSD
from peers.trajet import require_release_build


def write_walk(path: Path, n_frames: int, n_atoms: int) -> None:
    """Write a random walk."""
    rng = np.random.default_rng(1)
    universe = mda.Universe.empty(n_atoms, trajectory=True)
    positions = rng.uniform(0, 100, (n_atoms, 3))
    with mda.Writer(str(path), n_atoms, dt=1.0) as writer:
        for _ in range(n_frames):
            positions += rng.normal(0, 1, positions.shape)
            universe.atoms.positions = positions
            writer.write(universe)


def main() -> None:
    """Print the least times of both, and their ratio, for Fourier transforms and pair by pair."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=2000)
    parser.add_argument("--atoms", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walk.dcd"
        write_walk(path, options.frames, options.atoms)
        atoms = tj.open(None, path).all_atoms()
        universe = mda.Universe.empty(options.atoms, trajectory=True)
        universe.load_new(str(path))
        pool = tj.LocalPool(threads=options.threads)
        print(f"{options.frames} frames of {options.atoms} atoms, {options.threads} threads; s")
        for fft in (True, False):
            ours, theirs = [], []
            for _ in range(options.rounds if fft else 1):
                begin = time.perf_counter()
                here = tj.msd(atoms, fft=fft, unwrapped=True, pool=pool)
                ours.append(time.perf_counter() - begin)
                begin = time.perf_counter()
                there = EinsteinMSD(universe, fft=fft).run()
                theirs.append(time.perf_counter() - begin)
            apart = np.abs(here.values - there.results.timeseries).max()
            what = "Fourier transforms" if fft else "pair by pair"
            print(
                f"{what:20} trajet {min(ours):8.3f}  MDAnalysis {min(theirs):8.3f}"
                f"  {min(theirs) / min(ours):6.1f}x  apart {apart:.1e} Å²",
                flush=True,
            )


if __name__ == "__main__":
    main()
