"""Two waters with a site or a Drude particle each, as files of several formats state them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

# Positions (Å) of O, H, H, and of a particle between them.
WATER = [[0, 0, 0], [0.9572, 0, 0], [-0.24, 0.927, 0], [0.0886, 0.1145, 0]]
SHIFT = np.array([3.0, 0.1, 0.2])
POSITIONS = np.concatenate([WATER, WATER + SHIFT]).astype(np.float32)
CELL = [30.0, 30.0, 30.0, 90.0, 90.0, 90.0]


@dataclass(frozen=True)
class Particle:
    """One particle of a water: name, type, mass (u) and atomic number."""

    name: str
    kind: str
    mass: float
    number: int


ATOMS = (
    Particle("OW", "OW", 15.9994, 8),
    Particle("HW1", "HW", 1.008, 1),
    Particle("HW2", "HW", 1.008, 1),
)


def water(name: str, kind: str, mass: float, number: int) -> list[Particle]:
    """Return the particles of two waters, the last of each of which is not an atom."""
    return [*ATOMS, Particle(name, kind, mass, number)] * 2


def write_prmtop(path: Path, particles: list[Particle]) -> Path:
    """Write a PRMTOP file of waters of four particles; the last one is bonded to the oxygen."""
    n = len(particles)
    firsts = range(0, n, 4)

    def section(flag: str, form: str, values: list[object], per: int, spec: str) -> str:
        rows = [values[i : i + per] for i in range(0, len(values), per)]
        lines = "".join("".join(spec % value for value in row) + "\n" for row in rows)
        return f"%FLAG {flag}\n%FORMAT({form})\n{lines or chr(10)}"

    pointers = [0] * 31
    pointers[0], pointers[1], pointers[11] = n, 1, n // 4
    pointers[2], pointers[3] = n // 2, n // 4
    pointers[12] = n // 4
    with_h = [x for a in firsts for b in (1, 2) for x in (3 * a, 3 * (a + b), 1)]
    others = [x for a in firsts for x in (3 * a, 3 * (a + 3), 1)]
    text = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/20  00:00:00\n"
    text += "%FLAG TITLE\n%FORMAT(20a4)\nx\n"
    for flag, form, values, per, spec in (
        ("POINTERS", "10I8", pointers, 10, "%8d"),
        ("ATOM_NAME", "20a4", [one.name for one in particles], 20, "%-4s"),
        ("CHARGE", "5E16.8", [0.0] * n, 5, "%16.8E"),
        ("ATOMIC_NUMBER", "10I8", [one.number for one in particles], 10, "%8d"),
        ("MASS", "5E16.8", [one.mass for one in particles], 5, "%16.8E"),
        ("RESIDUE_LABEL", "20a4", ["WAT"] * (n // 4), 20, "%-4s"),
        ("RESIDUE_POINTER", "10I8", [a + 1 for a in firsts], 10, "%8d"),
        ("BONDS_INC_HYDROGEN", "10I8", with_h, 10, "%8d"),
        ("BONDS_WITHOUT_HYDROGEN", "10I8", others, 10, "%8d"),
        ("AMBER_ATOM_TYPE", "20a4", [one.kind for one in particles], 20, "%-4s"),
    ):
        text += section(flag, form, list(values), per, spec)
    path.write_text(text)
    return path


def write_psf(path: Path, particles: list[Particle]) -> Path:
    """Write a PSF file of waters of four particles, with the same bonds."""
    lines = ["PSF EXT", "", "         1 !NTITLE", "* x", "", f"{len(particles):10d} !NATOM"]
    for i, one in enumerate(particles):
        lines.append(
            f"{i + 1:10d} {'W':8s} {i // 4 + 1:<8d} {'TIP4':8s} {one.name:8s} {one.kind:6s}"
            f" {0:10.6f}     {one.mass:9.4f}  {0:10d}"
        )
    pairs = [x for i in range(0, len(particles), 4) for k in (2, 3, 4) for x in (i + 1, i + k)]
    lines += ["", f"{len(pairs) // 2:10d} !NBOND: bonds"]
    lines += ["".join(f"{x:10d}" for x in pairs[i : i + 8]) for i in range(0, len(pairs), 8)]
    path.write_text("\n".join([*lines, "", ""]))
    return path


def write_gro(path: Path, particles: list[Particle]) -> Path:
    """Write a GRO file, which has names alone."""
    lines = ["waters", f"{len(particles)}"]
    for i, (one, place) in enumerate(zip(particles, POSITIONS / 10, strict=True)):
        x = "".join(f"{value:8.3f}" for value in place)
        lines.append(f"{i // 4 + 1:5d}{'SOL':5s}{one.name:>5s}{i + 1:5d}{x}")
    path.write_text("\n".join([*lines, "   3.00000   3.00000   3.00000", ""]))
    return path


def write_pdb(path: Path, particles: list[Particle]) -> Path:
    """Write a PDB file with the elements of atoms, and none of other particles."""
    lines = ["CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1"]
    symbols = {8: "O", 1: "H"}
    for i, (one, place) in enumerate(zip(particles, POSITIONS, strict=True)):
        x = "".join(f"{value:8.3f}" for value in place)
        symbol = symbols.get(one.number, "")
        lines.append(
            f"HETATM{i + 1:5d}  {one.name:<3s} HOH A{i // 4 + 1:4d}    {x}  1.00  0.00"
            f"          {symbol:>2s}"
        )
    path.write_text("\n".join([*lines, "END", ""]))
    return path
