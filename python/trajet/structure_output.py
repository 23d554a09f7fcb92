"""Structure files that are written: one frame, or several models."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet, universes
from trajet._trajet import OutputError
from trajet.box import Box
from trajet.topology import Atoms

if TYPE_CHECKING:
    from trajet.universes import Universe

_ANGSTROM_PER_NM = 10.0
# Formats of structures that are written without MDAnalysis.
_WRITTEN = {".gro": "GRO", ".pdb": "PDB"}


def check_writable(path: Path) -> None:
    """Raise an error if structures cannot be written with this file name ending.

    Raises
    ------
    ValueError
        If they cannot.
    MissingPackageError
        If MDAnalysis may write them, and is not installed.
    """
    if path.suffix.lower() not in _WRITTEN:
        universes.check_structure(path)


def write_structure(
    path: Path,
    atoms: Atoms,
    positions: NDArray[np.float32],
    box: Box,
    universe: "Callable[[], Universe]",
    *,
    when: tuple[float, int] | None = None,
    velocities: NDArray[np.float32] | None = None,
) -> None:
    """Write atoms in the format of the path's ending.

    A box is left out that is turned or not periodic in all directions: structure formats cannot
    store it, and another one would give other nearest images.

    Parameters
    ----------
    positions
        `(n_atoms, 3)`, Å.
    universe
        Returns the Universe of the topology, for formats and orders of atoms that only MDAnalysis
        writes.
    when
        Time (ps) and step, for the titles of GRO and PDB files.
    velocities
        `(n_atoms, 3)`, Å/ps, for GRO files.

    Raises
    ------
    OutputError
        If the atoms cannot be written.
    """
    is_held = box.exists and box.reason_not_held is None
    written = _WRITTEN.get(path.suffix.lower())
    if written is None or (np.diff(atoms.indices) <= 0).any():
        group = universe().atoms[atoms.indices]
        universes.write_structure(path, group, positions, box.cell if is_held else None)
        return
    text = _trajet.structure_text(
        atoms.topology.native,
        atoms.indices.tolist(),
        np.ascontiguousarray(positions),
        box.vectors.tolist() if is_held else None,
        written,
    )
    if velocities is not None:
        text = _with_velocities(text, velocities, path)
    if when is not None:
        title = f"Written by trajet t= {when[0]:.5f} step= {when[1]}"
        _, rest = text.split("\n", 1)
        text = f"{title}\n{rest}" if written == "GRO" else f"TITLE     {title}\n{rest}"
    path.write_text(text, encoding="ascii")


def _with_velocities(text: str, velocities: NDArray[np.float32], path: Path) -> str:
    """Return the text of a GRO file with velocities, given in Å/ps.

    Raises
    ------
    OutputError
        If the columns cannot hold one.
    """
    title, count, *atoms, box, end = text.split("\n")
    rows = (velocities.astype(np.float64) / _ANGSTROM_PER_NM).tolist()
    for k, (line, row) in enumerate(zip(atoms, rows, strict=True)):
        columns = "".join(f"{value:8.4f}" for value in row)
        if len(columns) != 24 or not np.isfinite(row).all():
            raise OutputError(
                f"{path}: atom {k}: the columns of GRO files cannot hold a velocity of {row} nm/ps:"
                " write a PDB file, which has none"
            )
        atoms[k] = line + columns
    return "\n".join([title, count, *atoms, box, end])


def write_models(path: Path, atoms: Atoms, models: NDArray[np.float32]) -> None:
    """Write atoms at several sets of positions to a PDB file, as models, without a box.

    Atoms are written in the order of the topology.

    Parameters
    ----------
    models
        `(n_models, n_atoms, 3)`, Å.

    Raises
    ------
    OutputError
        If the atoms cannot be written.
    """
    order = np.argsort(atoms.indices)
    indices = atoms.indices[order].tolist()
    with path.open("w", encoding="ascii") as file:
        for number, positions in enumerate(models, 1):
            ordered = np.ascontiguousarray(positions[order])
            text = _trajet.structure_text(atoms.topology.native, indices, ordered, None, "pdb")
            records = (line for line in text.splitlines() if line.startswith(("ATOM", "HETATM")))
            file.write("\n".join([f"MODEL     {number:4d}", *records, "ENDMDL", ""]))
        file.write("END\n")
