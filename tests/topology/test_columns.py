"""Topologies of GRO, PDB, PSF and PRMTOP files are those of MDAnalysis."""

import bz2
import gzip
from pathlib import Path

import MDAnalysis as mda
import MDAnalysisTests
import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises
from helpers.structure_files import StructureFile, is_of_crystal
from numpy.typing import NDArray
from trajet._trajet import FormatError

DATA = Path(MDAnalysisTests.__file__).parent / "data"
SUFFIXES = (".gro", ".pdb", ".ent", ".psf", ".prmtop", ".parm7", ".top")
# files of more bytes are read in long runs
LARGE = 500_000
COLUMNS = (
    *("names", "types", "elements", "altLocs", "chainIDs", "record_types", "occupancies", "ids"),
    *("tempfactors", "charges", "formalcharges", "masses", "resindices", "segindices", "resids"),
    *("resnames", "icodes", "segids"),
)
# MDAnalysis rounds these to single precision
ROUNDED = ("occupancies", "tempfactors", "charges")

# Files that differ, in which columns, why, and who is right.
DIFFERENCES = {
    # Residue 60A is another one than 60. MDAnalysis drops the letter and joins them. Ours is right.
    "1a2c_ins_code.psf": {"icodes", "resindices"},
    # Residue number and insertion code hold 10000. Ours is right, as MDAnalysis' XPDB parser.
    "5digitResid.pdb": {"resids", "icodes"},
    # The file has no section of bonds. MDAnalysis gives none, ours says that they are unknown.
    "adk_notop.psf": {"bonds"},
    # CONECT names a number of two atoms. MDAnalysis takes the last, ours reads no bonds, with a
    # message.
    "conect_parsing.pdb": {"bonds"},
    # The columns hold `inf`. MDAnalysis takes it, ours the default, with a message.
    "fullerene.pdb.gz": {"occupancies", "tempfactors"},
    # Type CG2O1 is cut to CG2O. Ours is right.
    "namd_cgenff.psf": {"types"},
}
# Files that ours refuses and MDAnalysis reads.
REFUSED = {
    # There are fewer chain identifiers than residues. MDAnalysis reads the file without any.
    "Amber/ache_chainid.error5.prmtop.bz2": "line 4293, column 69: expected chain identifiers"
}
# Files that MDAnalysis refuses and ours reads: the number of their atoms.
READ_HERE_ONLY = {
    # A malformed comment; sections are found by their flags.
    "Amber/ace_mbondi3.error4.parm7": 6,
    # A topology of CHAMBER.
    "Amber/parmed_fad.prmtop": 84,
}
# Files that both refuse.
REFUSED_BY_BOTH = {
    "Amber/ace_mbondi3.error1.parm7": "the file has no section POINTERS",
    "Amber/ace_mbondi3.error2.parm7": "the file has no section POINTERS",
    "Amber/ace_mbondi3.error3.parm7": "the file has no section RESIDUE_LABEL",
    "adk_notop_BAD.psf": "line 3335: the file ends here; expected a line for each atom",
    "bad_top.top": "unrecognised topology format",
    "empty_atom.gro": "line 3, column 1: expected a residue number",
    "gromacs_ala10.top": "unrecognised topology format",
    "missing_atomname.gro": "line 3, column 11: the atom has no name",
    "tprs/all_bonded/dummy.top": "unrecognised topology format",
    "tprs/all_bonded/dummy_3.3.4.top": "unrecognised topology format",
    "tprs/virtual_sites/dummy.top": "unrecognised topology format",
    "tprs/virtual_sites/dummy_2021.top": "unrecognised topology format",
    "tprs/virtual_sites/dummy_4.0.7.top": "unrecognised topology format",
}


