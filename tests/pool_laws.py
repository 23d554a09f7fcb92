"""Laws that every pool holds: the bits of one thread."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import trajet as tj

Compute = Callable[[tj.Pool], np.ndarray]


def analyses(traj: tj.Trajectory) -> dict[str, Compute]:
    """Return analyses of every shape: rows, moments of two passes, a histogram, wide rows."""
    atoms = traj.select(np.arange(0, traj.n_atoms, max(1, traj.n_atoms // 60)))
    others = traj.select(np.arange(1, traj.n_atoms, max(1, traj.n_atoms // 40)))
    fours = atoms.indices[: len(atoms.indices) // 4 * 4].reshape(-1, 4)
    found: dict[str, Compute] = {
        "rmsd": lambda pool: tj.rmsd(atoms, groups=[others], pool=pool).values,
        "rmsd, average": lambda pool: tj.rmsd(atoms, reference="average", pool=pool).values,
        "rmsf": lambda pool: tj.rmsf(atoms, align=others, reference="average", pool=pool).values,
        "features": lambda pool: tj.dihedrals(traj, fours, features=True, pool=pool).values,
        "distances": lambda pool: tj.distances(atoms, others, pool=pool).values,
        "some frames": lambda pool: tj.rmsd(atoms, frames=[5, 1, 1, 7, 0], pool=pool).values,
        "no frame": lambda pool: tj.rmsd(atoms, frames=[], pool=pool).values,
    }
    if np.isfinite(traj.read(atoms=[0]).cells).all():
        found["rdf"] = lambda pool: tj.rdf(atoms, others, range=(0.0, 8.0), pool=pool).g
    return found


def assert_same_bits(pool: tj.Pool, traj: tj.Trajectory) -> None:
    """Assert that every analysis has the bits that it has on one thread of this process."""
    for name, compute in analyses(traj).items():
        here, there = compute(tj.LocalPool(threads=1)), compute(pool)
        assert here.shape == there.shape, name
        assert here.size > 0 or name == "no frame"
        assert here.tobytes() == there.tobytes(), name


def segments(source: Path, folder: Path, n: int) -> list[Path]:
    """Divide a trajectory into files of their own."""
    tj.split(tj.open(None, source), folder, segments=n)
    return sorted(folder.iterdir())
