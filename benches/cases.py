"""The timed cases: a file, a task, how each program does it, and the speed that trajet should have.

The files are those of `trajectories.py`. Tasks are "read", "copy" and the analyses of `ANALYSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NM = 10.0  # Å
CUTOFF = 4.5  # Å, of contacts
OTHER = "resid 45:214"  # the second group, which no bonds connect to the first
# Kinds of interactions that both define in the same way, with their names in ProLIF.
KINDS = {
    "hydrophobic": "Hydrophobic",
    "hbond-donor": "HBDonor",
    "hbond-acceptor": "HBAcceptor",
    "anionic": "Anionic",
    "cationic": "Cationic",
    "cation-pi": "CationPi",
    "pi-cation": "PiCation",
    "metal-donor": "MetalDonor",
    "metal-acceptor": "MetalAcceptor",
    "vdw": "VdWContact",
}


class MismatchError(Exception):
    """A program does not read or compute the expected values, so that nothing can be timed."""


@dataclass(frozen=True)
class Way:
    """How a program does an analysis.

    `prepare` takes an opened case (the classes of `peers.py`) and returns the call that is timed;
    `values` takes the result of that call and returns numbers, outside the clock.
    """

    prepare: Callable[[Any], Callable[[], Any]]
    values: Callable[[Any], Any]


@dataclass(frozen=True)
class Analysis:
    """An analysis of several programs: the table below.

    `allowed` is by how much values may differ from the expected ones, those of MDAnalysis or else
    of mdtraj or ProLIF, which round positions or distances to float32. A function takes these.
    """

    quantity: str
    unit: str
    allowed: float | Callable[[Any], Any]
    ways: dict[str, Way]

    def by(
        self, tool: str, prepare: Callable[[Any], Any], values: Callable[[Any], Any] = np.asarray
    ) -> None:
        """Add a program."""
        self.ways[tool] = Way(prepare, values)

    def ours(self, name: str, *arguments: Any, **options: Any) -> None:
        """Add a call of trajet whose result has `values`."""
        self.by("trajet", lambda t: t.call(name, *arguments, **options), lambda r: r.values)


@dataclass(frozen=True)
class Case:
    """A task on a file: of a selection, in the first `n_frames` frames, or all.

    `targets` has the required speed of trajet with `target_threads`, as a multiple of the speed of
    each program. A copy goes to a file that ends in `output`.
    """

    name: str
    topology: Path
    trajectory: Path
    selection: str | None
    task: str = "read"
    targets: Mapping[str, float] = field(default_factory=dict)
    target_threads: int = 1
    n_frames: int | None = None
    max_rounds: int = 100
    output: str = ""


@dataclass
class Truth:
    """Expected values of a case.

    `positions` (float32, Å) are those of the selected atoms in `frames`; `values` are those of the
    analysis, and `fours` the atoms of dihedral angles.
    """

    n_frames: int
    n_atoms: int
    indices: NDArray[np.int64]
    frames: list[int]
    positions: NDArray[np.float32]
    values: NDArray[np.float64] | None
    fours: NDArray[np.int64] | None


ANALYSES: dict[str, Analysis] = {}


def analysis(
    task: str, quantity: str, unit: str, allowed: float | Callable[[Any], Any]
) -> Analysis:
    """Add an analysis to the table."""
    return ANALYSES.setdefault(task, Analysis(quantity, unit, allowed, {}))


def relative(part: float) -> Callable[[Any], Any]:
    """Return the rule that values may differ by a part of the largest."""
    return lambda theirs: part * np.nanmax(np.abs(theirs))


def angstrom(nm: Any) -> Any:
    """Return lengths of nm in Å."""
    return NM * np.asarray(nm)


def cos_sin(angles: Any) -> Any:
    """Return cosines and sines of angles (radians), `(n_frames, 2 n_angles)`."""
    return np.stack((np.cos(angles), np.sin(angles)), axis=-1).reshape(len(angles), -1)


def letters(classes: Any) -> Any:
    """Return one-letter classes as numbers."""
    return np.where(classes == " ", "-", classes).astype("U1").view(np.uint32)


def off_diagonal(matrix: Any) -> Any:
    """Return a matrix of RMSDs without those between equal frames, which float32 rounds."""
    return np.where(np.asarray(matrix) > 0.1, matrix, 0.0)


def all_pairs(d: Any) -> Callable[[], Any]:
    """Return mdtraj's RMSDs of all pairs of frames."""

    def matrix(frames: Any) -> Any:
        frames.center_coordinates()
        return [d.mdtraj.rmsd(frames, frames, k, precentered=True) for k in range(len(frames))]

    return d.all(matrix)


