"""Compare results with those of MDAnalysis, mdtraj and GROMACS, and print the largest differences.

Usage: `python benches/correctness.py [--only rmsd rdf] [--frames N]`. Prints the rows of the table
in CORRECTNESS.md, each computed anew: the quantity, the peer, how many numbers are compared, and
the largest absolute difference. Systems are those of MDAnalysisTests: adenylate kinase (ADK, 98
frames without a cell) and ADK in water (10 frames of 47,681 atoms). Rows of a peer that is not
installed, or `gmx` that is not on PATH, are left out, which a line says.
"""

import argparse
import importlib.util
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysis.analysis import contacts, diffusionmap, dihedrals, msd, pca, rdf, rms
from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis
from MDAnalysis.analysis.lineardensity import LinearDensity
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests import datafiles
from numpy.typing import ArrayLike, NDArray

ANGSTROM = 10.0  # of a nanometre


@dataclass
class Systems:
    """The systems, opened by each program when a row needs them."""

    folder: Path
    frames: int

    @cached_property
    def adk(self) -> tj.Trajectory:
        """ADK."""
        return tj.open(datafiles.PSF, datafiles.DCD, sidecar=False)

    @cached_property
    def adk_mda(self) -> mda.Universe:
        """ADK, by MDAnalysis."""
        return mda.Universe(datafiles.PSF, datafiles.DCD)

    @cached_property
    def wet(self) -> tj.Trajectory:
        """ADK in water."""
        return tj.open(datafiles.TPR, datafiles.XTC, sidecar=False)

    @cached_property
    def wet_mda(self) -> mda.Universe:
        """ADK in water, by MDAnalysis."""
        return mda.Universe(datafiles.TPR, datafiles.XTC)

    @cached_property
    def adk_mdtraj(self) -> Any:
        """ADK, by mdtraj, with the positions that trajet reads."""
        import mdtraj

        self.adk[0].save(self.folder / "adk.pdb")
        positions = self.adk.read().positions / np.float32(ANGSTROM)
        return mdtraj.Trajectory(positions, mdtraj.load(self.folder / "adk.pdb").topology)

    def gmx(self, command: str, *words: object, typed: str = "") -> NDArray[np.float64]:
        """Run GROMACS on ADK in water and return the numbers of its first output."""
        out = self.folder / f"{command}.xvg"
        files = ["-s", datafiles.TPR, "-f", datafiles.XTC, *map(str, words), out]
        subprocess.run(
            ["gmx", "-quiet", "-nobackup", command, *files],
            input=typed,
            text=True,
            check=True,
            capture_output=True,
        )
        return np.loadtxt(out, comments=["#", "@"], ndmin=2)


# Returns what is compared, ours and theirs.
Compared = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    quantity: str
    peer: str
    unit: str
    compare: Callable[[Systems], Compared]


ROWS: list[Row] = []


def row(quantity: str, peer: str, unit: str) -> Callable[[Callable[[Systems], Compared]], None]:
    """Add a row, which the decorated function computes."""

    def add(compare: Callable[[Systems], Compared]) -> None:
        ROWS.append(Row(compare.__name__.removeprefix("_"), quantity, peer, unit, compare))

    return add


@row("RMSD of ADK's C-alpha", "MDAnalysis `rms.RMSD`", "Å")
def _rmsd(of: Systems) -> Compared:
    theirs = rms.RMSD(of.adk_mda, select="name CA").run().results.rmsd[:, 2]
    # The frame that is its own reference is 0 up to 6e-6 Å there.
    return tj.rmsd(of.adk.select("name CA")).values[1:], theirs[1:]


@row("RMSD of ADK's C-alpha", "mdtraj `rmsd`", "Å")
def _rmsd_mdtraj(of: Systems) -> Compared:
    import mdtraj

    ca = of.adk_mdtraj.topology.select("name CA")
    theirs = ANGSTROM * mdtraj.rmsd(of.adk_mdtraj, of.adk_mdtraj, 0, atom_indices=ca)
    return tj.rmsd(of.adk.select("name CA")).values[1:], theirs[1:]


@row("RMSF of ADK's C-alpha", "MDAnalysis `rms.RMSF`", "Å")
def _rmsf(of: Systems) -> Compared:
    theirs = rms.RMSF(of.adk_mda.select_atoms("name CA")).run().results.rmsf
    return tj.rmsf(of.adk.select("name CA")).values, theirs


