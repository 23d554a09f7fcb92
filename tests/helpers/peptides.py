"""Peptides with ligands and water, written plainly and as files split their residues.

`split` yields the same structure with further atoms, or with other segments: one residue with two
names, in turn or far apart, a ligand where water is, a segment on some atoms. A selection takes the
atoms of the plain structure, whose results are the same.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import trajet as tj
from numpy.typing import NDArray
from trajet.result import Table


class Row(NamedTuple):
    """An atom of a file."""

    name: str
    residue: str
    number: int
    x: tuple[float, float, float]
    chain: str = "A"
    location: str = " "
    segid: str = "PROA"

    def moved(self, by: tuple[float, float, float]) -> "Row":
        """Return the atom elsewhere."""
        return self._replace(x=tuple(np.add(self.x, by).tolist()))


# The residue that is split.
SPLIT = 7


def _placed(
    a: NDArray, b: NDArray, c: NDArray, length: float, angle: float, dihedral: float
) -> NDArray:
    """Return the position of an atom by its distance, angle and dihedral angle to three others."""
    theta, tau = np.radians(angle), np.radians(dihedral)
    u = (c - b) / np.linalg.norm(c - b)
    w = np.cross(b - a, u)
    w /= np.linalg.norm(w)
    v = np.cross(w, u)
    turned = np.cos(tau) * v + np.sin(tau) * w
    return c + length * (-np.cos(theta) * u + np.sin(theta) * turned)


def helix(n: int) -> list[Row]:
    """Return an ideal α-helix of alanine: N, H, CA, CB, C and O of each residue."""
    rows: list[Row] = []
    nitrogen, alpha = np.zeros(3), np.array([1.458, 0.0, 0.0])
    c = _placed(np.array([0.0, 1.0, 0.0]), nitrogen, alpha, 1.525, 111, -57)
    before = _placed(c, alpha, nitrogen, 1.329, 121.7, -57)
    for number in range(1, n + 1):
        atoms = {
            "N": nitrogen,
            "H": _placed(c, alpha, nitrogen, 1.01, 119, 123),
            "CA": alpha,
            "CB": _placed(before, nitrogen, alpha, 1.53, 110.5, 180 - 57 - 120 + 57),
            "C": c,
            "O": _placed(nitrogen, alpha, c, 1.231, 120.1, 133),
        }
        rows += [Row(name, "ALA", number, tuple(x.tolist())) for name, x in atoms.items()]
        following = _placed(nitrogen, alpha, c, 1.329, 116.6, -47)
        alpha_after = _placed(alpha, c, following, 1.458, 121.7, 180)
        before = c
        nitrogen, alpha, c = (
            following,
            alpha_after,
            _placed(c, following, alpha_after, 1.525, 111, -57),
        )
    return rows


def system() -> list[Row]:
    """Return two helices, a ligand, ions with numbers of residues, and water."""
    first = helix(14)
    second = [row.moved((12, 2, 0))._replace(chain="B", segid="PROB") for row in helix(9)]
    ligand = [
        Row(name, "LIG", 301, (4.0 + k, 9.0, 3.0 + k % 2), segid="LIGA")
        for k, name in enumerate(("C1", "C2", "O1"))
    ]
    ion = [Row("ZN", "ZN", 7, (-6.0, 5.0, 2.0), segid="IONS")]
    water = [
        Row("O", "HOH", 401 + k, (2.5 * k, -7.0, 4.0 + k % 3), chain="W", segid="WAT")
        for k in range(6)
    ]
    return [*first, *second, *ligand, *ion, *water]


def _other_residue(rows: list[Row], *, whole: bool) -> list[Row]:
    """Return THR at location B of the split residue, with a backbone of its own or without."""
    atoms = [row for row in rows if is_split(row) and (whole or row.name == "CB")]
    made = [row.moved((0.05, -0.04, 0.03))._replace(residue="THR", location="B") for row in atoms]
    last = made[-1]
    return [*made, last.moved((0.9, 0.9, 0.4))._replace(name="OG1")]


def is_split(row: Row) -> bool:
    """Return whether an atom is of the residue that is split."""
    return (row.chain, row.residue, row.number) == ("A", "ALA", SPLIT)


def _beside(rows: list[Row], *, whole: bool = True, in_turn: bool = False) -> list[Row]:
    """Return the atoms with THR behind or between those of the split residue."""
    others, made = _other_residue(rows, whole=whole), []
    for row in rows:
        if not is_split(row):
            made.append(row)
            continue
        located = whole or row.name == "CB"
        made.append(row._replace(location="A") if located else row)
        if in_turn:
            made.append(others.pop(0))
        if row.name == "O":
            made += others
    return made


def _far(rows: list[Row]) -> list[Row]:
    located = [row._replace(location="A") if is_split(row) else row for row in rows]
    return [*located, *_other_residue(rows, whole=True)]


def _water_and_ligand(rows: list[Row]) -> list[Row]:
    located = [row._replace(location="A") if row.residue == "LIG" else row for row in rows]
    return [*located, Row("O", "HOH", 301, (4.3, 9.1, 3.0), location="B", segid="LIGA")]


def _segids(segid_of: Callable[[Row], str]) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [
        row._replace(segid=segid_of(row)) if row.segid == "PROA" else row for row in rows
    ]


# Structures that are split, and the selection of the plain one; the first need locations, the last
# names of chains beside segments.
OF_LOCATIONS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "another residue follows": _beside,
    "another residue in turn": lambda rows: _beside(rows, in_turn=True),
    "another side chain": lambda rows: _beside(rows, whole=False),
    "another residue at the end": _far,
    "water for the ligand": _water_and_ligand,
}
OF_SEGMENTS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "some atoms lack a segment": _segids(
        lambda row: "" if is_split(row) and row.name in ("CA", "O") else "PROA"
    ),
    "most atoms lack a segment": _segids(
        lambda row: "PROA" if not is_split(row) or row.name == "N" else ""
    ),
}
OF_CHAINS: dict[str, Callable[[list[Row]], list[Row]]] = {
    "a residue lacks a segment": _segids(lambda row: "" if is_split(row) else "PROA"),
    "the segment changes": _segids(lambda row: "N" if row.number < SPLIT else "C"),
    "the segment changes within a residue": _segids(
        lambda row: "N" if row.number < SPLIT or (is_split(row) and row.name == "N") else "C"
    ),
}


def write_pdb(path: Path, rows: list[Row]) -> Path:
    """Write a PDB file; returns its path."""
    with path.open("w") as out:
        for i, row in enumerate(rows, 1):
            x, y, z = row.x
            element = "ZN" if row.name == "ZN" else row.name[0]
            out.write(
                f"ATOM  {i:5d}  {row.name:<3s}{row.location}{row.residue:>3s} {row.chain}"
                f"{row.number:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00      {row.segid:<4s}"
                f"{element:>2s}\n"
            )
        out.write("END\n")
    return path


def write_mmcif(path: Path, rows: list[Row]) -> Path:
    """Write an mmCIF file, which has no segments."""
    items = "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id auth_asym_id"
    items += " auth_seq_id Cartn_x Cartn_y Cartn_z"
    lines = ["data_made", "loop_", *(f"_atom_site.{item}" for item in items.split())]
    for i, row in enumerate(rows, 1):
        element = "ZN" if row.name == "ZN" else row.name[0]
        location = row.location.replace(" ", ".")
        x, y, z = row.x
        lines.append(
            f"ATOM {i} {element} {row.name} {location} {row.residue} {row.chain} {row.number}"
            f" {x:.3f} {y:.3f} {z:.3f}"
        )
    path.write_text("\n".join([*lines, "#", ""]))
    return path


def write_gro(path: Path, rows: list[Row]) -> Path:
    """Write a GRO file, which has neither chains nor segments nor locations."""
    lines = ["made", f"{len(rows):5d}"]
    for i, row in enumerate(rows, 1):
        x, y, z = np.array(row.x) / 10
        lines.append(
            f"{row.number:5d}{row.residue:<5s}{row.name:>5s}{i:5d}{x:8.3f}{y:8.3f}{z:8.3f}"
        )
    path.write_text("\n".join([*lines, "   0.00000   0.00000   0.00000", ""]))
    return path


def bonds_of(rows: list[Row]) -> list[tuple[int, int]]:
    """Return the bonds of the peptides."""
    within = [("N", "H"), ("N", "CA"), ("CA", "CB"), ("CA", "C"), ("C", "O"), ("CB", "OG1")]
    atoms: dict[tuple[str, int], list[tuple[str, str, int]]] = {}
    for i, row in enumerate(rows):
        atoms.setdefault((row.chain, row.number), []).append((row.residue, row.name, i))
    bonds = []
    for (chain, number), here in atoms.items():
        bonds += [
            (a, b)
            for one, first, a in here
            for other, second, b in here
            if one == other and (first, second) in within
        ]
        after = atoms.get((chain, number + 1), [])
        bonds += [(a, b) for _, c, a in here for _, n, b in after if (c, n) == ("C", "N")]
    return bonds


def write_psf(path: Path, rows: list[Row], more_bonds: list[tuple[int, int]] | None = None) -> Path:
    """Write a PSF file, which has neither chains nor locations."""
    masses = {"N": 14.007, "H": 1.008, "C": 12.011, "O": 15.999, "S": 32.06, "Z": 65.38}
    lines = ["PSF", "", "       1 !NTITLE", " REMARKS made", "", f"{len(rows):8d} !NATOM"]
    for i, row in enumerate(rows, 1):
        lines.append(
            f"{i:8d} {row.segid:<4s} {row.number:<4d} {row.residue:<4s} {row.name:<4s}"
            f" {row.name:<4s} {0.0:10.6f}     {masses[row.name[0]]:9.4f}  {0:10d}"
        )
    bonds = [*bonds_of(rows), *(more_bonds or [])]
    lines += ["", f"{len(bonds):8d} !NBOND: bonds"]
    lines += [f"{one + 1:8d}{other + 1:8d}" for one, other in bonds]
    path.write_text("\n".join([*lines, ""]))
    return path


WRITERS: dict[str, Callable[[Path, list[Row]], Path]] = {
    "pdb": write_pdb,
    "cif": write_mmcif,
    "gro": write_gro,
    "psf": write_psf,
}


def write_frames(path: Path, rows: list[Row], plain: list[Row]) -> Path:
    """Write frames, in which the atoms of the plain structure are at the same positions."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.12, (6, len(plain), 3))
    key = [(row.name, row.residue, row.number, row.chain) for row in plain]
    at = {one: k for k, one in enumerate(key)}
    positions = np.tile(np.array([row.x for row in rows]), (len(noise), 1, 1))
    for k, row in enumerate(rows):
        if (found := at.get((row.name, row.residue, row.number, row.chain))) is not None:
            positions[:, k] += noise[:, found]
    tj.write(path, positions.astype(np.float32), cells=[60, 60, 60, 90, 90, 90])
    return path


