"""Ensembles made of pieces of one trajectory."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import trajet as tj

from helpers.golden_files import Adk

PATTERN = "{system}/rep{replica}/traj.xtc"
TOPOLOGY = "{system}/top.psf"
# Frames of each piece.
FRAMES = 16
# Frames of members of which one is long.
UNEVEN = (5, 98, 1, 20, 7)


def made_replicas(adk: Adk, folder: Path, systems: Mapping[str, int]) -> tj.Ensemble:
    """Write some replicas of each system, different pieces of ADK, and return the ensemble.

    Topologies of the systems are equal files.
    """
    source = tj.open(None, adk.xtc)
    piece = 0
    for system, count in systems.items():
        (folder / system).mkdir(parents=True)
        shutil.copy(adk.psf, folder / system / "top.psf")
        for replica in range(1, count + 1):
            (folder / system / f"rep{replica}").mkdir()
            frames = slice(piece, piece + FRAMES)
            path = folder / system / f"rep{replica}" / "traj.xtc"
            tj.convert(source, path, frames=frames)
            piece += FRAMES // 2
    return tj.ensemble(str(folder / PATTERN), topology=str(folder / TOPOLOGY))


def uneven_members(adk: Adk, folder: Path) -> tj.Ensemble:
    """Write a long member among short ones, and return the ensemble.

    No member begins with the frames of another, so that results of a task of another member differ.
    """
    source = tj.open(None, adk.xtc)
    for replica, n_frames in enumerate(UNEVEN):
        frames = (np.arange(n_frames) + 11 * replica) % len(source)
        tj.convert(source, folder / f"{replica}.xtc", frames=frames)
    return tj.ensemble(str(folder / "{replica}.xtc"), topology=adk.psf)


def bits_of_members(ensemble: tj.Ensemble, **of_run: Any) -> list[bytes | None]:
    """Return the bits of rows, and of a state in two passes; None for members that failed."""
    atoms = ensemble.select("name CA and resid 1:40")
    results = tj.run(
        [tj.rmsd.job(atoms), tj.rmsf.job(atoms, align="same", reference="average")], **of_run
    )
    outcomes = [one for result in results for one in result.outcomes]
    return [None if one.result is None else one.result.values.tobytes() for one in outcomes]
