"""Topologies of TPR files are those of MDAnalysis, and damaged ones are errors.

Differences of MDAnalysis 2.11, none of which is in a file that is compared column by column here:

| what | MDAnalysis | here | right |
|---|---|---|---|
| masses and charges of double precision | rounded to single | as in the file | here |
| order of segments | by name, `seg_10` before `seg_2` | as in the file | here |
| residue numbers, insertion codes | from 1 on; none | as GROMACS prints them | here |
| virtual sites, shells | no attribute | `connections` | here |
| interactions between molecules | positions are misread in silence | a message | here |
| versions of development, for example 111 | refused | read | here |
| versions before 103 | read from 58 on | refused, with a remedy | MDAnalysis |
"""

import os
import re
import struct
from pathlib import Path

import MDAnalysis as mda
import MDAnalysisTests
import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises
from helpers.structure_files import StructureFile
from helpers.tpr_laws import FIRST_VERSION, assert_topology_of_mdanalysis, pairs, version_of
from trajet._trajet import FormatError

DATA = Path(MDAnalysisTests.__file__).parent / "data"
# Both refuse them: GROMACS wrote another encoding for some months.
BETAS = {"tprs/2lyz_gmx_2020-beta2.tpr", "tprs/all_bonded/dummy_2020-beta2.tpr"}
# Files of more bytes are read in long runs.
LARGE = 600_000
ALL = {str(path.relative_to(DATA)): version_of(path) for path in sorted(DATA.rglob("*.tpr"))}
READ = [name for name, version in ALL.items() if version >= FIRST_VERSION and name not in BETAS]
TOO_OLD = [name for name, version in ALL.items() if version < FIRST_VERSION]


def marked(name: str) -> object:
    """Leave large files to long runs."""
    large = (DATA / name).stat().st_size > LARGE
    return pytest.param(name, marks=pytest.mark.long) if large else name


def test_files_of_every_release_are_compared() -> None:
    """The files are of all versions that releases since GROMACS 5.1 write."""
    releases = {103, 110, 112, 116, 119, 122, 127, 129, 133, 134, 137, 138}
    assert releases <= {ALL[name] for name in READ}


@pytest.mark.parametrize("name", [marked(name) for name in READ])
def test_columns_and_bonds_equal_those_of_mdanalysis(name: str) -> None:
    """Masses and charges in single precision."""
    assert_topology_of_mdanalysis(DATA / name)


@pytest.mark.parametrize("name", [marked(name) for name in READ])
def test_positions_and_box_equal_those_of_mdanalysis(name: str) -> None:
    """Positions differ by the rounding of one multiplication at most."""
    theirs = mda.Universe(str(DATA / name), to_guess=())
    ours = StructureFile.open(DATA / name)
    assert ours.positions is not None
    np.testing.assert_array_max_ulp(ours.positions, theirs.atoms.positions, 1)
    np.testing.assert_allclose(ours.cell, theirs.dimensions, rtol=1e-6)
    assert StructureFile.open(DATA / name, positions=False).positions is None


# Virtual sites and the atoms that construct them, and two polarizations, as `gmx dump` prints them.
SITES = {
    7: [3, 4, 5],
    8: [3, 4, 5],
    9: [3, 4, 5],
    13: [0, 1],
    14: [0, 1, 2, 3],
    15: [0, 1, 2, 3],
    16: [3, 4, 5],
}
# Since version 121.
SITES_OF_ONE = {17: [0]}
SHELLS = {0: [1, 2, 3, 4], 2: [3]}


@pytest.mark.parametrize("name", [name for name in READ if "virtual_sites" in name])
def test_virtual_sites_and_shells_are_connections(name: str) -> None:
    """Each virtual site is connected with the atoms that construct it, each shell with its atom."""
    groups = [*SITES.items(), *SHELLS.items()]
    if ALL[name] >= 122:
        groups += SITES_OF_ONE.items()
    expected = {(min(a, b), max(a, b)) for a, others in groups for b in others}
    assert pairs(StructureFile.open(DATA / name).connections) == sorted(expected)


