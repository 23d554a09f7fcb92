"""Topologies and trajectories of MDAnalysisTests on which analyses are compared with MDAnalysis."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from MDAnalysisTests import datafiles

from helpers import plain_geometry as plain
from helpers import trr_bytes
from helpers.golden_files import Adk

# Adenylate kinase without a cell; in water, in a rhombic dodecahedron; cobrotoxin in a cube; water
# in a very skewed cell, which changes from frame to frame; silicon nitride in a hexagonal cell, one
# frame.
FILES = {
    "adk.dcd": (datafiles.PSF, datafiles.DCD),
    "solvated.xtc": (datafiles.GRO, datafiles.XTC),
    "solvated.trr": (datafiles.GRO, datafiles.TRR),
    "cobrotoxin.trr": (datafiles.PDB_sub_sol, datafiles.TRR_sub_sol),
    "skewed.dcd": (datafiles.PSF_TRICLINIC, datafiles.DCD_TRICLINIC),
    "hexagonal.dcd": (datafiles.PSF_NAMD_TRICLINIC, datafiles.DCD_NAMD_TRICLINIC),
}
# All of them, but that one format of each is enough for the gate.
NAMES = [
    "adk.xtc",
    *(
        pytest.param(name, marks=pytest.mark.long) if name in ("adk.dcd", "solvated.trr") else name
        for name in FILES
    ),
]


@dataclass(frozen=True)
class System:
    """One system, opened by trajet and loaded by MDAnalysis."""

    topology: Path
    path: Path
    trajectory: tj.Trajectory
    universe: mda.Universe

    def vectors(self, cell: np.ndarray) -> np.ndarray | None:
        """Return the box vectors of a frame with this cell, or none if it has no cell.

        CHARMM wrote those of the skewed cell as a symmetric matrix. MDAnalysis turns them, and not
        the atoms: its images in that file are others.
        """
        if np.isnan(cell).any():
            return None
        return (plain.symmetric_vectors if self.charmm else plain.cell_vectors)(cell)

    @property
    def charmm(self) -> bool:
        """Return whether box vectors are a symmetric matrix."""
        return self.path.name == "skewed.dcd"

    def fresh(self) -> mda.Universe:
        """Load another Universe of the same files, which a test may change."""
        return mda.Universe(str(self.topology), str(self.path))


class Systems:
    """The systems by name, each copied, opened and loaded once."""

    def __init__(self, adk: Adk, folder: Path) -> None:
        self._adk = adk
        self._folder = folder
        self._loaded: dict[str, System] = {}

    def __getitem__(self, name: str) -> System:
        """Return a system, loaded when it is first requested."""
        if name not in self._loaded:
            path = self._folder / name
            topology, source = FILES.get(name, (self._adk.psf, self._adk.xtc))
            shutil.copyfile(source, path)
            universe = mda.Universe(str(topology), str(path))
            opened = tj.open(topology, path)
            self._loaded[name] = System(Path(topology), path, opened, universe)
        return self._loaded[name]


def in_changing_cells(folder: Path, seed: int) -> tuple[tj.Trajectory, list[bool]]:
    """Return 20 atoms whose cell is another one in each frame, and which frames have one."""
    x = np.random.default_rng(seed).uniform(0, 6, (6, 20, 3))
    cells = [
        plain.CELLS["skewed"],
        None,
        plain.CELLS["cube"],
        plain.CELLS["octahedron"],
        None,
        plain.CELLS["brick"],
    ]
    boxes = [None if c is None else plain.cell_vectors(np.array(c, float)) / 10 for c in cells]
    boxes[4] = np.zeros((3, 3))
    path = trr_bytes.write_trr(folder / "cells.trr", x, boxes=boxes)
    return tj.open(None, path), [cell is not None for cell in cells]
