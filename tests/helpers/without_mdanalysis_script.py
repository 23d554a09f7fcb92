"""Opens, selects, analyses, converts and stores; run by test_without_mdanalysis.py.

Arguments: an empty folder; a topology and a trajectory; the same of a system with a unit cell. The
values of each analysis are saved as `NAME.npy` in the folder.
"""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trajet as tj
from trajet.analysis.job import AnalysisFunction

from helpers.analysis_laws import plain_analyses
from helpers.recorded_results import files_of

warnings.simplefilter("ignore", tj.TrajetWarning)


def spread(positions: np.ndarray) -> float:
    """Return the standard deviation of the coordinates."""
    return float(positions.std())


Call = Callable[[tj.Selection, tj.Pool], np.ndarray]


def plain(function: AnalysisFunction[..., tj.Table]) -> Call:
    """Return the call of an analysis of one selection."""
    return lambda atoms, pool: function(atoms, pool=pool).values


# One call of each analysis, by its name; `subjects` has the atoms.
CALLS: dict[str, Call] = {
    **{function.__name__: plain(function) for function in plain_analyses()},
    "apply": lambda atoms, pool: tj.apply(atoms, spread, pool=pool).values,
    "conductivity": lambda atoms, pool: tj.conductivity(atoms, temperature=300, pool=pool).values,
    "contact_map": lambda atoms, pool: tj.contact_map(atoms, pool=pool).values,
    "contacts": lambda atoms, pool: tj.contacts(atoms, pool=pool).values,
    "center_distances": lambda atoms, pool: (
        tj.center_distances(atoms, by="residue", pool=pool).values
    ),
    "coordination": lambda atoms, pool: tj.coordination(atoms, cutoff=8, pool=pool).values,
    "correlation_map": lambda atoms, pool: tj.correlation_map(atoms, pool=pool).values,
    "density": lambda atoms, pool: tj.density(atoms, spacing=4, pool=pool).values,
    "dielectric_constant": lambda atoms, pool: (
        tj.dielectric_constant(atoms, temperature=300, pool=pool).values
    ),
    "dihedrals": lambda atoms, pool: tj.dihedrals(atoms, pool=pool).values,
    "distances": lambda atoms, pool: tj.distances(atoms, "resid 3 and name CA", pool=pool).values,
    "dssp": lambda atoms, pool: tj.dssp(atoms, pool=pool).codes,
    "native_contacts": lambda atoms, pool: tj.native_contacts(atoms, pool=pool).values,
    "msd": lambda atoms, pool: tj.msd(atoms, by="residue", pool=pool).values,
    "min_distance": lambda atoms, pool: tj.min_distance(atoms, pool=pool).values,
    "pairwise_rmsd": lambda atoms, pool: tj.pairwise_rmsd(atoms, pool=pool).values,
    "hbonds": lambda atoms, pool: tj.hbonds(atoms, pool=pool).values,
    "interactions": lambda atoms, pool: (
        tj.interactions(atoms.trajectory.select("resid 1:20"), kinds=["hbond"], pool=pool).values
    ),
    "survival": lambda atoms, pool: (
        tj.survival(atoms.trajectory.select("around 4 resid 9", updating=True), pool=pool).values
    ),
    "cluster_rmsd": lambda atoms, pool: tj.cluster_rmsd(atoms, cutoff=1.5, pool=pool).labels,
    "pca": lambda atoms, pool: tj.pca(atoms, pool=pool).projections,
    "linear_density": lambda atoms, pool: tj.linear_density(atoms, bins=9, pool=pool).values,
    "rdf": lambda atoms, pool: tj.rdf(atoms, range=(0.0, 9.0), pool=pool).g,
    "rdf_pairs": lambda atoms, pool: tj.rdf_pairs([(atoms, atoms)], range=(0.0, 9.0), pool=pool).g,
    "rmsd": lambda atoms, pool: tj.rmsd(atoms, weights="mass", pool=pool).values,
    "rmsf": lambda atoms, pool: tj.rmsf(atoms, align=atoms, pool=pool).values,
    "sasa": lambda atoms, pool: tj.sasa(atoms, points=50, pool=pool).values,
    "velocity_autocorrelation": lambda atoms, pool: (
        tj.velocity_autocorrelation(atoms, pool=pool).values
    ),
}

WITH_CELL = ("linear_density", "rdf", "rdf_pairs")


def subjects(folder: Path, topology: str, source: str, *with_cell: str) -> dict[str, tj.Selection]:
    """Return the atoms that each analysis is given, by its name; velocities are in a new folder."""
    atoms = tj.open(topology, source).select("backbone and resid 1:20")
    sample = tj.samples.peptide_in_water().open()
    folder.mkdir()
    return {
        **dict.fromkeys(CALLS, atoms),
        **dict.fromkeys(WITH_CELL, tj.open(*with_cell).select("name CA")),
        "conductivity": sample.nojump().select("resname NA CL"),
        "dielectric_constant": sample.whole().select("water"),
        "velocity_autocorrelation": tj.open(*files_of("velocity", folder)).select("protein"),
    }


def main(folder: Path, topology: str, source: str, *with_cell: str) -> None:
    """Use everything that needs no MDAnalysis."""
    traj = tj.open(topology, source)
    assert traj.select("name CA and around 6 resid 10").n_atoms > 0
    of_analysis = subjects(folder / "velocities", topology, source, *with_cell)
    for name, call in CALLS.items():
        values = call(of_analysis[name], tj.LocalPool())
        in_processes = call(of_analysis[name], tj.ProcessPool(workers=1))
        assert values.tobytes() == in_processes.tobytes(), name
        np.save(folder / f"{name}.npy", values)
    atoms = of_analysis["rmsd"]
    tj.rmsd(atoms).plot()
    for ending in ("pdb", "gro"):
        tj.convert(atoms, folder / f"{ending}.xtc", topology=folder / f"one.{ending}")
        again = tj.open(folder / f"one.{ending}", folder / f"{ending}.xtc").select("name CA")
        assert again.n_atoms == 20
    tj.split(traj, folder / "segments", segments=3)
    store = tj.Store(folder / "md", create=True)
    store.add("adk", traj)
    tj.convert(tj.open(folder / "md" / "adk"), folder / "whole.xtc")
    whole = tj.open(topology, folder / "whole.xtc")
    assert whole.read().positions.tobytes() == traj.read().positions.tobytes()
    assert len(tj.rmsd(tj.open(folder / "md" / "adk").select("name CA")).values) == 98


if __name__ == "__main__":
    assert sys.modules["MDAnalysis"] is None
    main(Path(sys.argv[1]), *sys.argv[2:])
    assert sys.modules["MDAnalysis"] is None
