"""Made systems that are broken over the box, of which the unbroken positions are known."""

from dataclasses import dataclass
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import trajet as tj
from MDAnalysisTests import datafiles

from helpers import plain_geometry as plain

# Digits of XTC files, 0.01 Å, and rounding of lattice vectors.
XTC_ERROR = 0.02
N_FRAMES = 24


@dataclass(frozen=True)
class PeriodicSystem:
    """A made system.

    Attributes
    ----------
    topology
        PDB file with the bonds.
    path
        Trajectory whose atoms are wrapped one by one.
    unbroken
        Positions before they were wrapped, (n_frames, n_atoms, 3), Å.
    vectors
        Box vectors, (n_frames, 3, 3), Å.
    bonds
        (n_bonds, 2).
    molecules
        Number of the molecule of each atom.
    """

    topology: Path
    path: Path
    unbroken: np.ndarray
    vectors: np.ndarray
    bonds: np.ndarray
    molecules: np.ndarray

    def open(self) -> tj.Trajectory:
        """Open the trajectory."""
        return tj.open(self.topology, self.path)

    def load(self) -> mda.Universe:
        """Load the system with MDAnalysis; masses are guessed from elements."""
        return mda.Universe(str(self.topology), str(self.path))


def _walk(rng: np.random.Generator, n: int, step: float, along: np.ndarray | None) -> np.ndarray:
    """Return a chain of `n` atoms with bonds of `step`, curled or along a vector."""
    steps = rng.normal(0, 1, (n, 3)) * (0.25 if along is not None else 1)
    if along is not None:
        steps += along
    steps *= step / np.linalg.norm(steps, axis=1, keepdims=True)
    return np.cumsum(steps, 0)


def _chain_bonds(n: int) -> np.ndarray:
    return np.stack([np.arange(n - 1), np.arange(1, n)], 1)


def _water() -> np.ndarray:
    return np.array([[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]])


# A molecule: name of its residue, positions, bonds, where it is at first.
Molecule = tuple[str, np.ndarray, np.ndarray, np.ndarray]


