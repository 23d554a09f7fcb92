"""Text files whose atoms are named, in any order."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import trajet as tj


class Atom(NamedTuple):
    """An atom as text formats name it, at (place, 0, 0) nm."""

    name: str
    resname: str
    resid: int
    chain: str
    serial: int
    place: float


def chain_of(n: int) -> list[Atom]:
    """Return atoms of which neighbours share names: waters of three atoms."""
    names = ("OW", "HW1", "HW2")
    return [Atom(names[i % 3], "SOL", i // 3 + 1, "A", i + 1, i / 10) for i in range(n)]


def write_gro(path: Path, frames: Sequence[Sequence[Atom]]) -> Path:
    """Write a GRO file."""
    text = ""
    for k, atoms in enumerate(frames):
        text += f"title t= {k}.0\n{len(atoms)}\n"
        for atom in atoms:
            text += (
                f"{atom.resid:5}{atom.resname:<5}{atom.name:>5}{atom.serial:5}"
                f"{atom.place:8.3f}{0:8.3f}{0:8.3f}\n"
            )
        text += "   9.00000   9.00000   9.00000\n"
    path.write_text(text)
    return path


def write_pdb(path: Path, frames: Sequence[Sequence[Atom]]) -> Path:
    """Write a PDB file."""
    text = ""
    for k, atoms in enumerate(frames):
        text += f"MODEL {k + 1}\n"
        for atom in atoms:
            text += (
                f"ATOM  {atom.serial:5}  {atom.name:<3} {atom.resname:<4}{atom.chain}{atom.resid:4}"
                f"    {atom.place * 10:8.3f}{0:8.3f}{0:8.3f}  1.00  0.00\n"
            )
        text += "ENDMDL\n"
    path.write_text(text + "END\n")
    return path


WRITERS = {".gro": write_gro, ".pdb": write_pdb}


def opened(topology: Path | None, *paths: Path) -> tj.Trajectory:
    """Open files without an index file."""
    return tj.open(topology, *paths, sidecar=False)