def results(traj: tj.Trajectory, text: str) -> Iterator[tuple[str, Table]]:
    """Yield names and results of all analyses of selected atoms, by residue where they can."""
    chosen = _numbered(traj, text)
    protein = _numbered(traj, f"protein and ({text})")
    first, second = (_numbered(traj, f"{text} and resname ALA and {half}") for half in _HALVES)
    others = _numbered(traj, f"{text} and not protein")
    yield "apply", tj.apply(chosen, lambda positions: positions.sum(axis=0))
    centers = {"by": "residue", "weights": "equal"}
    yield "center_distances", tj.center_distances(protein, **centers)
    yield "centers", tj.centers(chosen, **centers)
    yield "cluster_rmsd", tj.cluster_rmsd(protein, cutoff=0.25)
    yield "contact_map", tj.contact_map(chosen, exclude_neighbors=2, cutoff=6.0)
    yield "contact_map of groups", tj.contact_map(chosen, protein, cutoff=6.0)
    yield "contacts", tj.contacts(protein, others, cutoff=6.0)
    yield "coordination", tj.coordination(protein, others, cutoff=6.0)
    yield "correlation_map", tj.correlation_map(protein)
    yield "count", tj.count(traj.select(f"({text}) and around 9 name ZN", updating=True))
    yield "density", tj.density(chosen, spacing=4.0, grid_center=[4, 3, 8], grid_size=30.0)
    yield "dihedrals", tj.dihedrals(chosen)
    yield "distances", tj.distances(first, second)
    yield "dssp", tj.dssp(protein)
    yield "end_to_end", tj.end_to_end(protein, by="chain")
    yield "gyration", tj.gyration(chosen, weights="equal")
    yield "gyration_moments", tj.gyration_moments(chosen, weights="equal")
    yield "min_distance", tj.min_distance(first, second)
    yield "hbonds", tj.hbonds(protein, by="residue", guess_bonds=traj.topology.bonds is None)
    yield "interactions", tj.interactions(protein, kinds=["vdw"], chemistry=_chemistry(protein))
    yield "linear_density", tj.linear_density(chosen, quantity="number")
    yield "msd", tj.msd(chosen)
    yield "rdf", tj.rdf(chosen, range=(0, 8))
    yield "rdf_pairs", tj.rdf_pairs([(protein, chosen)], range=(0, 8), exclude="residue")
    yield "native_contacts", tj.native_contacts(protein, cutoff=6.0)
    alphas = _numbered(traj, f"{text} and name CA")
    yield "native_contacts of CA", tj.native_contacts(alphas, cutoff=9.0, exclude_neighbors=3)
    yield "pairwise_rmsd", tj.pairwise_rmsd(protein)
    yield "pca", tj.pca(protein)
    yield "rmsd", tj.rmsd(protein)
    yield "rmsf", tj.rmsf(protein, align=protein)
    yield "sasa", tj.sasa(chosen, by="residue")
    near = traj.select(f"({text}) and around 9 name ZN", updating=True)
    yield "survival", tj.survival(near)
    yield "features", tj.features([tj.dihedrals.job(protein)])


def _chemistry(atoms: tj.Selection) -> tj.Chemistry:
    """Return radii alone: the peptides lack the hydrogens from which charges would follow."""
    topology, none = atoms.trajectory.topology, np.zeros((0, 2), np.uint32)
    n, residues = len(atoms.indices), topology.atoms_residues[atoms.indices]
    return tj.Chemistry(
        atoms=atoms.indices,
        roles=np.zeros(n, np.uint16),
        formal_charges=np.zeros(n, np.int8),
        radii=np.full(n, 1.7, np.float32),
        residues=residues.astype(np.uint32),
        hydrogens=none,
        neighbours=none,
        ring_starts=np.zeros(1, np.uint32),
        ring_atoms=np.zeros(0, np.uint32),
        names=("X",) * n,
        labels={k: str(k) for k in residues.tolist()},
    )


def _numbered(traj: tj.Trajectory, text: str) -> tj.Selection:
    """Return selected atoms by number, so that results do not have the text."""
    return traj.select(traj.select(text).indices)


_HALVES = ("resid 1:7", "resid 8:14")
