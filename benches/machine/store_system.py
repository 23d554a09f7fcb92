"""A membrane protein in water, made up: what a viewer of one loads.

Not a simulation, but what matters to those who store it is like one: kinds of molecules, their
shares, bonded distances, and the number of bytes that XTC needs. From table 2 of Deng et al. 2021
(doi:10.1145/3472456.3473509) follow 43,480 atoms (2,612 MB of positions in 5,006 frames) and 160 kB
of XTC a frame; here are 43,400, 45 % of them protein.

A bundle of α-helices stands beside a patch of lipid; both move along smooth waves, through which
bonds keep their lengths within a tenth, and every atom trembles. Waters are rigid: each turns, and
moves about a site of its own. They are numbered in no order of place, as in a run that went on for
long.
"""

import struct
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from trajet import conversion, output, trajectory

_HELICES = (6, 5)
_LIPIDS = (8, 4)
_WATERS = 5098
# Å; the helices fill y up to 50, the lipids what lies beyond.
_CELL = np.array([60.0, 85.0, 97.0])
_PROTEIN_Y = 50.0
# Half of what water leaves to the protein and to the lipids, and the way from one site to the next.
_PROTEIN_Z, _LIPID_Z, _WATER_APART = 33.0, 28.0, 3.1

# Atoms of side chains, each after the one that it is bonded to.
_SIDE_CHAINS = {
    "LEU": "CA/CB CB/HB1 CB/HB2 CB/CG CG/HG CG/CD1 CG/CD2 CD1/HD11 CD1/HD12 CD1/HD13"
    " CD2/HD21 CD2/HD22 CD2/HD23",
    "ALA": "CA/CB CB/HB1 CB/HB2 CB/HB3",
    "SER": "CA/CB CB/HB1 CB/HB2 CB/OG OG/HG",
    "LYS": "CA/CB CB/CG CB/HB1 CB/HB2 CG/CD CG/HG1 CG/HG2 CD/CE CD/HD1 CD/HD2 CE/NZ CE/HE1 CE/HE2"
    " NZ/HZ1 NZ/HZ2 NZ/HZ3",
    "VAL": "CA/CB CB/HB CB/CG1 CB/CG2 CG1/HG11 CG1/HG12 CG1/HG13 CG2/HG21 CG2/HG22 CG2/HG23",
    "GLU": "CA/CB CB/CG CB/HB1 CB/HB2 CG/CD CG/HG1 CG/HG2 CD/OE1 CD/OE2",
}
_SEQUENCE = tuple(_SIDE_CHAINS)
_TURNS_OF_SEQUENCE = 7
# Of an α-helix: distance from the axis (Å), angle (degrees) and height (Å), before the C-alpha's.
_BACKBONE = {
    "N": (1.55, -27.9, -0.87),
    "CA": (2.28, 0.0, 0.0),
    "C": (1.66, 26.3, 1.08),
    "O": (2.03, 24.0, 2.25),
}
_TURN, _RISE = np.deg2rad(100.0), 1.5
_HEAVY_BOND, _HYDROGEN_BOND, _BOND_ANGLE = 1.53, 1.09, np.deg2rad(109.5)

# Rigid water of SPC's geometry: half of the distance of its hydrogens, and theirs from the oxygen.
_WATER_WIDE, _WATER_HIGH = 0.8165, 0.5774

# ps between frames, steps of a simulation of 2 fs.
_APART, _STEPS = 20.0, 10_000
# What is left of a displacement one frame later.
_KEPT = 0.95
# Å: of each wave, of a water about its site, of each atom; and of a water's turning.
_WAVE, _WATER_STRAYS, _TREMBLE, _TURNING = 0.3, 0.45, 0.05, 0.15

# Changes with what is made, so that files of before are not taken for it.
_VERSION = 1

Vectors = NDArray[np.float32]
# name of the residue, its number, name of the atom
Names = list[tuple[str, int, str]]