@row("pairwise RMSD of ADK's C-alpha", "MDAnalysis `DistanceMatrix`", "Å")
def _pairwise_rmsd(of: Systems) -> Compared:
    def metric(one: Any, other: Any, weights: Any = None) -> float:
        return float(rms.rmsd(one, other, weights, superposition=True))

    theirs = diffusionmap.DistanceMatrix(of.adk_mda, select="name CA", metric=metric).run()
    ours = tj.pairwise_rmsd(of.adk.select("name CA")).values
    return ours - np.diag(np.diag(ours)), theirs.results.dist_matrix


@row("radius of gyration of ADK", "MDAnalysis `radius_of_gyration`", "Å")
def _gyration(of: Systems) -> Compared:
    protein = of.adk_mda.select_atoms("protein")
    theirs = [protein.radius_of_gyration() for _ in of.adk_mda.trajectory]
    return tj.gyration(of.adk.select("protein")).values, theirs


@row("radius of gyration of solvated ADK", "`gmx gyrate`", "Å")
def _gyration_gmx(of: Systems) -> Compared:
    theirs = ANGSTROM * of.gmx("gyrate", "-o", typed="Protein\n")[:, 1]
    return tj.gyration(of.wet.whole().select("protein")).values, theirs


@row("distances of ions from C-alpha, in cells", "MDAnalysis `distance_array`", "Å")
def _distances(of: Systems) -> Compared:
    ions, ca = (of.wet_mda.select_atoms(text) for text in ("resname NA+", "name CA"))
    theirs = [
        distance_array(ions.positions, ca.positions, box=of.wet_mda.dimensions)
        for _ in of.wet_mda.trajectory
    ]
    return tj.distances(of.wet.select("resname NA+"), "name CA").values, theirs


@row("smallest distance of ions from the protein", "`gmx mindist`", "Å")
def _min_distance_gmx(of: Systems) -> Compared:
    groups = of.wet.select("protein"), of.wet.select("resname NA+")
    lines = [f"[ {k} ]\n{' '.join(map(str, one.indices + 1))}\n" for k, one in enumerate(groups)]
    (of.folder / "groups.ndx").write_text("".join(lines), encoding="ascii")
    files = "-n", of.folder / "groups.ndx", "-o", of.folder / "atoms.out"
    theirs = ANGSTROM * of.gmx("mindist", *files, "-od", typed="0\n1\n")[:, 1]
    return tj.min_distance(*groups).values, theirs


@row("φ and ψ of ADK", "MDAnalysis `Ramachandran`", "degrees")
def _dihedral_angles(of: Systems) -> Compared:
    found = dihedrals.Ramachandran(of.adk_mda.select_atoms("protein")).run().results.angles
    ours = tj.dihedrals(of.adk.select("protein")).values
    difference = (ours - found.reshape(len(ours), -1) + 180) % 360 - 180
    return difference, np.zeros_like(difference)


@row("native contacts of ADK, hard", "MDAnalysis `Contacts`", "")
def _native_contacts(of: Systems) -> Compared:
    texts = "name CA and resid 1:100", "name CA and resid 101:214"
    groups = tuple(of.adk_mda.select_atoms(text) for text in texts)
    theirs = contacts.Contacts(of.adk_mda, select=texts, refgroup=groups, radius=8.0, pbc=False)
    ours = tj.native_contacts(
        of.adk.select(texts[0]), texts[1], cutoff=8.0, method="hard", factor=1.0
    )
    return ours.values, theirs.run().results.timeseries[:, 1]


@row("hydrogen bonds of solvated ADK: number in each frame", "MDAnalysis", "")
def _hydrogen_bonds(of: Systems) -> Compared:
    theirs = HydrogenBondAnalysis(
        of.wet_mda,
        donors_sel="protein and (name N* or name O*)",
        hydrogens_sel="protein and name H*",
        acceptors_sel="protein and (name N* or name O*)",
    ).run(stop=of.frames)
    ours = tj.hbonds(of.wet.select("protein"), frames=slice(of.frames))
    return ours.values, theirs.count_by_time()


@row("classes of secondary structure of ADK (1 if they differ)", "mdtraj `compute_dssp`", "")
def _dssp(of: Systems) -> Compared:
    import mdtraj

    theirs = mdtraj.compute_dssp(of.adk_mdtraj, simplified=False)
    ours = tj.dssp(of.adk.select("protein")).values
    return ours != np.where(theirs == " ", "-", theirs), np.zeros(ours.shape)


@row("surface area of ADK, as a part of the whole", "mdtraj `shrake_rupley`", "")
def _sasa(of: Systems) -> Compared:
    import mdtraj

    # Frame by frame: of several frames at once, mdtraj 1.11.1 has others for the second.
    theirs = [mdtraj.shrake_rupley(of.adk_mdtraj[k]).sum() for k in range(of.frames)]
    ours = tj.sasa(of.adk.select("protein"), frames=slice(of.frames)).values
    return ours / (ANGSTROM**2 * np.array(theirs, np.float64)), np.ones(len(ours))


