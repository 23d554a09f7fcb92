"""Time selections, bonds by distance and topology loading beside MDAnalysis, in one run.

python benches/selections.py [--atoms 1000000] [--proteins 27] [--turned] [--tpr FILE]

Selections that follow the frame are counted in the solvated protein of MDAnalysisTests, on one
thread (aim: 20 times MDAnalysis); their times are of all frames and include reading.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis.lib.distances import capped_distance
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build
from trajet._trajet import read_structure

T = TypeVar("T")
SELECTIONS = (
    "name CA",
    "not protein",
    "around 5 protein",
    "name OW and around 3.5 protein",
    "byres around 5 protein",
    "around 15 protein",
    "protein and around 3 resname SOL",
    "isolayer 3 6 protein",
    "sphzone 20 protein",
    "cyzone 15 10 -10 protein",
    "same x as name CA",
)
# How often the ten frames of the solvated protein are repeated.
TIMES = 5
# Evaluated in each frame.
UPDATING = (
    "around 5 protein",
    "name OW and around 3.5 protein",
    "byres around 5 protein",
    "name OW and around 4 (protein and name CA)",
)
WATER = np.array([[0.0, 0.0, 0.0], [0.816, 0.577, 0.0], [-0.816, 0.577, 0.0]])
# Å³ per molecule of water, and Å from its centre to the protein.
VOLUME, CLEARANCE = 30.0, 2.8


def write_system(folder: Path, n_atoms: int, n_proteins: int, *, turned: bool) -> tuple[str, str]:
    """Write a GRO and an XTC file of proteins in water, in a cube or a rhombic dodecahedron."""
    random = np.random.default_rng(1)
    protein = mda.Universe(datafiles.GRO).select_atoms("protein")
    centred = protein.positions - protein.positions.mean(axis=0)
    lattice = np.diag([1.0, 1.0, 1.0])
    if turned:
        lattice[2] = 0.5, 0.5, 0.5**0.5
    per_edge = round(((n_atoms / 3) ** (1 / 3)) * 1.01)
    box = lattice * (VOLUME * per_edge**3 / np.linalg.det(lattice)) ** (1 / 3)
    edge = round(n_proteins ** (1 / 3) + 0.49)
    centres = (np.argwhere(np.ones((edge,) * 3))[:n_proteins] + 0.5) / edge @ box
    proteins = (centred + centres[:, None]).reshape(-1, 3)
    waters = np.argwhere(np.ones((per_edge,) * 3)) / per_edge @ box
    waters += random.uniform(-0.3, 0.3, waters.shape)
    near = capped_distance(waters, proteins, CLEARANCE, return_distances=False)[:, 0]
    waters = np.delete(waters, np.unique(near), axis=0)[: (n_atoms - len(proteins)) // 3]
    positions = np.concatenate([proteins, (waters[:, None] + WATER).reshape(-1, 3)])
    universe = mda.Universe.empty(
        len(positions),
        n_residues=n_proteins * protein.n_residues + len(waters),
        atom_resindex=np.concatenate(
            [
                np.unique(protein.resindices, return_inverse=True)[1] + k * protein.n_residues
                for k in range(n_proteins)
            ]
            + [np.repeat(np.arange(len(waters)), 3) + n_proteins * protein.n_residues]
        ),
        trajectory=True,
    )
    names = [*protein.names] * n_proteins + ["OW", "HW1", "HW2"] * len(waters)
    residues = [*protein.residues.resnames] * n_proteins + ["SOL"] * len(waters)
    universe.add_TopologyAttr("names", names)
    universe.add_TopologyAttr("resnames", residues)
    universe.add_TopologyAttr("resids", np.arange(len(residues)) % 100_000)
    universe.atoms.positions = positions.astype(np.float32)
    universe.dimensions = mda.lib.mdamath.triclinic_box(*box.astype(np.float32))
    paths = str(folder / "system.gro"), str(folder / "system.xtc")
    for path in paths:
        universe.atoms.write(path)
    return paths


def best(call: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Return the least time of a call (ms), and its result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times), result


def row(name: str, ours: float, theirs: float, remark: str) -> None:
    """Print one line of the table."""
    print(f"{name:36} {ours:10.1f} {theirs:10.1f} {theirs / ours:8.1f}x  {remark}", flush=True)


def updating_rows(folder: Path) -> None:
    """Print the times of selections that are evaluated in each frame."""
    path = folder / "solvated.xtc"
    path.write_bytes(Path(datafiles.XTC).read_bytes() * TIMES)
    traj, universe = tj.open(datafiles.TPR, path), mda.Universe(datafiles.TPR, path)
    print(f"{traj.n_frames} frames of {traj.n_atoms} atoms; ms: trajet, MDAnalysis")
    one = tj.LocalPool(threads=1)
    for text in UPDATING:
        followed = traj.select(text, updating=True)
        group = universe.select_atoms(text, updating=True)
        ours, counts = best(lambda followed=followed: tj.count(followed, pool=one).values, 5)
        theirs, expected = best(lambda group=group: [len(group) for _ in universe.trajectory], 1)
        is_same = counts.tolist() == expected
        row(f"updating: {text}", ours, theirs, "same" if is_same else "DIFFERENT")


def main() -> None:
    """Run all comparisons."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--atoms", type=int, default=1_000_000)
    parser.add_argument("--proteins", type=int, default=27)
    parser.add_argument("--turned", action="store_true", help="a rhombic dodecahedron")
    parser.add_argument("--tpr", type=Path, help="also load this topology")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        updating_rows(Path(folder))
        paths = write_system(Path(folder), options.atoms, options.proteins, turned=options.turned)
        traj, universe = tj.open(*paths), mda.Universe(*paths)
        print(f"{universe.atoms.n_atoms} atoms; ms: trajet, MDAnalysis")
        # Both have frame 0 in memory.
        traj.select("prop x > 0")
        for text in SELECTIONS:
            ours, selection = best(partial(traj.select, text), 5)
            theirs, atoms = best(partial(universe.select_atoms, text), 2)
            row(
                text,
                ours,
                theirs,
                "same" if np.array_equal(selection.indices, atoms.indices) else "DIFFERENT",
            )
        times = []
        for _ in range(3):
            structure = read_structure(Path(paths[0]))
            assert not isinstance(structure, str)
            times.append(best(partial(structure.guess, "bonds"), 1)[0])
        print(f"{'bonds by distance':36} {min(times):10.1f}")
    if (path := options.tpr) is not None:
        ours, loaded = best(partial(read_structure, path, positions=False), 3)
        if isinstance(loaded, str):
            raise SystemExit(f"{path}: {loaded}")
        theirs, _ = best(partial(mda.Universe, str(path), to_guess=()), 1)
        row(f"load {path.name}", ours, theirs, "")


if __name__ == "__main__":
    main()