def topology_in(folder: Path) -> Path:
    """Return the topology (GRO), made where the folder has none."""
    path = folder / f"membrane-{_VERSION}.gro"
    if not path.exists():
        with output.replacing_file(path) as own:
            own.write_text(_gro())
    return path


def trajectory_in(folder: Path, n_frames: int) -> Path:
    """Return the trajectory (XTC) of so many frames, made where the folder has none."""
    path = folder / f"membrane-{_VERSION}-{n_frames}.xtc"
    if not path.exists():
        plain = output.name_beside(path.with_suffix(".trr"))
        try:
            with plain.open("wb") as file:
                for k, positions in enumerate(frames(n_frames)):
                    file.write(_trr(positions, k))
            conversion.convert(trajectory.open(None, plain, sidecar=False), path)
        finally:
            plain.unlink(missing_ok=True)
    return path


def frames(n_frames: int) -> Iterator[Vectors]:
    """Yield positions, `(n_atoms, 3)`, Å: the first frames of however many."""
    random = np.random.Generator(np.random.SFC64(20210809))
    solute, sites = _solute(), _sites(random)
    carried = np.concatenate([solute, sites])
    along = np.array([w for w in product((0, 1), repeat=3) if any(w)]) * (2 * np.pi / _CELL)
    phases = random.uniform(0, 2 * np.pi, len(along))
    shapes = np.sin(carried @ along.T + phases).astype(np.float32)

    def noise(*shape: int) -> Vectors:
        return random.standard_normal(shape, np.float32)

    waves = _WAVE * noise(len(along), 3)
    strays = _WATER_STRAYS * noise(_WATERS, 3)
    axis, side = _upright(noise(_WATERS, 3), noise(_WATERS, 3))
    fresh = np.float32(np.sqrt(1 - _KEPT**2))
    for _ in range(n_frames):
        moved = shapes @ waves
        moved += carried
        atoms = moved[: len(solute)] + _TREMBLE * noise(len(solute), 3)
        oxygens = moved[len(solute) :] + strays
        high, wide = _WATER_HIGH * axis, _WATER_WIDE * side
        waters = np.stack([oxygens, oxygens + high + wide, oxygens + high - wide], axis=1)
        yield np.concatenate([atoms, waters.reshape(-1, 3)]).astype(np.float32)
        waves = _KEPT * waves + fresh * _WAVE * noise(*waves.shape)
        strays = _KEPT * strays + fresh * _WATER_STRAYS * noise(_WATERS, 3)
        axis, side = _upright(
            axis + _TURNING * noise(_WATERS, 3), side + _TURNING * noise(_WATERS, 3)
        )


def _upright(axis: Vectors, side: Vectors) -> tuple[Vectors, Vectors]:
    """Return unit vectors, the second at right angles to the first."""
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    side -= (axis * side).sum(axis=1, keepdims=True) * axis
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return axis, side


def _names() -> Names:
    """Return what the topology calls the atoms."""
    residues = [
        (name, list(_residue(name))) for _ in range(_TURNS_OF_SEQUENCE) for name in _SEQUENCE
    ]
    kinds = [
        *(residues * (_HELICES[0] * _HELICES[1])),
        *([("POPC", [name for name, _ in _lipid()])] * (2 * _LIPIDS[0] * _LIPIDS[1])),
        *([("SOL", ["OW", "HW1", "HW2"])] * _WATERS),
    ]
    return [(kind, k + 1, atom) for k, (kind, atoms) in enumerate(kinds) for atom in atoms]