def content(path: Path) -> bytes:
    """Return the uncompressed bytes of a file."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"BZh"):
        return bz2.decompress(data)
    return data


def uncompressed_name(path: Path) -> str:
    """Return the name of a file without the suffix of its compression."""
    return path.name.removesuffix(".gz").removesuffix(".bz2")


def is_compressed_otherwise(path: Path) -> bool:
    """Whether a file has the suffix of bzip2 but is of another program."""
    return (
        path.suffix == ".bz2"
        and path.read_bytes()[:3] != b"BZh"
        and path.read_bytes()[:2] != b"\x1f\x8b"
    )


def names() -> list[str]:
    """Return the paths of all files of these formats, relative to the folder."""
    files = [path for path in DATA.rglob("*") if path.is_file()]
    files = [path for path in files if uncompressed_name(path).endswith(SUFFIXES)]
    return sorted(
        str(path.relative_to(DATA)) for path in files if not is_compressed_otherwise(path)
    )


def marked(name: str) -> object:
    """Leave large files to long runs."""
    path = DATA / name
    compression = 1 if path.suffix not in (".gz", ".bz2") else 4
    # The files of this folder are all alike.
    alike = name.startswith("dssp/") and not name.startswith("dssp/1")
    large = alike or path.stat().st_size * compression > LARGE
    return pytest.param(name, marks=pytest.mark.long) if large else name


@pytest.fixture
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the path of an uncompressed copy of a file."""
    path = DATA / request.param
    copy = tmp_path / uncompressed_name(path)
    copy.write_bytes(content(path))
    return copy


def universe(path: Path) -> mda.Universe:
    """Parse a file with MDAnalysis, without guesses."""
    kind = {"topology_format": "TOP"} if path.suffix == ".top" else {}
    return mda.Universe(str(path), to_guess=(), **kind)


def columns_of(topology: StructureFile) -> dict[str, NDArray[np.generic] | None]:
    """Return all columns for each atom, by their names in MDAnalysis."""
    return {name: topology.of_atoms(name) for name in COLUMNS}


def differences(path: Path, topology: StructureFile, theirs: mda.Universe) -> set[str]:
    """Return the names of the columns that differ."""
    different = set()
    for name, ours in columns_of(topology).items():
        other = getattr(theirs.atoms, name, None)
        if path.suffix == ".psf" and name == "ids" and other is not None:
            # MDAnalysis subtracts one.
            other = other + 1
        if path.suffix == ".psf" and name == "segindices":
            # MDAnalysis sorts segments by name, here they are in the order of the file.
            continue
        if path.suffix in (".prmtop", ".parm7", ".top") and name == "ids":
            # The format has none.
            assert ours is None
            continue
        if ours is None or other is None:
            if not (ours is None and other is None):
                different.add(name)
            continue
        if name in ROUNDED:
            # Charges of PRMTOP files are divided in single precision there.
            ulp = 1.2e-7 if name == "charges" else 0
            equal = np.allclose(
                ours.astype(np.float32), np.asarray(other, np.float32), rtol=ulp, atol=0
            )
        else:
            equal = np.array_equal(ours.astype(np.asarray(other).dtype), other)
        if not equal:
            different.add(name)
    bonds = (
        sorted({tuple(sorted(bond)) for bond in theirs.bonds.indices.tolist()})
        if hasattr(theirs, "bonds")
        else None
    )
    if (topology.bonds is None) != (bonds is None) or (
        bonds is not None and topology.bonds.tolist() != [list(b) for b in bonds]
    ):
        different.add("bonds")
    return different


