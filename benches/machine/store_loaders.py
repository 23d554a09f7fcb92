"""Loads frames into memory by each tool, as its documentation advises.

No other module imports MDAnalysis and mdtraj to measure them.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from trajet import trajectory
from trajet.store import Store

from machine.store_cases import ALL, PROTEIN, STORE, Case, CaseRun

# The data set's name in a store.
NAME = "membrane"
_AA_PER_NM = 10.0


@dataclass(frozen=True)
class LoadedFrames:
    """Frames in memory, ready to draw.

    Attributes
    ----------
    positions
        `(n_frames, n_atoms, 3)`, float32.
    protein
        Indices of the atoms that a viewer draws; None for all.
    scale
        Factor from the unit of positions to Å.
    kept
        Objects that own the memory of the positions.
    """

    positions: NDArray[np.float32]
    protein: NDArray[np.int64] | None
    scale: float = 1.0
    kept: object = None

    def drawn(self, frame: int) -> NDArray[np.float32]:
        """Return the positions of the protein in a frame, `(n, 3)`."""
        positions: NDArray[np.float32] = self.positions[frame]
        return positions if self.protein is None else positions[self.protein]


def missing(tool: str) -> bool:
    """Return whether a tool is not installed."""
    return importlib.util.find_spec(tool) is None


def prepare(case: Case) -> Callable[[CaseRun], LoadedFrames]:
    """Import the modules of a case, which is not measured, and return its loader."""
    importlib.import_module(case.tool)
    if case.storage in STORE:
        return _store
    return _LOADERS[case.tool, case.atoms]


def _trajet_protein(job: CaseRun) -> LoadedFrames:
    opened = trajectory.open(job.topology, job.source)
    return LoadedFrames(opened.select(PROTEIN).read(slice(0, job.frames)).positions, None)


def _trajet_all(job: CaseRun) -> LoadedFrames:
    opened = trajectory.open(job.topology, job.source)
    protein = opened.select(PROTEIN).indices
    return LoadedFrames(opened.read(slice(0, job.frames)).positions, protein)


def _store(job: CaseRun) -> LoadedFrames:
    tags = None if job.case.atoms == ALL else [PROTEIN]
    opened = Store(job.source).open(NAME, tags=tags)
    protein = None if tags else opened.select(PROTEIN).indices
    return LoadedFrames(opened.read(slice(0, job.frames)).positions, protein)


def _mdanalysis_protein(job: CaseRun) -> LoadedFrames:
    import MDAnalysis

    universe = MDAnalysis.Universe(job.topology, job.source)
    protein = universe.select_atoms(PROTEIN)
    positions = universe.trajectory.timeseries(protein, stop=job.frames, order="fac")
    return LoadedFrames(positions, None, kept=universe)


def _mdanalysis_all(job: CaseRun) -> LoadedFrames:
    import MDAnalysis

    universe = MDAnalysis.Universe(job.topology, job.source)
    protein = universe.select_atoms(PROTEIN)
    # The reader is kept so that the pages of its mapped file are counted.
    reader = universe.trajectory
    universe.transfer_to_memory(stop=job.frames)
    return LoadedFrames(universe.trajectory.get_array(), protein.indices, kept=(universe, reader))


def _mdtraj_protein(job: CaseRun) -> LoadedFrames:
    import mdtraj

    topology = mdtraj.load_topology(job.topology)
    loaded = mdtraj.load(job.source, top=topology, atom_indices=topology.select(PROTEIN))
    return LoadedFrames(loaded.xyz, None, scale=_AA_PER_NM, kept=loaded)


def _mdtraj_all(job: CaseRun) -> LoadedFrames:
    import mdtraj

    topology = mdtraj.load_topology(job.topology)
    loaded = mdtraj.load(job.source, top=topology)
    return LoadedFrames(loaded.xyz, topology.select(PROTEIN), scale=_AA_PER_NM, kept=loaded)


_LOADERS: dict[tuple[str, str], Callable[[CaseRun], LoadedFrames]] = {
    ("trajet", PROTEIN): _trajet_protein,
    ("trajet", ALL): _trajet_all,
    ("MDAnalysis", PROTEIN): _mdanalysis_protein,
    ("MDAnalysis", ALL): _mdanalysis_all,
    ("mdtraj", PROTEIN): _mdtraj_protein,
    ("mdtraj", ALL): _mdtraj_all,
}