def surface(d: Any) -> Callable[[], Any]:
    """Return mdtraj's areas frame by frame: of several, its 1.11.1 has others for the second."""
    areas = d.mdtraj.shrake_rupley
    return d.each(lambda block: np.concatenate([areas(frame) for frame in block]), topology=True)


def hydrogen_bonds(m: Any) -> Callable[[], Any]:
    """Return MDAnalysis' numbers of hydrogen bonds."""
    heavy, module = "element N O", "hydrogenbonds"
    how = {"donors_sel": heavy, "hydrogens_sel": "element H", "acceptors_sel": heavy}
    run = m.run(module, "HydrogenBondAnalysis", m.universe, update_selections=False, **how)
    return lambda: np.bincount(run().hbonds[:, 0].astype(int), minlength=m.stop)


def fingerprint(p: Any) -> Callable[[], Any]:
    """Return ProLIF's bits of the group and the other one, of `KINDS`."""
    frames = p.universe.trajectory[: p.stop]
    other = p.universe.select_atoms(OTHER)
    made = p.prolif.Fingerprint(list(KINDS.values()))
    run = partial(made.run, frames, p.atoms, other, n_jobs=1, progress=False)
    return lambda: run().ifp


def numbers_of_bits(ifp: Any) -> Any:
    """Return numbers of pairs by frame and kind, `(n_frames, n_kinds)`."""
    pairs = [[name for kinds in bits.values() for name in kinds] for bits in ifp.values()]
    return np.array([[names.count(kind) for kind in KINDS.values()] for names in pairs])


def our_interactions(t: Any) -> Callable[[], Any]:
    """Return trajet's interactions, with the chemistry found before."""
    words = ("hydrophobic", "hbond", "ionic", "cation-pi", "metal", "vdw")
    return t.call("interactions", OTHER, kinds=words, chemistry=t.tj.chemistry(t.traj.all_atoms()))


def contacts_of_residues(m: Any) -> Callable[[], Any]:
    """Return how often each residue of the group touches each of the other one."""
    other = m.universe.select_atoms(OTHER)
    numbers = [group.resindices - group.resindices[0] for group in (m.atoms, other)]
    near = m.distances("capped_distance", **CAPPED)
    shape = [group.n_residues for group in (m.atoms, other)]

    def found() -> Any:
        rows, columns = near(configuration=other.positions).T
        table = np.zeros(shape)
        table[numbers[0][rows], numbers[1][columns]] = 1
        return table

    return lambda: np.mean(m.each(found)(), axis=0)


def gmx_rms(g: Any) -> Callable[[], Any]:
    """Return `gmx rms` with equal weights, from the first frame."""
    structure = g.case.topology.absolute().with_name("adk0.gro")
    files = ("-s", structure, "-f", g.case.trajectory.absolute(), "-n", "atoms.ndx")
    how = ("-o", "rmsd.xvg", "-fit", "rot+trans", "-nomw", "-nopbc", "-xvg", "none")
    return g.rmsd("-quiet", "rms", *files, *how, typed="0 0\n")


def cpptraj_rms(c: Any) -> Callable[[], Any]:
    """Return cpptraj's `rms` from the first frame."""
    atoms = ",".join(map(str, c.atoms))
    files = f"parm {c.case.topology.absolute()}\ntrajin {c.case.trajectory.absolute()}\n"
    return c.rmsd(typed=f"{files}rms first @{atoms} out rmsd.xvg prec 12.6\nrun\n")


# In each row: how a program is called, and how its values are got from the result.
row = analysis("rmsd", "RMSD after superposition", "Å", 1e-3)
row.ours("rmsd")
row.by(
    "MDAnalysis",
    lambda m: m.run("rms", "RMSD", m.universe, select=m.case.selection),
    lambda results: results.rmsd[:, 2],
)
row.by("mdtraj", lambda d: d.rmsd(), angstrom)
row.by("gmx", gmx_rms, lambda path: angstrom(np.loadtxt(path)[:, 1]))
row.by("cpptraj", cpptraj_rms, lambda path: np.loadtxt(path)[:, 1])

row = analysis("rmsf", "RMSF", "Å", 1e-3)
row.ours("rmsf")
row.by("MDAnalysis", lambda m: m.run("rms", "RMSF", m.atoms), lambda results: results.rmsf)

row = analysis("dihedrals", "cosines and sines of φ and ψ", "", 1e-3)
# The angles are selected before, as MDAnalysis' groups are.
row.by("trajet", lambda t: t.call("dihedrals", t.fours, sin_cos=True), lambda r: r.values)
row.by(
    "MDAnalysis",
    lambda m: m.run("dihedrals", "Dihedral", m.backbone()),
    lambda results: cos_sin(np.radians(results.angles)),
)
row.by("mdtraj", lambda d: d.call("compute_dihedrals", d.fours, periodic=False), cos_sin)