@pytest.mark.parametrize("plain", [marked(name) for name in names()], indirect=True)
def test_columns_and_bonds_equal_those_of_mdanalysis(
    plain: Path, request: pytest.FixtureRequest
) -> None:
    """Every column of every file equals MDAnalysis' one, but for the listed differences."""
    name = request.node.callspec.params["plain"]
    if name in (*REFUSED, *REFUSED_BY_BOTH):
        with raises(FormatError):
            StructureFile.open(plain)
        if name in REFUSED:
            universe(plain)
            return
    topology = None if name in REFUSED_BY_BOTH else StructureFile.open(plain)
    if topology is None or name in READ_HERE_ONLY:
        with pytest.raises((ValueError, OSError, IndexError)):
            universe(plain)
        assert topology is None or topology.n_atoms == READ_HERE_ONLY[name]
        return
    theirs = universe(plain)
    assert topology.n_atoms == len(theirs.atoms)
    assert differences(plain, topology, theirs) == DIFFERENCES.get(name, set())
    if topology.positions is None:
        assert plain.suffix not in (".gro", ".pdb", ".ent")
        return
    assert topology.positions.dtype == np.float32
    assert np.array_equal(topology.positions, theirs.atoms.positions), (
        "positions have the same bits"
    )
    assert (topology.cell is None) == (theirs.dimensions is None or is_of_crystal(plain))
    if topology.cell is not None:
        # MDAnalysis computes angles in single precision.
        np.testing.assert_allclose(topology.cell, theirs.dimensions, rtol=1e-6, atol=2e-4)


def test_every_listed_file_exists() -> None:
    """The tables name no file that is not compared."""
    listed = {*DIFFERENCES, *REFUSED, *READ_HERE_ONLY, *REFUSED_BY_BOTH}
    assert listed <= set(names())
    assert len(names()) > 170


def test_positions_are_read_only_when_asked_for() -> None:
    """Positions can be left out."""
    topology = StructureFile.open(DATA / "adk_open.pdb", positions=False)
    assert topology.positions is None
    assert topology.n_atoms == 3341


def test_a_compressed_file_is_an_error_that_says_what_to_do() -> None:
    """The program that decompresses the file is named."""
    with raises(FormatError):
        StructureFile.open(DATA / "19hc.pdb.gz")
    with raises(FormatError):
        StructureFile.open(DATA / "6msm.pdb.bz2")
    with raises(TypeError):
        tj.open(DATA / "6msm.pdb.bz2")


def test_a_folder_and_a_missing_file_are_their_own_errors(tmp_path: Path) -> None:
    """Paths that are no file raise the exceptions that Python has for them."""
    with pytest.raises(IsADirectoryError):
        StructureFile.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        StructureFile.open(tmp_path / "none.gro")
    with raises(OSError):
        StructureFile.open("/dev/null")


@pytest.mark.parametrize("name", ["adk_oplsaa.gro", "adk.psf", "Amber/ache.prmtop", "adk_open.pdb"])
def test_first_bytes_tell_the_format_of_a_file_without_suffix(name: str, tmp_path: Path) -> None:
    """A file is the same under a name without suffix."""
    copy = tmp_path / "topology"
    copy.write_bytes((DATA / name).read_bytes())
    named, unnamed = StructureFile.open(DATA / name), StructureFile.open(copy)
    assert columns_of(named).keys() == columns_of(unnamed).keys()
    for column, values in columns_of(named).items():
        assert np.array_equal(values, columns_of(unnamed)[column]), column


