"""TPR files: their versions, and comparison of their topologies with MDAnalysis'."""

import struct
from pathlib import Path

import numpy as np
from MDAnalysis.topology.TPRParser import TPRParser
from numpy.typing import NDArray

from helpers.structure_files import StructureFile

# The first version that is read: GROMACS 5.1.
FIRST_VERSION = 103
# Columns of the atoms, and of their residues: names in MDAnalysis and here.
OF_ATOMS = {
    "ids": "ids",
    "names": "names",
    "types": "types",
    "elements": "elements",
    "chainIDs": "chainIDs",
    "masses": "masses",
    "charges": "charges",
}
OF_RESIDUES = {"resids": "resids", "resnames": "resnames"}
OF_MOLECULES = {"molnums": "molnums", "moltypes": "moltypes"}


def version_of(path: Path) -> int:
    """Return the version of a TPR file."""
    start = path.read_bytes()[:200]
    (n_text,) = struct.unpack_from(">i", start, 4)
    version: int = struct.unpack_from(">i", start, 8 + -(-n_text // 4) * 4 + 4)[0]
    return version


def column(topology: StructureFile, name: str) -> NDArray[np.generic]:
    """Return a column that the file has."""
    values = topology.column(name)
    assert values is not None, name
    return values


def pairs(bonds: NDArray[np.uint32] | None) -> list[tuple[int, int]]:
    """Return pairs of atoms as tuples."""
    assert bonds is not None
    return [(a, b) for a, b in bonds.tolist()]


def assert_topology_of_mdanalysis(path: Path, converted: Path | None = None) -> None:
    """Every column equals MDAnalysis' one, which rounds masses and charges to single precision.

    MDAnalysis reads the `converted` file instead if there is one.
    """
    ours = StructureFile.open(path)
    with TPRParser(str(converted or path)) as parser:
        theirs = parser.parse()
    atoms = np.arange(theirs.n_atoms)
    residues = theirs.tt.atoms2residues(atoms)
    assert np.array_equal(column(ours, "resindices"), residues)
    for other, here in OF_ATOMS.items():
        if other == "elements" and not hasattr(theirs, "elements"):
            assert ours.column("elements") is None
            continue
        expected = getattr(theirs, other).values
        found = column(ours, here)
        if other in ("masses", "charges"):
            expected, found = expected.astype(np.float32), found.astype(np.float32)
        assert np.array_equal(found, expected), other
    for other, here in OF_RESIDUES.items():
        assert np.array_equal(column(ours, here), getattr(theirs, other).values), other
    for other, here in OF_MOLECULES.items():
        assert np.array_equal(column(ours, here), getattr(theirs, other).values[residues]), other
    # MDAnalysis sorts segments by name, here they are in the order of the file.
    segments = column(ours, "segids")[column(ours, "segindices")]
    expected = theirs.segids.values[theirs.tt.residues2segments(np.arange(theirs.n_residues))]
    assert np.array_equal(segments, expected)
    assert pairs(ours.bonds) == sorted({tuple(sorted(bond)) for bond in theirs.bonds.values})
