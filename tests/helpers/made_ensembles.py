"""Ensembles made of pieces of one trajectory: replicas of several systems in folders."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import trajet as tj

from helpers.golden_files import Adk

PATTERN = "{system}/rep{replica}/traj.xtc"
TOPOLOGY = "{system}/top.psf"
# Frames of each piece.
FRAMES = 16


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