def old_format(path: Path) -> str:
    """Write a PRMTOP file as Amber 6 did: the same numbers in a fixed order, without flags."""
    sections: dict[str, str] = {}
    lines = path.read_text().splitlines()
    flag, text = "", {}
    for line in lines:
        if line.startswith("%FLAG"):
            flag = line.split()[1]
            text[flag] = []
        elif not line.startswith("%") and flag:
            text[flag].append(line)
    sections = {flag: "\n".join(rows) for flag, rows in text.items()}

    def integers(flag: str) -> str:
        numbers = [int(word) for word in sections[flag].split()]
        if flag == "POINTERS":
            numbers = numbers[:30]
        rows = [numbers[i : i + 12] for i in range(0, len(numbers), 12)] or [[]]
        return "\n".join("".join(f"{number:6d}" for number in row) for row in rows)

    order = (
        "POINTERS ATOM_NAME CHARGE MASS ATOM_TYPE_INDEX NUMBER_EXCLUDED_ATOMS "
        "NONBONDED_PARM_INDEX RESIDUE_LABEL RESIDUE_POINTER BOND_FORCE_CONSTANT "
        "BOND_EQUIL_VALUE ANGLE_FORCE_CONSTANT ANGLE_EQUIL_VALUE DIHEDRAL_FORCE_CONSTANT "
        "DIHEDRAL_PERIODICITY DIHEDRAL_PHASE SOLTY LENNARD_JONES_ACOEF LENNARD_JONES_BCOEF "
        "BONDS_INC_HYDROGEN BONDS_WITHOUT_HYDROGEN ANGLES_INC_HYDROGEN "
        "ANGLES_WITHOUT_HYDROGEN DIHEDRALS_INC_HYDROGEN DIHEDRALS_WITHOUT_HYDROGEN "
        "EXCLUDED_ATOMS_LIST HBOND_ACOEF HBOND_BCOEF HBCUT AMBER_ATOM_TYPE "
    )
    of_integers = (
        "POINTERS ATOM_TYPE NUMBER_EXC NONBONDED RESIDUE_P BONDS_ ANGLES_ DIHEDRALS_ EXCLUDED"
    )
    begins = tuple(of_integers.split())
    parts = [integers(f) if f.startswith(begins) else sections[f] for f in order.split()]
    return "\n".join(["title", *parts]) + "\n"


@pytest.mark.parametrize("name", ["Amber/ache.prmtop", "Amber/chitosan.prmtop"])
def test_prmtop_without_flags_is_the_same_topology(name: str, tmp_path: Path) -> None:
    """The old format gives the columns of the new one."""
    copy = tmp_path / "old.prmtop"
    copy.write_text(old_format(DATA / name))
    new, old = StructureFile.open(DATA / name), StructureFile.open(copy)
    ours, theirs = columns_of(old), columns_of(new)
    assert ours.pop("elements") is None
    theirs.pop("elements")
    for column, values in theirs.items():
        assert np.array_equal(ours[column], values), column
    assert new.bonds is not None
    assert np.array_equal(old.bonds, new.bonds)


def test_charges_of_chamber_are_those_of_the_force_field() -> None:
    """The charge unit is that of the comment: CHARMM's charges are multiples of 0.005."""
    charges = StructureFile.open(DATA / "Amber/parmed_fad.prmtop").column("charges")
    assert charges is not None
    np.testing.assert_allclose(200 * charges, (200 * charges).round(), atol=1e-9)
    np.testing.assert_allclose(charges[:4], [-0.63, 0.73, -0.47, -0.54], atol=1e-12)


def test_masses_of_wide_psf_files_are_read(tmp_path: Path) -> None:
    """MDAnalysis 2.11 takes numeric types of `EXT` for four columns, and all masses for 1."""
    text = "PSF EXT\n\n         1 !NTITLE\n title\n\n         2 !NATOM\n"
    text += (
        "         1 PROTEINA 1        ALA      N          56  -0.470000       14.0070           0\n"
    )
    text += (
        "         2 PROTEINA 1        ALA      CA        123   0.070000       12.0110           0\n"
    )
    path = tmp_path / "wide.psf"
    path.write_text(text + "\n         1 !NBOND: bonds\n         1         2\n")
    topology = StructureFile.open(path)
    masses, types = topology.column("masses"), topology.column("types")
    assert masses is not None
    assert types is not None
    assert masses.tolist() == [14.007, 12.011]
    assert types.tolist() == ["56", "123"]


