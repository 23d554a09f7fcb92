"""Structures in mmCIF are those of PDB files of the same entries, and of a reader of lines."""

import gzip
import itertools
import re
import shlex
from pathlib import Path

import MDAnalysis as mda
import MDAnalysisTests
import numpy as np
import pytest
from helpers.messages import raises
from helpers.structure_files import StructureFile, column
from trajet._trajet import FormatError

DATA = Path(MDAnalysisTests.__file__).parent / "data" / "mmcif"
NAMES = sorted(path.name for path in DATA.glob("*.cif*"))
# A record is neither ATOM nor HETATM; MDAnalysis refuses the file as well.
INVALID = "1YJP_invalid.cif.gz"
READ = [name for name in NAMES if name != INVALID]
# Entries that are there in both formats.
TWINS = ["1BD2", "1BD2_short", "3KPR", "3PWP"]


def content(name: str) -> str:
    """Return the uncompressed text of a file."""
    data = (DATA / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode()


@pytest.fixture
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of an uncompressed copy."""
    path = tmp_path / request.param.removesuffix(".gz")
    path.write_text(content(request.param))
    return path


def rows_of_atoms(text: str) -> list[dict[str, str]]:
    """Return the rows of the first model of `_atom_site`, one per line, as their items."""
    tags: list[str] = []
    rows = []
    for line in text.splitlines():
        if line.startswith("_atom_site."):
            tags.append(line.split(".")[1].strip())
        elif tags and line.startswith(("ATOM", "HETATM")):
            words = shlex.split(line) if '"' in line else line.split()
            rows.append(dict(zip(tags, words, strict=True)))
        elif tags:
            break
    return [row for row in rows if row["pdbx_PDB_model_num"] == rows[0]["pdbx_PDB_model_num"]]


def or_empty(word: str) -> str:
    """Return a value, empty for none."""
    return "" if word in (".", "?") else word


@pytest.mark.parametrize("plain", READ, indirect=True)
def test_columns_are_those_of_the_table(plain: Path) -> None:
    """Every column equals the one that a plain reader of lines finds."""
    rows = rows_of_atoms(plain.read_text())
    topology = StructureFile.open(plain)
    assert topology.n_atoms == len(rows) > 0
    residues = column(topology, "resindices")
    segments = column(topology, "segindices")
    for name, expected in {
        "names": [row.get("auth_atom_id", row["label_atom_id"]) for row in rows],
        "chainIDs": [row["auth_asym_id"] for row in rows],
        "record_types": [row["group_PDB"] for row in rows],
        "altLocs": [or_empty(row["label_alt_id"]) for row in rows],
        "ids": [int(row["id"]) for row in rows],
        "occupancies": [float(row["occupancy"]) for row in rows],
        "tempfactors": [float(row["B_iso_or_equiv"]) for row in rows],
        "types": [row["type_symbol"].capitalize() for row in rows],
    }.items():
        assert column(topology, name).tolist() == expected, name
    for name, expected in {
        "resids": [int(row.get("auth_seq_id", row["label_seq_id"])) for row in rows],
        "resnames": [row.get("auth_comp_id", row["label_comp_id"]) for row in rows],
        "icodes": [or_empty(row["pdbx_PDB_ins_code"]) for row in rows],
    }.items():
        assert column(topology, name)[residues].tolist() == expected, name
    ids = column(topology, "segids")[segments]
    assert ids[residues].tolist() == column(topology, "chainIDs").tolist()
    # Neighbouring residues differ.
    columns = ("resids", "resnames", "icodes")
    keys = list(zip(*(column(topology, name) for name in columns), segments, strict=True))
    assert all(a != b for a, b in itertools.pairwise(keys))
    positions = [[float(row[f"Cartn_{axis}"]) for axis in "xyz"] for row in rows]
    assert topology.positions is not None
    assert np.array_equal(topology.positions, np.array(positions, np.float32))


@pytest.mark.parametrize("plain", [f"{name}.cif.gz" for name in TWINS], indirect=True)
def test_structures_equal_those_of_pdb_files(plain: Path) -> None:
    """MDAnalysis finds the same atoms in the PDB file of the entry."""
    theirs = mda.Universe(str(DATA / f"{plain.stem}.pdb.gz"), to_guess=())
    ours = StructureFile.open(plain)
    residues = column(ours, "resindices")
    for name, here in {
        "names": column(ours, "names"),
        "resnames": column(ours, "resnames")[residues],
        "resids": column(ours, "resids")[residues],
        "icodes": column(ours, "icodes")[residues],
        "chainIDs": column(ours, "chainIDs"),
        "altLocs": column(ours, "altLocs"),
        "elements": column(ours, "elements"),
        "record_types": column(ours, "record_types"),
        "resindices": residues,
    }.items():
        assert here.tolist() == getattr(theirs.atoms, name).tolist(), name
    assert np.array_equal(ours.positions, theirs.atoms.positions)
    # The cell of a crystal is no box, and one of 1 Å stands for none in both; other cells are those
    # of the PDB file.
    assert ours.cell is None
    in_p1 = plain.with_name("in_p1.cif")
    in_p1.write_text(re.sub(r"(_symmetry.space_group_name_H-M) .*", r"\1 'P 1'", plain.read_text()))
    cell = StructureFile.open(in_p1).cell
    assert (cell is None) == (theirs.dimensions is None)
    if cell is not None:
        assert ["unit cell of a crystal" in message for message in ours.messages].count(True) == 1
        np.testing.assert_allclose(cell, theirs.dimensions, rtol=1e-6)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [("5PTI.cif.gz", 3), ("1BD2.cif.gz", 7), ("3KPR.cif.gz", 14)],
    indirect=["plain"],
)
def test_disulfides_are_connections(plain: Path, expected: int) -> None:
    """Covalent links between residues are listed, the bonds within residues are not."""
    topology = StructureFile.open(plain)
    assert topology.bonds is None
    linked = topology.connections
    assert linked is not None
    assert len(linked) == expected
    assert set(column(topology, "names")[linked].ravel()) == {"SG"}
    assert topology.positions is not None
    (distances,) = np.diff(topology.positions[linked], axis=1).transpose(1, 0, 2)
    lengths = np.linalg.norm(distances, axis=-1)
    assert (lengths > 1.9).all()
    assert (lengths < 2.2).all()


def test_only_the_first_model_is_read_with_a_message(tmp_path: Path) -> None:
    """A message says that there are more."""
    path = tmp_path / "models.cif"
    path.write_text(content("multimodel_warning.cif.gz"))
    topology = StructureFile.open(path)
    assert topology.n_atoms == 3521
    assert any("several models" in message for message in topology.messages)


def test_an_invalid_record_is_an_error_with_its_line(tmp_path: Path) -> None:
    """The error names the file, the line and the value."""
    path = tmp_path / "invalid.cif"
    path.write_text(content(INVALID))
    with raises(FormatError):
        StructureFile.open(path)


def test_an_mmcif_file_without_suffix_is_recognised(tmp_path: Path) -> None:
    """The first bytes tell the format."""
    named, unnamed = (tmp_path / name for name in ("x.cif", "x"))
    for path in (named, unnamed):
        path.write_text(content("1YJP.cif"))
    for name in ("names", "resids", "chainIDs"):
        values = [column(StructureFile.open(path), name) for path in (named, unnamed)]
        assert np.array_equal(*values), name


def test_small_molecules_are_refused(tmp_path: Path) -> None:
    """CIF of crystallography has no table of atoms as mmCIF has it."""
    path = tmp_path / "small.cif"
    path.write_text(
        "data_x\n_cell_length_a 5\nloop_\n_atom_site_label\n_atom_site_fract_x\nC1 0.5\n"
    )
    with raises(FormatError):
        StructureFile.open(path)


def test_every_cut_between_rows_is_an_error_or_has_fewer_atoms(tmp_path: Path) -> None:
    """A row is complete or an error."""
    lines = content("1YJP.cif").splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("ATOM "))
    text = "".join(lines[: first + 3])
    path = tmp_path / "cut.cif"
    row = len("".join(lines[: first + 2]))
    for n in range(row, len(text) - 1):
        path.write_text(text[:n])
        whole_row = len(text[row:n].split()) == len(lines[first].split())
        if n == row or whole_row:
            assert StructureFile.open(path).n_atoms == (3 if whole_row else 2)
        else:
            with raises(FormatError):
                StructureFile.open(path)
