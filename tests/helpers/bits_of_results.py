"""Prints digests of decoded frames and of results: `python -m helpers.bits_of_results FILE …`.

Run with different instruction sets, or on other processors, the lines but the first are the same.
Analyses take 12 and 333 atoms of each file by number; those of files in a folder `made`, one of
these numbers of every third.
"""

import hashlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet import _trajet

from helpers.analysis_laws import plain_analyses, without_topology
from helpers.extent import IS_LONG

# Files that test the decoder alone: their numbers of bits differ.
DECODED_ONLY = ("precision-", "product-")

warnings.simplefilter("ignore", tj.TrajetWarning)


def results(
    traj: tj.Trajectory, size: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray]]:
    """Yield names and values of positions and of analyses of `size` atoms."""
    n = traj.n_atoms
    atoms = traj.select(rng.permutation(n)[:size])
    core = traj.select(np.sort(rng.choice(n, size - 5, replace=False)))
    fours = np.array([rng.choice(n, 4, replace=False) for _ in range(size)])
    weights = rng.uniform(1, 20, size)
    yield "positions", atoms.read().positions
    if np.isfinite(cells := traj.read(atoms=[0]).cells).any():
        yield "cells", cells
    yield "rmsd", tj.rmsd(atoms).values
    yield "rmsd weights", tj.rmsd(atoms, weights=weights, groups=[core]).values
    yield "rmsd average", tj.rmsd(atoms, reference="average").values
    yield "rmsd centre", tj.rmsd(atoms, motion="translation").values
    yield "rmsf", tj.rmsf(atoms).values
    yield "rmsf aligned", tj.rmsf(atoms, align=core).values
    yield "rmsf average", tj.rmsf(atoms, align=core, reference="average").values
    radii = rng.uniform(0, 3, n)
    for by in ("total", "atom"):
        yield "sasa", tj.sasa(atoms, by=by, radii=radii, frames=[0, 1, -1]).values
    for function in plain_analyses():
        yield function.__name__, function(atoms, **without_topology(function)).values
    for pbc in (True, False):
        yield "angles", tj.dihedrals(traj, fours, pbc=pbc).values
        yield "features", tj.dihedrals(traj, fours, sin_cos=True, pbc=pbc).values
        yield "within", tj.distances(traj.select(atoms.indices[:40]), pbc=pbc).values
        yield "between", tj.distances(traj.select(fours[:9, 0]), atoms, pbc=pbc).values
        near = tj.min_distance(atoms, core, cutoff=5.0, pbc=False)
        yield "nearest", np.column_stack([near.values, near.pairs, near.contacts])
        yield "nearest", tj.min_distance(atoms, pbc=pbc).values
        yield "native", tj.native_contacts(atoms, cutoff=1e7, pbc=False).values
        yield "reference", tj.distances(traj.select([1, 7, 4]), reference=0).values


def show(name: str, values: NDArray) -> None:
    """Print the digest of some values."""
    # There are no angles on a line or in a point.
    assert values.size > 0
    assert np.isfinite(values).any() or name.startswith(("line", "one-"))
    print(name, values.shape, hashlib.sha256(values.tobytes()).hexdigest())


def main() -> None:
    """Print the instruction set, and digests of all files."""
    print(_trajet.INSTRUCTION_SET)
    rng = np.random.default_rng(51)
    for number, path in enumerate(map(Path, sys.argv[1:])):
        traj = tj.open(None, path)
        show(f"{path.name} all", traj.read(frames=slice(0, 60)).positions)
        if traj.n_atoms < 12 or path.name.startswith(DECODED_ONLY):
            continue
        sizes = [12, min(traj.n_atoms, 333)]
        if path.parent.name == "made":
            if number % 3 and not IS_LONG:
                continue
            sizes = sizes[number % 2 :][:1]
        for size in sizes:
            for name, values in results(traj, size, rng):
                show(f"{path.name} {size} {name}", values)


if __name__ == "__main__":
    main()