def _chains(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a dimer whose chains are on either side of a border, with ions and water."""
    corner = 0.02 * vectors.sum(0)
    found: list[Molecule] = [
        ("ALA", _walk(rng, 30, 1.5, None), _chain_bonds(30), corner),
        ("GLY", _walk(rng, 24, 1.5, None), _chain_bonds(24), corner - np.array([9.0, 0, 3])),
    ]
    one = np.zeros((1, 3))
    places = rng.uniform(0, 1, (40, 3)) @ vectors
    found += [("NA", one, np.empty((0, 2), int), place) for place in places[:10]]
    bonds = np.array([[0, 1], [0, 2]])
    found += [("HOH", _water(), bonds, place) for place in places[10:]]
    return found


def _membrane(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a patch of two layers, the lower of which crosses the lower face of the box."""
    found: list[Molecule] = []
    for k in range(32):
        up = np.array([0, 0, 1.0 if k % 2 else -1.0])
        place = np.array([(k // 2 % 4) / 4, (k // 8) / 4, 0]) @ vectors + 2 * up
        found.append(("POP", _walk(rng, 10, 1.5, 1.5 * up), _chain_bonds(10), place))
    return found


def _polymer(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a chain that is longer than the box, and ions."""
    along = np.array([1.0, 0.4, 0.2])
    found: list[Molecule] = [("ETH", _walk(rng, 70, 1.5, along), _chain_bonds(70), vectors.sum(0))]
    places = rng.uniform(0, 1, (5, 3)) @ vectors
    return found + [("NA", np.zeros((1, 3)), np.empty((0, 2), int), place) for place in places]


def _endless(_: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a chain that is bonded to its own image, a ring that is not, and water."""
    n = 24
    x = np.arange(n)[:, None] / n * vectors[0]
    angle = np.arange(6) * np.pi / 3
    ring = 1.5 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    close = np.array([[0, 5]])
    middle = 0.5 * vectors.sum(0)
    bonds = np.array([[0, 1], [0, 2]])
    return [
        ("CNT", x, np.concatenate([_chain_bonds(n), [[0, n - 1]]]), middle),
        ("BEN", ring, np.concatenate([_chain_bonds(6), close]), np.zeros(3)),
        ("HOH", _water(), bonds, vectors.sum(0) - 0.3),
    ]


def _branched(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a tree of chains that together reach over more than half of the box, and water."""
    arms, n = 5, 16
    places, bonds = [np.zeros((1, 3))], []
    for arm in range(arms):
        along = rng.normal(0, 1, 3)
        # An arm grows from the first atom, or from the middle of the arm before it.
        root = 0 if arm < 2 else 1 + (arm - 1) * n + n // 2
        first = 1 + arm * n
        origin = np.concatenate(places)[root]
        places.append(origin + _walk(rng, n, 1.5, 2 * along / np.linalg.norm(along)))
        bonds += [np.array([[root, first]]), _chain_bonds(n) + first]
    tree = ("PAM", np.concatenate(places), np.concatenate(bonds), 0.9 * vectors.sum(0))
    return [tree, *_waters(rng, vectors)[:20]]


def _ligand(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    """Return a protein at a face of the box, a ligand beyond that face, and water."""
    protein = ("ALA", _walk(rng, 60, 1.5, None), _chain_bonds(60), 0.5 * (vectors[1] + vectors[2]))
    angle = np.arange(6) * np.pi / 3
    ring = 1.4 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    bonds = np.concatenate([_chain_bonds(6), [[0, 5]]])
    place = protein[1].mean(0) + protein[3] - np.array([6.0, 0, 0])
    return [protein, ("LIG", ring, bonds, place), *_waters(rng, vectors)[:30]]


def _waters(rng: np.random.Generator, vectors: np.ndarray) -> list[Molecule]:
    bonds = np.array([[0, 1], [0, 2]])
    places = rng.uniform(0, 1, (150, 3)) @ vectors
    return [("HOH", _water(), bonds, place) for place in places]


# Builder, cell, largest step of a molecule from frame to frame (Å), change of the cell per frame.
_SYSTEMS = {
    "chains": (_chains, (36.0, 36, 36, 60, 60, 90), 6.0, 0.0),
    "membrane": (_membrane, (40.0, 44, 60, 90, 90, 90), 3.0, 0.0),
    "polymer": (_polymer, (50.0, 52, 48, 85, 95, 100), 6.0, 0.0),
    "npt": (_chains, (38.0, 36, 34, 75, 100, 110), 5.0, 0.004),
    "octahedron": (_chains, (38.0, 38, 38, 70.53, 109.47, 70.53), 6.0, 0.002),
    "hexagonal": (_membrane, (40.0, 40, 60, 90, 90, 120), 3.0, 0.002),
    "branched": (_branched, (40.0, 38, 44, 65, 80, 75), 5.0, 0.0),
    "ligand": (_ligand, (42.0, 40, 38, 90, 105, 90), 5.0, 0.003),
    "endless": (_endless, (36.0, 30, 33, 90, 90, 90), 3.0, 0.0),
    "water": (_waters, (30.0, 30, 30, 90, 90, 90), 6.0, 0.0),
}
NAMES = sorted(_SYSTEMS)


def make_system(name: str, folder: Path, ending: str = "xtc") -> PeriodicSystem:
    """Write a system of `NAMES`."""
    build, cell, speed, growth = _SYSTEMS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    first = plain.cell_vectors(np.array(cell, float))
    parts = build(rng, first)
    sizes = [len(positions) for _, positions, _, _ in parts]
    n_atoms = sum(sizes)
    molecules = np.repeat(np.arange(len(parts)), sizes)
    begins = np.cumsum([0, *sizes[:-1]])
    pairs = zip(parts, begins, strict=True)
    bonds = np.concatenate([bonds.astype(int) + begin for (_, _, bonds, _), begin in pairs])
    start = np.concatenate([x + place for _, x, _, place in parts])
    velocity = rng.uniform(-1, 1, (len(parts), 3)) * speed / np.sqrt(3)
    if build is _endless:
        velocity[0] = 0
    if build in (_chains, _ligand):
        velocity[1] = velocity[0]
    frames = np.arange(N_FRAMES)[:, None, None]
    noise = rng.normal(0, 0.05, (N_FRAMES, n_atoms, 3))
    drift = frames * velocity[molecules] + noise
    # Molecules follow the cell by the drift of their centres, and keep their shapes.
    sway = 1 + growth * np.sin(np.arange(N_FRAMES))
    vectors = first[None] * sway[:, None, None]
    unbroken = start + drift
    fractions = np.einsum("fai,fij->faj", unbroken, np.linalg.inv(vectors))
    wrapped = np.einsum("fai,fij->faj", fractions % 1.0, vectors)
    names = [residue for residue, _, _, _ in parts]
    universe = mda.Universe.empty(
        n_atoms, len(parts), atom_resindex=molecules, trajectory=True, velocities=True
    )
    elements = np.where(np.isin(np.array(names)[molecules], ["NA"]), "NA", "C")
    for residue in ("HOH",):
        own = np.flatnonzero(np.array(names)[molecules] == residue)
        elements[own] = np.tile(["O", "H", "H"], len(own) // 3)
    universe.add_TopologyAttr("names", elements)
    universe.add_TopologyAttr("elements", [element.capitalize() for element in elements])
    universe.add_TopologyAttr("resnames", names)
    universe.add_TopologyAttr("resids", np.arange(1, len(parts) + 1))
    universe.add_TopologyAttr("bonds", [tuple(map(int, bond)) for bond in bonds])
    folder.mkdir(exist_ok=True, parents=True)
    topology, path = folder / f"{name}.pdb", folder / f"{name}.{ending}"
    with mda.Writer(str(path), n_atoms) as writer:
        for k in range(N_FRAMES):
            box = np.array(cell)
            box[:3] *= sway[k]
            universe.dimensions = box
            universe.atoms.positions = wrapped[k]
            universe.atoms.velocities = noise[k] * 20
            universe.trajectory.ts.time = 2.0 * k
            if k == 0:
                universe.atoms.write(str(topology), bonds="conect")
            writer.write(universe.atoms)
    return PeriodicSystem(topology, path, unbroken, vectors, bonds, molecules)


@dataclass(frozen=True)
class Solvated:
    """Adenylate kinase in water and ions, in a rhombic dodecahedron: 47,681 atoms, 10 frames."""

    topology: str = str(datafiles.TPR)
    path: str = str(datafiles.XTC)

    def load(self) -> mda.Universe:
        """Load the system with MDAnalysis."""
        return mda.Universe(self.topology, self.path)


def lattice_shifts(
    one: np.ndarray, other: np.ndarray, vectors: np.ndarray, error: float
) -> np.ndarray:
    """Return the integers (…, n_atoms, 3) of `one - other` in lattice vectors, which must be whole.

    `error` is the largest difference in Å from a lattice vector.
    """
    fractions = (one.astype(float) - other) @ np.linalg.inv(vectors)
    shifts = np.rint(fractions)
    rest = np.abs((fractions - shifts) @ vectors)
    assert rest.max() <= error, rest.max()
    return shifts.astype(int)


def assert_same_in_molecules(shifts: np.ndarray, molecules: np.ndarray) -> None:
    """Assert that the atoms of each molecule have the same shifts."""
    _, first, number = np.unique(molecules, return_index=True, return_inverse=True)
    assert np.array_equal(shifts, shifts[..., first, :][..., number, :])