row = analysis("distances", "distances of all pairs", "Å", 1e-3)
row.ours("distances")
row.by("MDAnalysis", lambda m: m.all_pairs())
row.by("mdtraj", lambda d: d.call("compute_distances", d.pairs, periodic=False), angstrom)

# A pair within rounding of a bin's edge may be in the next bin, in both orders.
row = analysis("rdf", "pairs in bins of the RDF", "", lambda theirs: 2 + 1e-4 * theirs)
row.by("trajet", lambda t: t.call("rdf", bins=75, range=(0, 15)), lambda r: r.counts)
# Without the exclusion, each atom is counted with itself.
RDF = {"nbins": 75, "range": (0.0, 15.0), "exclusion_block": (1, 1)}
row.by("MDAnalysis", lambda m: m.run("rdf", "InterRDF", m.atoms, m.atoms, **RDF), lambda r: r.count)

row = analysis("gyration", "radius of gyration", "Å", 1e-3)
row.ours("gyration")
row.by("MDAnalysis", lambda m: m.each(m.atoms.radius_of_gyration))

row = analysis("centers", "centres of mass of residues", "Å", 1e-3)
row.ours("centers")
row.by("MDAnalysis", lambda m: m.each(partial(m.atoms.center_of_mass, compound="residues")))

row = analysis("contacts", "number of contacts", "", 3)  # pairs at the cutoff
row.ours("contacts", cutoff=CUTOFF)
CAPPED = {"max_cutoff": CUTOFF, "return_distances": False}
row.by("MDAnalysis", lambda m: m.each(m.distances("self_capped_distance", **CAPPED), len))

row = analysis("contact_map", "fraction of frames with contacts", "", 0.05)  # pairs at the cutoff
row.ours("contact_map", OTHER, cutoff=CUTOFF)
row.by("MDAnalysis", contacts_of_residues)

row = analysis("interactions", "pairs of residues that interact", "", 2)  # pairs at a limit
row.by("trajet", our_interactions, lambda r: r.values[:, [r.columns.index(k) for k in KINDS]])
row.by("ProLIF", fingerprint, numbers_of_bits)

row = analysis("pairwise_rmsd", "RMSD of all pairs of frames", "Å", 2e-3)
row.by("trajet", lambda t: t.call("pairwise_rmsd"), lambda r: off_diagonal(r.values))
row.by("mdtraj", all_pairs, lambda nm: off_diagonal(angstrom(nm)))

row = analysis("sasa", "surface area, 960 points", "Å²", relative(1e-4))
row.ours("sasa")
row.by("mdtraj", surface, lambda areas: NM**2 * areas.sum(axis=1, dtype=np.float64))

row = analysis("dssp", "classes of secondary structure", "", 0)
row.by("trajet", lambda t: t.call("dssp"), lambda r: letters(r.values))
row.by("mdtraj", lambda d: d.call("compute_dssp", topology=True, simplified=False), letters)

row = analysis("pca", "variances of ten principal components", "Å²", relative(1e-5))
row.by("trajet", lambda t: t.call("pca", reference=0), lambda r: r.variances[:10])
row.by(
    "MDAnalysis",
    lambda m: m.run("pca", "PCA", m.universe, select=m.case.selection, align=True),
    lambda results: results.variance[:10],
)

row = analysis("msd", "mean squared displacement", "Å²", relative(1e-4))
row.ours("msd", unwrapped=True, weights="equal")
FFT = find_spec("tidynamics") is not None  # which MDAnalysis needs for it
row.by(
    "MDAnalysis",
    lambda m: m.run("msd", "EinsteinMSD", m.universe, select=m.case.selection, fft=FFT),
    lambda results: results.timeseries,
)

row = analysis("density", "number density on a grid of 1 Å", "1/Å³", relative(1e-4))
row.ours("density")
row.by(
    "MDAnalysis",
    lambda m: m.run("density", "DensityAnalysis", m.atoms, delta=1.0),
    lambda results: results.density.grid,
)

row = analysis("hbonds", "number of hydrogen bonds", "", 3)  # pairs at a limit
row.ours("hbonds")
row.by("MDAnalysis", hydrogen_bonds)


