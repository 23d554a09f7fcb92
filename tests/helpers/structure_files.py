"""Structure files as the native module reads them, with nothing guessed."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trajet import _trajet
from trajet._trajet import FormatError


def is_of_crystal(path: Path) -> bool:
    """Whether the CRYST1 record of a PDB file states another space group than P 1.

    Its cell is no box to trajet; MDAnalysis takes it for one.
    """
    lines = path.read_bytes().splitlines() if path.suffix in (".pdb", ".ent") else []
    cells = [line for line in lines if line.startswith(b"CRYST1")]
    return bool(cells) and cells[0][55:66].strip() not in (b"", b"P 1")


class StructureFile:
    """The content of a file; columns have the names that MDAnalysis gives them."""

    def __init__(self, native: _trajet.StructureFile) -> None:
        self.native = native

    @classmethod
    def open(cls, path: str | PathLike[str], *, positions: bool = True) -> "StructureFile":
        """Read a file; formats that are not read are an error."""
        found = _trajet.read_structure(path, positions=positions)
        if isinstance(found, str):
            raise FormatError(f"{path}: {found}")
        return cls(found)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the file or of its topology."""
        return getattr(self.native if hasattr(self.native, name) else self.native.topology, name)

    def column(self, name: str) -> NDArray[Any] | None:
        """Return a column of the atoms, residues or segments."""
        found = self.native.topology.column(name)
        if isinstance(found, tuple):
            codes, texts = found
            return np.array(texts, np.str_)[codes]
        return found

    def of_atoms(self, name: str) -> NDArray[Any] | None:
        """Return a column with one element for each atom."""
        residues = self.column("resindices")
        values = self.column(name)
        if values is None or name not in ("resids", "resnames", "icodes", "segindices", "segids"):
            return values
        if name == "segids":
            return values[self.column("segindices")][residues]
        return values[residues]


def column(topology: StructureFile, name: str) -> NDArray[np.generic]:
    """Return a column that the file has."""
    values = topology.column(name)
    assert values is not None, name
    return values