@pytest.mark.parametrize(
    "name", ["adk_oplsaa.gro", "adk_open.pdb", "nucl_res.pdb", "chainIDnewres.pdb.gz"]
)
def test_guessed_masses_and_types_equal_those_of_mdanalysis(name: str, tmp_path: Path) -> None:
    """Guesses are made on demand, by the same rule."""
    copy = tmp_path / uncompressed_name(DATA / name)
    copy.write_bytes(content(DATA / name))
    theirs, ours = mda.Universe(str(copy)), StructureFile.open(copy)
    assert ours.guessed == []
    ours.guess("masses")
    ours.guess("types")
    masses, types = ours.column("masses"), ours.column("types")
    assert masses is not None
    assert types is not None
    # Sodium is 22.98977 or 22.989768 there.
    np.testing.assert_allclose(masses, theirs.atoms.masses, rtol=2e-7)
    assert types.tolist() == theirs.atoms.types.tolist()
    assert "masses" in ours.guessed


def test_guessed_bonds_do_not_depend_on_listed_ones(tmp_path: Path) -> None:
    """PDB files often list a few bonds (CONECT)."""
    lines = (DATA / "adk_open.pdb").read_text().splitlines()
    atoms = [line for line in lines if line.startswith(("CRYST1", "ATOM"))]
    plain, few = tmp_path / "plain.pdb", tmp_path / "few.pdb"
    plain.write_text("\n".join([*atoms, "END", ""]))
    few.write_text("\n".join([*atoms, "CONECT    1    2", "END", ""]))
    bonds = [tj.open(path).topology.guessed_bonds.tolist() for path in (plain, few)]
    assert len(bonds[0]) > 1000
    assert bonds[0] == bonds[1]
    assert tj.open(few).topology.bonds.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    "name", ["adk_open.pdb", "two_water_gro.gro", "capping/aaqaa.gro", "nucl_res.pdb"]
)
def test_guessed_bonds_equal_those_of_mdanalysis(name: str) -> None:
    """The rule of distances is the same; bonds that the file lists are replaced."""
    theirs, ours = (
        mda.Universe(str(DATA / name), to_guess=("types",)),
        StructureFile.open(DATA / name),
    )
    theirs.guess_TopologyAttrs(to_guess=["bonds"])
    assert ours.guess_bonds().tolist() == []
    assert ours.guessed == ["bonds"]
    assert ours.bonds is not None
    assert {tuple(bond) for bond in ours.bonds.tolist()} == {
        tuple(sorted(b)) for b in theirs.bonds.indices.tolist()
    }


@pytest.mark.parametrize(
    ("name", "line", "column", "replacement"),
    [
        ("adk_oplsaa.gro", 5, 21, "x"),
        ("adk_oplsaa.gro", 5, 1, "?"),
        ("adk_oplsaa.gro", 2, 1, "999999"),
        ("adk_open.pdb", 12, 31, "1.2.3"),
        ("adk_open.pdb", 12, 23, "?"),
        ("adk.psf", 9, 36, "x"),
        ("adk.psf", 3351, 8, "x"),
        ("Amber/ache.prmtop", 30, 3, "x"),
    ],
)
def test_a_damaged_file_is_an_error_with_line_and_column(
    name: str, line: int, column: int, replacement: str, tmp_path: Path
) -> None:
    """The error tells where the damage is."""
    lines = (DATA / name).read_bytes().split(b"\n")
    old, new = lines[line - 1], replacement.encode()
    lines[line - 1] = old[: column - 1] + new + old[column - 1 + len(new) :]
    copy = tmp_path / Path(name).name
    copy.write_bytes(b"\n".join(lines))
    with raises(FormatError):
        StructureFile.open(copy)


@pytest.mark.parametrize("name", ["capping/aaqaa.gro", "namd_cgenff.psf", "Amber/chitosan.prmtop"])
def test_a_file_that_ends_early_is_an_error(name: str, tmp_path: Path) -> None:
    """A cut file is never a smaller topology."""
    data = (DATA / name).read_bytes()
    # What follows the bonds is not read.
    end = {
        ".gro": len(data.rstrip()) - 20,
        ".psf": data.find(b"!NTHETA") - 40,
        ".prmtop": data.find(b"%FLAG ANGLES_I"),
    }
    copy = tmp_path / Path(name).name
    for at in np.random.default_rng(5).integers(0, end[copy.suffix] - 40, 40):
        copy.write_bytes(data[:at])
        with pytest.raises(FormatError):
            StructureFile.open(copy)