def all_cases(folder: Path, isa: str, *, quick: bool) -> list[Case]:
    """Return the cases of docs/performance.md, which read or analyse, and further analyses.

    `isa` is the instruction set that trajet uses: wider sets have higher targets.
    """
    psf, tpr = folder / "adk.psf", folder / "adk_oplsaa.tpr"
    adk = (psf, folder / ("adk10.xtc" if quick else "adk100.xtc"))
    solvated = (tpr, folder / f"solvated{'5' if quick else ''}.xtc")
    plain = "adk5" if quick else "adk25"
    trr, dcd, ncdf = ((psf, folder / f"{plain}.{suffix}") for suffix in ("trr", "dcd", "nc"))
    run = (psf, folder / ("adk_run1.xtc" if quick else "adk_run.xtc"))
    calpha, water = "name CA", "resname SOL and not name MW"
    whole = {
        "avx512": {"MDAnalysis": 6.0, "mdtraj": 5.0, "molly": 2.5},
        "avx2": {"MDAnalysis": 4.0},
    }.get(isa, {"MDAnalysis": 3.5})

    def read(name: str, files: tuple[Path, Path], selection: str | None, aim: float) -> Case:
        return Case(name, *files, selection, targets={"MDAnalysis": aim})

    def of(
        name: str,
        task: str,
        selection: str | None,
        aim: float | None,
        peer: str = "MDAnalysis",
        *,
        threads: int = 2,
        frames: int | None = None,
        rounds: int = 100,
    ) -> Case:
        files = adk if name.startswith("adk") else solvated
        targets = {} if aim is None else {peer: aim}
        return Case(name, *files, selection, task, targets, threads, frames, rounds)

    few = 100 if quick else 1000
    return [
        Case("adk-all", *adk, None, targets=whole),
        read("adk-calpha", adk, calpha, 10),
        Case("solvated-all", *solvated, None, targets=whole),
        read("solvated-protein", solvated, "protein", 25),
        read("trr-all", trr, None, 10),
        read("trr-calpha", trr, calpha, 10),
        read("dcd-all", dcd, None, 6),
        read("dcd-calpha", dcd, calpha, 6),
        read("ncdf-all", ncdf, None, 1),
        read("ncdf-calpha", ncdf, calpha, 1),
        of("adk-rmsd", "rmsd", calpha, 25),
        of("adk-rmsf", "rmsf", calpha, 3, threads=1),
        of("adk-dihedrals", "dihedrals", "protein", 8, threads=1),
        of("adk-distances", "distances", calpha, None, threads=1, frames=500),
        of(
            *("solvated-rdf", "rdf", "resname SOL and name OW", 50),
            threads=1,
            frames=1 if quick else 2,
            rounds=1 if quick else 3,
        ),
        # The page has the cases above.
        of("adk-gyration", "gyration", "protein", 10, frames=2 * few),
        of("adk-centers", "centers", "protein", 10, frames=few),
        of("solvated-centers", "centers", water, 10),
        of("adk-contacts", "contacts", None, 10, frames=few),
        of("adk-contact-map", "contact_map", "resid 1:30", None, threads=1, frames=few),
        of(
            *("adk-interactions", "interactions", "resid 1:30", None),
            threads=1,
            frames=2 if quick else 50,
            rounds=1 if quick else 2,
        ),
        of("adk-pairwise", "pairwise_rmsd", calpha, 3, "mdtraj", frames=few),
        of("adk-sasa", "sasa", "protein", 10, "mdtraj", frames=5, rounds=3),
        of("adk-dssp", "dssp", "protein", 5, "mdtraj", frames=few),
        of("adk-pca", "pca", calpha if quick else "backbone", 10, frames=few, rounds=2),
        Case("adk-msd", *run, calpha, "msd", {"MDAnalysis": 5}, 2, few),
        of("solvated-density", "density", "name OW", 10, frames=200),
        of("solvated-hbonds", "hbonds", None, 10, frames=2 if quick else 10, rounds=2),
    ]


N_ON_PAGE = 15


def all_copies(folder: Path, *, quick: bool) -> list[Case]:
    """Return the cases that write, with the required speed over every program on two threads."""
    files = (folder / "adk.psf", folder / ("adk_run1.xtc" if quick else "adk_run.xtc"))

    def copy(name: str, selection: str | None, output: str, aim: float) -> Case:
        peers = ("MDAnalysis", "mdtraj", *(["gmx"] if output == ".xtc" else []))
        aims = dict.fromkeys(peers, aim)
        return Case(name, *files, selection, "copy", aims, target_threads=2, output=output)

    return [
        copy("calpha-to-xtc", "name CA", ".xtc", 5),
        copy("adk-to-dcd", None, ".dcd", 2),
        copy("adk-to-ncdf", None, ".nc", 2),
        copy("adk-to-h5md", None, ".h5md", 2),
    ]
