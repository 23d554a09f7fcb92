"""Random structures with alternate locations, as PDB and mmCIF files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

LETTERS = "ABC"
NAMES = ["N", "H", "CA", "C", "O", "CB"]


@dataclass(frozen=True)
class Atom:
    """An atom of a structure; `location` is "" for atoms that are there in all of them."""

    name: str
    location: str
    residue: str
    chain: str
    number: int
    code: str
    position: tuple[float, float, float]

    @property
    def place(self) -> tuple[str, int, str]:
        """Chain, number and insertion code, which is what a residue is."""
        return self.chain, self.number, self.code

    def excludes(self, other: "Atom") -> bool:
        """Return whether both are never there together."""
        different = self.location != other.location and self.location and other.location
        return self.place == other.place and bool(different)


def random_structure(rng: np.random.Generator, n_residues: int = 8) -> list[Atom]:
    """Return residues near each other: plain ones, and such with locations.

    Some of these have several names, some have locations line by line, and parts of some are at the
    end of the file. Numbers may be negative and have insertion codes.
    """
    atoms: list[Atom] = []
    late: list[Atom] = []
    numbers = rng.choice(np.arange(-3, 40), n_residues, replace=False)
    for k, number in enumerate(np.sort(numbers).tolist()):
        chain, code = "AB"[k * 2 // n_residues], " C"[int(rng.integers(2))].strip()
        center = rng.uniform(0, 9, 3)
        n_locations = int(rng.choice([1, 1, 2, 2, 3]))
        names = ["ALA", "SER", "THR"]
        residues = names if rng.integers(2) else ["SER"] * 3
        kind = rng.choice(["all", "side", "hydrogen"])
        parts: list[list[Atom]] = []
        backbone = center + rng.normal(0, 0.6, (6, 3))
        for at in range(n_locations):
            part = []
            for name, x in zip(NAMES, backbone, strict=True):
                is_located = n_locations > 1 and (
                    kind == "all" or name == ("CB" if kind == "side" else "H")
                )
                if at and not is_located:
                    continue
                where = tuple((x + (rng.normal(0, 0.4, 3) if at else 0)).round(3).tolist())
                location = LETTERS[at] if is_located else ""
                residue = residues[at] if kind == "all" else residues[0]
                part.append(Atom(name, location, residue, chain, number, code, where))
            parts.append(part)
        order = rng.choice(["blocks", "lines", "late"])
        atoms += parts[0]
        if order == "late":
            late += [atom for part in parts[1:] for atom in part]
        elif order == "blocks":
            atoms += [atom for part in parts[1:] for atom in part]
        else:
            own = [atom for part in parts for atom in part]
            del atoms[len(atoms) - len(parts[0]) :]
            atoms += sorted(own, key=lambda atom: NAMES.index(atom.name))
    return atoms + late


def write_pdb(path: Path, atoms: list[Atom]) -> Path:
    """Write a PDB file."""
    lines = [
        f"ATOM  {i:5d}  {atom.name:<3s}{atom.location or ' '}{atom.residue} {atom.chain}"
        f"{atom.number:4d}{atom.code or ' '}   "
        + "".join(f"{value:8.3f}" for value in atom.position)
        + f"  1.00  0.00           {atom.name[0]}"
        for i, atom in enumerate(atoms, 1)
    ]
    cell = "CRYST1   40.000   40.000   40.000  90.00  90.00  90.00 P 1           1"
    path.write_text("\n".join([cell, *lines, "END", ""]))
    return path


def write_mmcif(path: Path, atoms: list[Atom]) -> Path:
    """Write an mmCIF file."""
    items = (
        *("group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id"),
        *("auth_asym_id", "auth_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y", "Cartn_z"),
    )
    rows = [
        f"ATOM {i} {atom.name[0]} {atom.name} {atom.location or '.'} {atom.residue} {atom.chain}"
        f" {atom.number} {atom.code or '?'} {' '.join(f'{x:.3f}' for x in atom.position)}"
        for i, atom in enumerate(atoms, 1)
    ]
    head = ["data_x", "loop_", *(f"_atom_site.{item}" for item in items)]
    path.write_text("\n".join([*head, *rows, "#", ""]))
    return path