@row(
    "variances of principal components of ADK's C-alpha, as a part of the largest",
    "MDAnalysis `PCA`",
    "",
)
def _principal_components(of: Systems) -> Compared:
    theirs = pca.PCA(of.adk_mda, select="name CA", align=True).run().results.variance
    ours = tj.pca(of.adk.select("name CA"), reference=0).variances
    count = min(len(ours), 20)
    return ours[:count] / ours[0], np.array(theirs[:count]) / ours[0]


@row("RDF of water: pairs in a bin, as a part of all", "MDAnalysis `InterRDF`", "")
def _radial(of: Systems) -> Compared:
    water = of.wet_mda.select_atoms("name OW")
    theirs = rdf.InterRDF(water, water, nbins=75, range=(0, 15), exclusion_block=(1, 1))
    counts = theirs.run(stop=1).results.count
    ours = tj.rdf(of.wet.select("name OW"), frames=[0]).counts
    return ours / counts.sum(), counts / counts.sum()


@row("mean squared displacement of ADK's C-alpha", "MDAnalysis `EinsteinMSD`", "Å²")
def _displacements(of: Systems) -> Compared:
    theirs = msd.EinsteinMSD(of.adk_mda, select="name CA", fft=False).run().results.timeseries
    ours = tj.msd(of.adk.select("name CA"), unwrapped=True, weights="equal")
    return ours.values, theirs[: len(ours.values)]


@row("centres of mass of residues of ADK", "MDAnalysis `center_of_mass`", "Å")
def _centers(of: Systems) -> Compared:
    protein = of.adk_mda.select_atoms("protein")
    theirs = [protein.center_of_mass(compound="residues") for _ in of.adk_mda.trajectory]
    return tj.centers(of.adk.select("protein"), by="residue").values, theirs


@row("mass density of cobrotoxin along x in a cube", "MDAnalysis `LinearDensity`", "g/cm³")
def _linear_density(of: Systems) -> Compared:
    files = datafiles.PDB_sub_sol, datafiles.TRR_sub_sol
    universe = mda.Universe(*files)
    universe.add_TopologyAttr("charges", np.zeros(len(universe.atoms)))
    theirs = LinearDensity(
        universe.select_atoms("protein"), binsize=universe.dimensions[:3].max() / 20.5
    )
    profile = theirs.run(stop=1).results.x.mass_density
    atoms = tj.open(*files, sidecar=False).select("protein")
    ours = tj.linear_density(atoms, axis="x", bins=len(profile), frames=[0])
    return ours.values, profile


@row("density of water along z, by mass", "`gmx density`", "g/cm³")
def _linear_density_gmx(of: Systems) -> Compared:
    theirs = of.gmx("density", "-d", "Z", "-sl", 50, "-o", typed="SOL\n")[:, 1] / 1000
    water = of.wet.select("resname SOL")
    return tj.linear_density(water, axis="z", bins=50).values, theirs


def missing(one: Row) -> bool:
    """Return whether the peer of a row is not there."""
    if "gmx" in one.peer:
        return shutil.which("gmx") is None
    return "mdtraj" in one.peer and importlib.util.find_spec("mdtraj") is None


def measured(one: Row, systems: Systems) -> tuple[int, float]:
    """Return how many numbers a row compares, and their largest difference."""
    ours, theirs = (np.asarray(side, np.float64) for side in one.compare(systems))
    if ours.shape != theirs.shape or not ours.size:
        raise SystemExit(f"{one.name}: {ours.shape} and {theirs.shape} numbers")
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        raise SystemExit(f"{one.name}: other numbers are NaN")
    return ours.size, float(np.nanmax(np.abs(ours - theirs)))


@contextmanager
def temporary(frames: int) -> Iterator[Systems]:
    """Give the systems, with a folder that is removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        yield Systems(Path(folder), frames)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in ROWS], metavar="ROW")
    parser.add_argument("--frames", type=int, default=3, help="frames of slow peers")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| row | quantity | against | numbers | largest difference |\n|---|---|---|---|---|")
    with temporary(asked.frames) as systems:
        for one in ROWS:
            if asked.only and one.name not in asked.only:
                continue
            if missing(one):
                print(f"left out, since it is not installed: {one.peer} ({one.name})")
                continue
            count, largest = measured(one, systems)
            difference = f"{largest:.2g} {one.unit}".rstrip()
            cells = (f"`{one.name}`", one.quantity, one.peer, f"{count:,}", difference)
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
