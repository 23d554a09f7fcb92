"""TPR files: their versions, and comparison of their topologies with MDAnalysis'."""

import struct
from collections import Counter
from pathlib import Path

import numpy as np
from MDAnalysis.topology.TPRParser import TPRParser
from numpy.typing import NDArray

from helpers.structure_files import StructureFile, column

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
OF_RESIDUES = {"resnames": "resnames"}
OF_MOLECULES = {"molnums": "molnums", "moltypes": "moltypes"}


def version_of(path: Path) -> int:
    """Return the version of a TPR file."""
    start = path.read_bytes()[:200]
    (n_text,) = struct.unpack_from(">i", start, 4)
    version: int = struct.unpack_from(">i", start, 8 + -(-n_text // 4) * 4 + 4)[0]
    return version


def pairs(bonds: NDArray[np.uint32] | None) -> list[tuple[int, int]]:
    """Return pairs of atoms as tuples."""
    assert bonds is not None
    return [(a, b) for a, b in bonds.tolist()]


def assert_numbered_as_gromacs_does(topology: StructureFile) -> None:
    """Molecules of one residue are numbered through, after all other numbers of residues.

    Molecules of several residues have the same numbers in every copy.
    """
    numbers = column(topology, "resids").tolist()
    first_atoms = np.unique(column(topology, "resindices"), return_index=True)[1]
    molecules = column(topology, "molnums")[first_atoms].tolist()
    types = column(topology, "moltypes")[first_atoms].tolist()
    if len(set(molecules)) == 1:
        return
    n_residues = Counter(molecules)
    of_molecules: dict[int, list[int]] = {}
    for number, molecule in zip(numbers, molecules, strict=True):
        of_molecules.setdefault(molecule, []).append(number)
    several = {k: tuple(found) for k, found in of_molecules.items() if n_residues[k] > 1}
    single = [found[0] for k, found in of_molecules.items() if n_residues[k] == 1]
    first = max([0, *(number for found in several.values() for number in found)]) + 1
    assert single == list(range(first, first + len(single)))
    by_type = {(types[molecules.index(k)], found) for k, found in several.items()}
    assert len(by_type) == len({name for name, _ in by_type})


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
    assert_numbered_as_gromacs_does(ours)
    for other, here in OF_MOLECULES.items():
        assert np.array_equal(column(ours, here), getattr(theirs, other).values[residues]), other
    # MDAnalysis sorts segments by name, here they are in the order of the file.
    segments = column(ours, "segids")[column(ours, "segindices")]
    expected = theirs.segids.values[theirs.tt.residues2segments(np.arange(theirs.n_residues))]
    assert np.array_equal(segments, expected)
    assert pairs(ours.bonds) == sorted({tuple(sorted(bond)) for bond in theirs.bonds.values})