@pytest.mark.parametrize("name", TOO_OLD)
def test_older_versions_are_refused_with_a_remedy(name: str) -> None:
    """The error names the file, its version, and a way to read it."""
    with raises(FormatError):
        StructureFile.open(DATA / name)


@pytest.mark.parametrize("name", sorted(BETAS))
def test_beta_versions_of_2020_are_refused(name: str) -> None:
    """Files of these versions have another encoding."""
    with raises(FormatError):
        StructureFile.open(DATA / name)


def test_newer_versions_are_refused_with_a_remedy(tmp_path: Path) -> None:
    """A version that is not known is never guessed at."""
    data = bytearray((DATA / "tprs/Linear_Angle.tpr").read_bytes())
    (n_text,) = struct.unpack_from(">i", data, 4)
    struct.pack_into(">i", data, 8 + -(-n_text // 4) * 4 + 4, 999)
    path = tmp_path / "new.tpr"
    path.write_bytes(data)
    with raises(FormatError):
        StructureFile.open(path)


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["tprs/Linear_Angle.tpr", "tprs/all_bonded/dummy_2016.tpr"])
def test_every_cut_is_an_error_or_the_same_topology(name: str, step: int, tmp_path: Path) -> None:
    """Whatever is missing, no atom is lost in silence."""
    data = (DATA / name).read_bytes()
    whole = StructureFile.open(DATA / name)
    path = tmp_path / "cut.tpr"
    path.write_bytes(data)
    n_errors = 0
    for n in reversed(range(0, len(data), step)):
        os.truncate(path, n)
        try:
            topology = StructureFile.open(path)
        except FormatError:
            n_errors += 1
            continue
        assert topology.n_atoms == whole.n_atoms
        assert np.array_equal(topology.bonds, whole.bonds)
        assert np.array_equal(topology.positions, whole.positions)
    # Before version 119 the header states no size, and what follows the positions is not read.
    assert n_errors > len(data) / step / 4


def test_a_tpr_file_without_suffix_is_recognised(tmp_path: Path) -> None:
    """The first bytes tell the format."""
    name = "tprs/2lyz_gmx_2020_double.tpr"
    path = tmp_path / "topology"
    path.write_bytes((DATA / name).read_bytes())
    assert StructureFile.open(path).n_atoms == StructureFile.open(DATA / name).n_atoms == 2263


def renumbered(data: bytes, n_residues: int, shift: int) -> bytes:
    """Return a TPR file in which the residues 1 to `n_residues` of a molecule have larger numbers.

    A residue is the number of its name, its own number, and an insertion code of one byte.
    """
    numbers = range(1, n_residues + 1)
    rows = (re.escape(struct.pack(">i", number) + b" ") for number in numbers)
    found = re.search(b"....".join(rows), data, re.DOTALL)
    assert found, "there are no such residues"
    entries = bytearray(found[0])
    for k, number in enumerate(numbers):
        struct.pack_into(">i", entries, 9 * k, number + shift)
    return data[: found.start()] + bytes(entries) + data[found.end() :]


def test_selections_by_residue_numbers_of_the_file_are_reportedce(tmp_path: Path) -> None:
    """The same text means other atoms in MDAnalysis, which counts residues from 1."""
    data = (DATA / "tprs/2lyz_gmx_2023.tpr").read_bytes()
    path = tmp_path / "top.tpr"
    for shift in (0, 200):
        path.write_bytes(renumbered(data, 129, shift))
        positions = StructureFile.open(path).positions
        assert positions is not None
        tj.write(tmp_path / "run.trr", positions[None], force=True)
        traj = tj.open(path, tmp_path / "run.trr", sidecar=False)
        numbers = traj.topology.residues.resids
        assert numbers.tolist() == list(range(1 + shift, 1 + shift + len(numbers)))
        first = traj.select(f"resid {1 + shift} and name CA")
        assert first.indices.tolist() == traj.select("name CA").indices[:1].tolist()
        traj.select("byres around 3 resnum 210", updating=True)
        messages = tj.gyration(first, weights="equal").messages
        assert sum("MDAnalysis counts" in message for message in messages) == (shift > 0)
