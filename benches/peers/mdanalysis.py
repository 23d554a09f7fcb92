"""MDAnalysis: the reference values for every other tool, and the base of targets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from cases import RDF_BINS, RDF_RANGE, Case, Truth, expect
from numpy.typing import NDArray

from peers.contestant import Contestant, clock


def open_universe(case: Case) -> Any:
    """Open the case; its offsets are built and stored here, outside any clock."""
    import MDAnalysis

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no cell in ADK's frames, no elements in the PSF
        return MDAnalysis.Universe(str(case.topology), str(case.trajectory))


def select(case: Case, universe: Any) -> Any:
    """Return the atoms of the case."""
    return universe.atoms if case.selection is None else universe.select_atoms(case.selection)


def backbone(atoms: Any) -> list[Any]:
    """Return φ and ψ, alternating, of the residues that have both, as groups of four atoms."""
    residues = atoms.residues
    pairs = zip(residues.phi_selections(), residues.psi_selections(), strict=True)
    return [four for pair in pairs if all(pair) for four in pair]


def analysis(case: Case, universe: Any) -> Callable[[], Any]:
    """Return a function that runs MDAnalysis' serial analysis of the case."""
    from MDAnalysis.analysis import dihedrals, distances, rdf, rms

    atoms = select(case, universe)
    stop = case.n_frames

    def measure() -> Any:
        frames = universe.trajectory[:stop]
        values = np.empty((len(frames), len(atoms) * (len(atoms) - 1) // 2))
        for row, ts in zip(values, frames, strict=True):
            distances.self_distance_array(atoms.positions, box=ts.dimensions, result=row)
        return values

    if case.task == "distances":
        return measure
    if case.task == "rmsd":
        job: Any = rms.RMSD(universe, select=case.selection)
    elif case.task == "rmsf":
        job = rms.RMSF(atoms)
    elif case.task == "dihedrals":
        job = dihedrals.Dihedral(backbone(atoms))
    else:
        # Without the exclusion, each atom is counted with itself.
        job = rdf.InterRDF(atoms, atoms, nbins=RDF_BINS, range=RDF_RANGE, exclusion_block=(1, 1))
    return lambda: job.run(stop=stop).results


def values_of(case: Case, results: Any) -> NDArray[np.float64]:
    """Return the values of an analysis as `peers` describes them."""
    if case.task == "rmsd":
        return np.asarray(results.rmsd[:, 2])
    if case.task == "rmsf":
        return np.asarray(results.rmsf)
    if case.task == "dihedrals":
        angles = np.radians(results.angles)
        return np.stack((np.cos(angles), np.sin(angles)), axis=-1).reshape(len(angles), -1)
    if case.task == "rdf":
        return np.asarray(results.count)
    return np.asarray(results)


def find_truth(case: Case) -> Truth:
    """Read the first, middle and last frame, and run the analysis if there is one."""
    universe = open_universe(case)
    chosen = select(case, universe)
    n_frames = len(universe.trajectory)
    frames = [0, n_frames // 2, n_frames - 1]
    positions = [universe.trajectory[frame].positions[chosen.indices] for frame in frames]
    values = quadruples = None
    if case.task not in ("read", "copy"):
        values = values_of(case, analysis(case, universe)())
    if case.task == "dihedrals":
        quadruples = np.array([four.indices for four in backbone(chosen)], dtype=np.int64)
    return Truth(
        n_frames=n_frames if case.n_frames is None else min(n_frames, case.n_frames),
        n_atoms=len(universe.atoms),
        indices=chosen.indices.astype(np.int64),
        frames=frames,
        positions=np.stack(positions).astype(np.float32),
        values=values,
        quadruples=quadruples,
    )


def prepare(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `for ts in trajectory`, or the analysis with its serial backend."""
    universe = open_universe(case)
    trajectory, indices = universe.trajectory, truth.indices

    def read() -> float:
        atoms = 0
        start = perf_counter()
        if truth.whole:
            for ts in trajectory:
                atoms += len(ts.positions)
        else:
            for ts in trajectory:
                atoms += len(ts.positions[indices])
        seconds = perf_counter() - start
        expect(atoms == truth.n_frames * len(indices), "MDAnalysis", "numbers of atoms")
        return seconds

    once = read if case.task == "read" else clock(analysis(case, universe))
    return [Contestant("MDAnalysis", version("MDAnalysis"), 1, lambda: None, once)]
