"""Copies for processes of their own, which are killed while they work."""

from pathlib import Path

import trajet as tj


def copy(source: Path, target: Path, n_atoms: int) -> None:
    """Write some atoms to a file, or to a folder of several; replace existing ones."""
    atoms = range(n_atoms)
    selection = tj.open(None, source).select(atoms)
    if target.suffix:
        tj.convert(selection, target, force=True, threads=2)
    else:
        kind = target.name.rpartition("-")[2]
        tj.split(selection, target, segments=6, format=kind, force=True, threads=2)
