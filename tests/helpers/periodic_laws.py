"""Transforms, and the analyses that must see them, with the same bits on every pool.

Usage: `mpiexec -n N python -m helpers.periodic_laws TOPOLOGY TRAJECTORY FOLDER`. Rank 0 writes the
values of each transform to FOLDER.
"""

import sys
from pathlib import Path

import numpy as np
import trajet as tj

from helpers import pool_laws
from helpers.transform_cases import CASES, cases_of


def few_analyses(traj: tj.Trajectory) -> dict[str, pool_laws.Compute]:
    """Return an analysis of every shape, and one of strided frames and one out of order."""
    found = pool_laws.analyses(traj)
    names = (
        *("rmsd", "rmsd, average", "rmsf", "features", "apply", "some frames", "rdf"),
        *("count, updating", "apply, updating"),
    )
    chosen = {name: found[name] for name in names}
    chain = traj.select("resname ALA GLY")
    backwards = slice(None, None, -3)
    chosen["strided"] = lambda pool: tj.rmsd(chain, frames=slice(2, None, 5), pool=pool).values
    chosen["backwards"] = lambda pool: tj.gyration(chain, frames=backwards, pool=pool).values
    return chosen


def run_all(topology: str, path: str, folder: Path) -> None:
    """Save the values of every transform and analysis."""
    pool = tj.MpiPool(task_frames=5)
    traj, on_root = tj.open(topology, path), tj.open(topology, path, pool=pool)
    for name in cases_of("MPI"):
        change, found = CASES[name].change, {}
        for analysis, compute in few_analyses(change(traj)).items():
            try:
                found[analysis] = compute(pool)
            except AttributeError:
                # The result is on rank 0.
                assert pool.rank
        # The other ranks have a placeholder of the trajectory.
        alone = tj.rmsd(change(on_root).select("resname ALA"), pool=pool)
        if not pool.rank:
            found["on rank 0"] = alone.values
            np.savez(folder / f"{name}.npz", **found)


if __name__ == "__main__":
    run_all(*sys.argv[1:3], Path(sys.argv[3]))