def _solute() -> NDArray[np.float64]:
    """Return where protein and lipid stand at rest, `(n_atoms, 3)`, Å."""
    helix = _helix()
    apart = np.array([_CELL[0] / _HELICES[0], _PROTEIN_Y / _HELICES[1]])
    standing = [
        helix + np.append((np.array(place) + 0.5) * apart, _CELL[2] / 2)
        for place in product(*map(range, _HELICES))
    ]
    lipid = np.array([place for _, place in _lipid()])
    apart = np.array([_CELL[0] / _LIPIDS[0], (_CELL[1] - _PROTEIN_Y) / _LIPIDS[1]])
    for leaflet, *place in product((1, -1), *map(range, _LIPIDS)):
        foot = (np.array(place) + 0.5) * apart + (0, _PROTEIN_Y)
        # Of the golden angle, so that no two neighbours look the same way.
        turned = _about_z(lipid, 2.4 * len(standing)) * (leaflet, 1, leaflet)
        standing.append(turned + np.append(foot, _CELL[2] / 2))
    return np.concatenate(standing)


def _helix() -> NDArray[np.float64]:
    """Return the atoms of a helix about the z axis, its middle at 0."""
    residues = _TURNS_OF_SEQUENCE * _SEQUENCE
    atoms = []
    for k, name in enumerate(residues):
        height = np.array([0, 0, _RISE * (k - (len(residues) - 1) / 2)])
        atoms.append(_about_z(np.array(list(_residue(name).values())), _TURN * k) + height)
    return np.concatenate(atoms)


