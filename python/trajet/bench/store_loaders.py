"""The ways into memory: each tool as its documentation advises, with one call where it has one.

Here alone MDAnalysis and mdtraj are imported to be measured.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import trajectory
from trajet.bench.store_cases import ALL, PROTEIN, STORE, Case, Job
from trajet.store import Store

# The data set's name in a store.
NAME = "membrane"
_AA_PER_NM = 10.0


@dataclass(frozen=True)
class Held:
    """What is in memory in the end, ready to draw.

    Attributes
    ----------
    positions
        `(n_frames, n_atoms, 3)`, float32.
    protein
        Which of these atoms a viewer draws; None for all.
    scale
        Of positions, to Å.
    kept
        What else has to live on.
    """

    positions: NDArray[np.float32]
    protein: NDArray[np.int64] | None
    scale: float = 1.0
    kept: Any = None

    def drawn(self, frame: int) -> NDArray[np.float32]:
        """Return the protein of a frame."""
        positions: NDArray[np.float32] = self.positions[frame]
        return positions if self.protein is None else positions[self.protein]


def missing(tool: str) -> bool:
    """Tell whether a tool is not installed."""
    return importlib.util.find_spec(tool) is None


def prepare(case: Case) -> Callable[[Job], Held]:
    """Import what a case needs, which is not measured, and return its way."""
    # The protein of a store is a tag, for which no atom is selected.
    if case.storage not in STORE or case.atoms == ALL:
        importlib.import_module("MDAnalysis" if case.tool == "trajet" else case.tool)
    if case.storage in STORE:
        return _store
    return _WAYS[case.tool, case.atoms]


def _trajet_protein(job: Job) -> Held:
    opened = trajectory.open(job.topology, job.source)
    return Held(opened.select(PROTEIN).read(slice(0, job.frames)).positions, None)


def _trajet_all(job: Job) -> Held:
    opened = trajectory.open(job.topology, job.source)
    protein = opened.select(PROTEIN).indices
    return Held(opened.read(slice(0, job.frames)).positions, protein)


def _store(job: Job) -> Held:
    tags = None if job.case.atoms == ALL else [PROTEIN]
    opened = Store(job.source).open(NAME, tags=tags)
    protein = None if tags else opened.select(PROTEIN).indices
    return Held(opened.read(slice(0, job.frames)).positions, protein)


def _mdanalysis_protein(job: Job) -> Held:
    import MDAnalysis

    universe = MDAnalysis.Universe(job.topology, job.source)
    protein = universe.select_atoms(PROTEIN)
    positions = universe.trajectory.timeseries(protein, stop=job.frames, order="fac")
    return Held(positions, None, kept=universe)


def _mdanalysis_all(job: Job) -> Held:
    import MDAnalysis

    universe = MDAnalysis.Universe(job.topology, job.source)
    protein = universe.select_atoms(PROTEIN)
    # What it has mapped of its file is counted in the end.
    reader = universe.trajectory
    universe.transfer_to_memory(stop=job.frames)
    return Held(universe.trajectory.get_array(), protein.indices, kept=(universe, reader))


def _mdtraj_protein(job: Job) -> Held:
    import mdtraj

    topology = mdtraj.load_topology(job.topology)
    loaded = mdtraj.load(job.source, top=topology, atom_indices=topology.select(PROTEIN))
    return Held(loaded.xyz, None, scale=_AA_PER_NM, kept=loaded)


def _mdtraj_all(job: Job) -> Held:
    import mdtraj

    topology = mdtraj.load_topology(job.topology)
    loaded = mdtraj.load(job.source, top=topology)
    return Held(loaded.xyz, topology.select(PROTEIN), scale=_AA_PER_NM, kept=loaded)


_WAYS: dict[tuple[str, str], Callable[[Job], Held]] = {
    ("trajet", PROTEIN): _trajet_protein,
    ("trajet", ALL): _trajet_all,
    ("MDAnalysis", PROTEIN): _mdanalysis_protein,
    ("MDAnalysis", ALL): _mdanalysis_all,
    ("mdtraj", PROTEIN): _mdtraj_protein,
    ("mdtraj", ALL): _mdtraj_all,
}