def made_gro(path: Path, atoms: list[tuple[int, str, str]]) -> Path:
    """Write atoms, given by number and name of the residue and name, apart from one another."""
    lines = [
        f"{number:5d}{residue:<5}{name:>5}{k % 100000:5d}{k:8.3f}{0:8.3f}{0:8.3f}"
        for k, (number, residue, name) in enumerate(atoms)
    ]
    path.write_text("\n".join(["t", f"{len(atoms)}", *lines, "  999 9 9", ""]))
    return path


def test_types_by_names_are_those_of_mdanalysis_but_for_ions_in_molecules(tmp_path: Path) -> None:
    """An atom alone has its type; in a molecule, the first letter may be that of an element."""
    rng = np.random.default_rng(11)
    letters = list("ABCEFGHIKLMNOPQRSZ012345'*+-")
    drawn = {"".join(rng.choice(letters, n)) for n in rng.integers(1, 5, 4000)}
    names = sorted(drawn | {"C0", "NA", "NA2", "NAB", "CAL", "HNA", "SOD", "FE", "MG", "ZN", "CS"})
    guesser = mda.guesser.DefaultGuesser(None)
    theirs = [guesser.guess_atom_element(name) for name in names]
    alone = made_gro(tmp_path / "alone.gro", [(k, "XXX", name) for k, name in enumerate(names)])
    assert tj.open(alone).topology.types.tolist() == theirs
    molecule = made_gro(tmp_path / "molecule.gro", [(1, "LIG", name) for name in names])
    types = tj.open(molecule).topology.types.tolist()
    others = {
        name: (own, their)
        for name, own, their in zip(names, types, theirs, strict=True)
        if own != their
    }
    assert {"C0", "NA", "NA2", "NAB", "CAL", "HNA", "CS"} <= others.keys()
    assert not {"SOD", "FE", "MG", "ZN"} & others.keys()
    for name, (own, their) in others.items():
        assert own == next(letter for letter in name if letter.isalpha())
        assert their in {"AL", "BE", "CA", "CE", "CL", "CS", "K", "LI", "MG", "NA", "RB", "SI"}
        assert "+" not in name


def test_nitrogen_of_a_heme_is_no_sodium(tmp_path: Path) -> None:
    """Masses and radii follow; messages name the rarest guesses first."""
    atoms = [*((1, "HEM", f"C{k}") for k in range(4)), (1, "HEM", "NA"), (1, "HEM", "FE")]
    atoms += [(2, "NA", "NA"), (3, "ION", "NA"), (4, "NA", "NA+")]
    atoms += [(5 + k, "SOL", name) for k in range(9) for name in ("OW", "HW1", "HW2")]
    atoms += [(14, "LIG", name) for name in ("S1", "P1", "BR1")]
    traj = tj.open(made_gro(tmp_path / "heme.gro", atoms))
    masses = traj.topology.masses.round(2).tolist()
    assert masses[:9] == [12.01, 12.01, 12.01, 12.01, 14.01, 55.85, 22.99, 22.99, 22.99]
    heavy = traj.select("not resname SOL").indices
    assert len(tj.contact_map(traj.select(heavy), heavy_only=True, by="atom")) == len(heavy)
    areas = tj.sasa(traj.select("resname HEM and name C0 C1 NA"), by="atom")
    assert areas.values[0, 0] == areas.values[0, 1] > areas.values[0, 2] > 0
    message = next(text for text in tj.gyration(traj.select("all")).messages)
    assert "(BR1 79.904, FE 55.8" in message
    message = next(text for text in tj.sasa(traj.select("all")).messages)
    assert "Br 1, Fe 1, N 1, P 1, S 1, … atoms" in message
