"""Writes the numbers of every analysis: `python -m helpers.numbers_of_analyses FILE.npz`.

They are those of the sample of a peptide in water, with its topology. Arrays are named by analysis
and attribute of the result.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet.result import Table

from helpers.recorded_results import files_of


def results() -> Iterator[tuple[str, Table]]:
    """Yield names and results of analyses."""
    peptide = tj.samples.peptide_in_water().open()
    whole = peptide.repair("protein")
    protein, water = whole.select("protein"), whole.select("water and name O*")
    heavy = whole.select("protein and not name H*")
    yield "center_distances", tj.center_distances(protein, by="residue")
    yield "centers", tj.centers(protein)
    yield "cluster_rmsd", tj.cluster_rmsd(heavy, cutoff=1.5)
    ions = peptide.nojump().select("resname NA CL")
    yield "conductivity", tj.conductivity(ions, temperature=300)
    yield "contact_map", tj.contact_map(protein, errors=True)
    yield "contacts", tj.contacts(protein, water)
    yield "coordination", tj.coordination(protein, water, cutoff=4.0, errors=True)
    yield "correlation_map", tj.correlation_map(heavy)
    yield "count", tj.count(whole.select("water and around 4 protein", updating=True))
    yield "density", tj.density(water, spacing=2.0, errors=True)
    yield "dielectric_constant", tj.dielectric_constant(whole.select("water"), temperature=300)
    yield "dihedrals", tj.dihedrals(protein)
    yield "distances", tj.distances(heavy)
    yield "dssp", tj.dssp(protein)
    yield "end_to_end", tj.end_to_end(protein)
    yield "gyration", tj.gyration(protein, per_axis=True)
    yield "gyration_moments", tj.gyration_moments(protein)
    yield "hbonds", tj.hbonds(protein, water, lifetimes=True, errors=True)
    yield "interactions", tj.interactions(protein, water, kinds=["hbond", "vdw"], errors=True)
    yield "linear_density", tj.linear_density(water, errors=True)
    yield "min_distance", tj.min_distance(protein, water)
    yield "msd", tj.msd(water.nojump())
    yield "msd windowed", tj.msd(water.nojump(), fft=False)
    yield "native_contacts", tj.native_contacts(protein)
    yield "pairwise_rmsd", tj.pairwise_rmsd(heavy)
    yield "pca", tj.pca(heavy)
    yield "rdf", tj.rdf(water, range=(0.0, 8.0), errors=True)
    yield "rdf_pairs", tj.rdf_pairs([(protein, water)], range=(0.0, 8.0))
    yield "rmsd", tj.rmsd(heavy)
    yield "rmsf", tj.rmsf(heavy, align=heavy, errors=True)
    yield "sasa", tj.sasa(protein, by="residue")
    near = whole.select("water and around 4 protein", updating=True)
    yield "survival", tj.survival(near, by="residue")
    with tempfile.TemporaryDirectory() as folder:
        moving = tj.open(*files_of("velocity", Path(folder)), sidecar=False).select("protein")
        yield "velocity_autocorrelation", tj.velocity_autocorrelation(moving)


def arrays(result: Table) -> Iterator[tuple[str, NDArray]]:
    """Yield names and arrays of values and errors of a result, and of its parts."""
    for name, array in result._arrays().items():
        if name.rpartition(".")[2] in ("values", "standard_errors", "half_widths") and array.size:
            yield name, array


def main() -> None:
    """Write the arrays of all results into the file that the command line names."""
    np.savez(
        sys.argv[1],
        **{f"{name} {part}": a for name, result in results() for part, a in arrays(result)},
    )


if __name__ == "__main__":
    main()