def _about_z(places: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    cos, sin = np.cos(angle), np.sin(angle)
    turned: NDArray[np.float64] = places @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    return turned


def _residue(name: str) -> dict[str, NDArray[np.float64]]:
    """Return the atoms of a residue by name, at its place in a helix about the z axis."""
    atoms = {atom: _on_cylinder(*place) for atom, place in _BACKBONE.items()}
    radius, angle, height = _BACKBONE["C"]
    before = _on_cylinder(radius, angle - np.rad2deg(_TURN), height - _RISE)
    nitrogen = atoms["N"]
    away = _unit(nitrogen - atoms["CA"]) + _unit(nitrogen - before)
    atoms["H"] = nitrogen + 1.01 * _unit(away)
    bonded = {"CA": ("N", "C")}
    atoms["HA"] = _bonded_to(atoms, "CA", "N", "C", _HYDROGEN_BOND, -120.0)
    siblings: dict[str, int] = {}
    for pair in _SIDE_CHAINS[name].split():
        parent, atom = pair.split("/")
        angle = 120.0 if parent == "CA" else 180.0 + 120.0 * siblings.get(parent, 0)
        length = _HYDROGEN_BOND if atom.startswith("H") else _HEAVY_BOND
        atoms[atom] = _bonded_to(atoms, parent, *bonded[parent], length, angle)
        siblings[parent] = siblings.get(parent, 0) + 1
        bonded[atom] = (parent, bonded[parent][0])
    # As force fields have them: the carbonyl last.
    return {
        **{a: p for a, p in atoms.items() if a not in {"C", "O"}},
        "C": atoms["C"],
        "O": atoms["O"],
    }


def _bonded_to(
    atoms: dict[str, NDArray[np.float64]], a: str, b: str, c: str, length: float, torsion: float
) -> NDArray[np.float64]:
    """Return the place of an atom bonded to `a`, by its angle to `b` and its torsion to `c`."""
    along = _unit(atoms[a] - atoms[b])
    normal = _unit(np.cross(atoms[b] - atoms[c], along))
    across = np.cross(normal, along)
    turn = np.deg2rad(torsion)
    reach = np.sin(_BOND_ANGLE) * (np.cos(turn) * across + np.sin(turn) * normal)
    place: NDArray[np.float64] = atoms[a] + length * (reach - np.cos(_BOND_ANGLE) * along)
    return place


def _on_cylinder(radius: float, angle: float, height: float) -> NDArray[np.float64]:
    turn = np.deg2rad(angle)
    return np.array([radius * np.cos(turn), radius * np.sin(turn), height])


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = vector / np.linalg.norm(vector)
    return unit


def _lipid() -> list[tuple[str, tuple[float, float, float]]]:
    """Return the 134 atoms of POPC with straight tails, the ends of which are at z = 0."""
    atoms: list[tuple[str, tuple[float, float, float]]] = []

    def add(name: str, x: float, y: float, z: float, hydrogens: str = "") -> None:
        """Add an atom of a chain that zigzags in x, and its hydrogens on both sides in y."""
        atoms.append((name, (x, y, z)))
        shifts = ((0.0, 0.9, 0.6), (0.0, -0.9, 0.6), (1.09, 0.0, 0.0))
        for letter, (dx, dy, dz) in zip(hydrogens, shifts, strict=False):
            atoms.append((f"H{name[1:]}{letter}", (x + dx, y + dy, z + dz)))

    top = 24.0
    add("N", 0.4, 0.0, top + 9.2)
    for k, (dx, dy, dz) in enumerate(((1.2, 0.0, 0.8), (-0.6, 1.1, 0.8), (-0.6, -1.1, 0.8)), 13):
        add(f"C{k}", 0.4 + dx, dy, top + 9.2 + dz, "ABC")
    add("C12", -0.4, 0.0, top + 7.9, "AB")
    add("C11", 0.4, 0.0, top + 6.6, "AB")
    add("O12", -0.4, 0.0, top + 5.4)
    add("P", 0.4, 0.0, top + 4.1)
    add("O13", 1.2, 1.1, top + 4.5)
    add("O14", 1.2, -1.1, top + 4.5)
    add("O11", -0.4, 0.0, top + 2.8)
    add("C1", 0.4, 0.0, top + 1.6, "AB")
    add("C2", -0.4, 0.0, top + 0.3, "S")
    add("C3", 0.9, 0.0, top - 0.5, "XY")
    for tail, x, length, double in (("2", -2.0, 18, (9, 10)), ("3", 2.0, 16, ())):
        add(f"O{tail}1", x * 0.85, 0.0, top - 0.6)
        for k in range(1, length + 1):
            z = top - 1.8 - 1.27 * (k - 1)
            hydrogens = "" if k == 1 else "R" if k in double else "RST" if k == length else "RS"
            add(f"C{tail}{k}", x + (0.42 if k % 2 else -0.42), 0.0, z, hydrogens)
            if k == 1:
                add(f"O{tail}2", x + 1.1, 0.9, z + 0.4)
    return atoms


def _sites(random: np.random.Generator) -> NDArray[np.float64]:
    """Return where waters stay, `(_WATERS, 3)`, Å, in no order."""
    axes = [np.arange(0.5, int(long / _WATER_APART)) * _WATER_APART for long in _CELL]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    beyond = np.abs(grid[:, 2] - _CELL[2] / 2)
    wet = beyond > np.where(grid[:, 1] < _PROTEIN_Y, _PROTEIN_Z, _LIPID_Z)
    return random.permutation(grid[wet])[:_WATERS]


def _gro() -> str:
    """Return the topology, at the positions of the first frame."""
    positions = next(frames(1)) / 10
    lines = ["membrane protein, made up", f"{len(positions)}"]
    for k, ((kind, residue, atom), place) in enumerate(zip(_names(), positions, strict=True), 1):
        x, y, z = place
        lines.append(
            f"{residue % 100000:5d}{kind:<5}{atom:>5}{k % 100000:5d}{x:8.3f}{y:8.3f}{z:8.3f}"
        )
    return "\n".join([*lines, "".join(f"{edge:10.5f}" for edge in _CELL / 10), ""])


def _trr(positions: Vectors, frame: int) -> bytes:
    """Return a frame of TRR, which is GROMACS' own and holds what XTC holds."""
    cell = np.diag(_CELL / 10).astype(">f4").tobytes()
    body = (positions / np.float32(10)).astype(">f4").tobytes()
    sizes = [0, 0, len(cell), *[0] * 4, len(body), 0, 0, len(positions), frame * _STEPS, 0]
    head = struct.pack(">3i12s13i", 1993, 13, 12, b"GMX_trn_file", *sizes)
    return head + struct.pack(">2f", frame * _APART, 0.0) + cell + body
