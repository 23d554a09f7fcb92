"""Data files of LAMMPS as topologies, beside MDAnalysis' reading of those that it ships."""

import bz2
import json
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.golden_files import DATA
from helpers.lammps_dumps import BOXES, Frame, snapshot, write
from helpers.messages import raises, warns
from trajet.formats import FormatOptions
from trajet.topology import load

FILES = sorted(path.name for path in (DATA / "lammps").iterdir() if ".data" in path.suffixes)
# Columns of MDAnalysis for those that are not of style full.
STYLES = {"albite_triclinic": "id type x y z", "pairij_coeffs": "id resid type x y z"}
HEAD = "LAMMPS\n\n3 atoms\n2 atom types\n\n10 50 xlo xhi\n20 70 ylo yhi\n30 90 zlo zhi\n"
MASSES = "\nMasses\n\n1 6.94\n2 18.998\n"
ATOMS = "\nAtoms # charge\n\n30 2 -1 15 31 49\n7 1 0.5 14 30 48\n12 1 0.5 16 32 50\n"


def plain(name: str, folder: Path) -> Path:
    """Return an uncompressed file with the ending `.data`."""
    data = (DATA / "lammps" / name).read_bytes()
    path = folder / f"{name.split('.', maxsplit=1)[0]}.data"
    path.write_bytes(bz2.decompress(data) if name.endswith(".bz2") else data)
    return path


@pytest.mark.parametrize("name", FILES)
def test_every_file_equals_mdanalysis(name: str, tmp_path: Path) -> None:
    """Atoms are those of MDAnalysis, by id: types, molecules, masses, charges, bonds, positions."""
    path = plain(name, tmp_path)
    # Lines of mini.data may be those of atom style sphere, too.
    options = {"atom_style": "full"} if name.startswith("mini") else {}
    found = load(path, format_options=json.dumps({"lammps": options}))
    topology = found.topology
    style = STYLES.get(name.partition(".")[0], "id resid type charge x y z")
    universe = mda.Universe(str(path), atom_style=style, to_guess=())
    atoms = universe.atoms[np.argsort(universe.atoms.ids)]
    assert topology.ids.tolist() == atoms.ids.tolist()
    assert topology.types.tolist() == atoms.types.tolist()
    assert topology.atoms.column("names").tolist() == atoms.types.tolist()
    assert np.array_equal(topology.masses, atoms.masses)
    assert found.positions is not None
    assert np.array_equal(found.positions, atoms.positions)
    if "charge" in style:
        assert np.array_equal(topology.charges.astype(np.float32), atoms.charges)
        assert topology.residues.resids[topology.resindices].tolist() == atoms.resids.tolist()
    if topology.bonds is not None:
        place = np.argsort(np.argsort(universe.atoms.ids))
        expected = np.unique(np.sort(place[universe.bonds.indices], axis=1), axis=0)
        assert np.array_equal(topology.bonds, expected)
    else:
        assert not len(getattr(universe, "bonds", ()))
    expected = universe.dimensions
    assert np.allclose(found.box.cell, expected, rtol=1e-5, atol=1e-4)


def test_data_file_and_dump_are_one_system(tmp_path: Path) -> None:
    """Atom k has the k-th smallest id in both, so that selections name the same atoms."""
    data = tmp_path / "system.data"
    data.write_text(HEAD + MASSES + ATOMS)
    fractions = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.9, 0.1, 0.2]])
    frame = Frame(BOXES["orthogonal"], fractions, np.zeros((3, 3), int), np.array([7, 12, 30]))
    dump = write(tmp_path / "run.lammpstrj", [snapshot(frame.taken(np.array([2, 0, 1])), "xs")])
    traj = tj.open(data, dump, format_options={"lammps": {"units": "metal"}})
    assert traj.topology.elements.tolist() == ["Li", "Li", "F"]
    assert traj.select("element F").indices.tolist() == [2]
    assert traj.select("type 1").read().positions[0].tolist() == [[14, 30, 48], [30, 45, 60]]
    assert not traj.warnings


@pytest.mark.parametrize("further", [{"type": [1, 2, 2]}, {"mass": [6.94, 19.0, 19.0]}])
def test_other_types_or_masses_than_in_the_data_file_get_a_message(
    further: dict[str, list[float]], tmp_path: Path
) -> None:
    """The ids tell the order of the atoms, and not that the data file is that of the run."""
    data = tmp_path / "system.data"
    data.write_text(HEAD + MASSES + ATOMS)
    frame = Frame(BOXES["orthogonal"], np.eye(3) / 2, np.zeros((3, 3), int), np.array([7, 12, 30]))
    columns = {name: np.array(values) for name, values in further.items()}
    dump = write(tmp_path / "run.lammpstrj", [snapshot(frame, "xs", further=columns)])
    with warns(tj.TrajetWarning):
        traj = tj.open(data, dump, format_options={"lammps": {"units": "metal"}})
    assert traj.topology.elements.tolist() == ["Li", "Li", "F"]


def test_dump_alone_is_a_topology(tmp_path: Path) -> None:
    """Types, molecules and charges of its first frame are those of the atoms."""
    frame = Frame(
        BOXES["tilted"],
        np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]),
        np.zeros((2, 3), int),
        np.array([9, 3]),
    )
    further = {"type": np.array([2, 1]), "mol": np.array([5, 4]), "q": np.array([-0.5, 0.5])}
    path = write(
        tmp_path / "run.lammpstrj",
        [snapshot(frame, "x", step=k, further=further) for k in range(3)],
    )
    options: FormatOptions = {"lammps": {"units": "metal", "types": {1: "Na", 2: "Cl"}}}
    traj = tj.open(path, format_options=options)
    topology = traj.topology
    assert traj.n_frames == 3
    assert topology.names.tolist() == ["1", "2"]
    assert topology.elements.tolist() == ["Na", "Cl"]
    assert topology.masses.tolist() == [22.98977, 35.45]
    assert topology.charges.tolist() == [0.5, -0.5]
    assert topology.molecules.tolist() == [0, 1]
    assert traj.select("resid 5").indices.tolist() == [1]
    # Workers and pickles have the options as well.
    assert tj.rmsd(traj.select("element Cl"), pool=tj.ProcessPool(workers=1)).values.tolist() == [
        0,
        0,
        0,
    ]
    succeed("info", "--format-option", "lammps.types.1=K", path)


def test_store_keeps_no_options_of_topologies(tmp_path: Path) -> None:
    """A system that needs none is stored, with its atoms; others are an error."""
    data = tmp_path / "system.data"
    data.write_text(HEAD + MASSES + ATOMS)
    fractions = np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 0.5], [0.9, 0.1, 0.2]])
    frame = Frame(BOXES["orthogonal"], fractions, np.zeros((3, 3), int), np.array([7, 12, 30]))
    dump = write(tmp_path / "run.lammpstrj", [snapshot(frame, "x")])
    xtc = tj.convert(tj.open(data, dump), tmp_path / "run.xtc").path
    store = tj.Store(tmp_path / "store", create=True)
    # The built-in tags are of residues, which have no names here.
    profile = tmp_path / "profile.toml"
    tag = '[[tags]]\nname = "all"\nshort = "a"\nselect = "all"\ntier = "fast"\n'
    profile.write_text(f'[tiers]\nfast = "{tmp_path / "fast"}"\n{tag}')
    store.add("run", tj.open(data, xtc), profile=profile)
    kept = tj.open(tmp_path / "store" / "run")
    assert kept.topology.elements.tolist() == ["Li", "Li", "F"]
    assert np.allclose(kept.read().positions[0], frame.wrapped, atol=0.006)
    options: FormatOptions = {"lammps": {"types": {1: "Na"}}}
    with raises(tj.StoreError):
        store.add("other", tj.open(data, xtc, format_options=options), profile=profile)


def test_dump_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    """LAMMPS' users give it any ending."""
    frame = Frame(BOXES["tilted"], np.eye(3) / 2, np.zeros((3, 3), int), np.array([1, 2, 3]))
    path = write(tmp_path / "dump.0", [snapshot(frame, "xs")])
    assert tj.open(path).topology.ids.tolist() == [1, 2, 3]
    assert any("frames" in line for line in succeed("info", path))


def test_style_that_several_fit_is_an_error(tmp_path: Path) -> None:
    """The error lists them, and an option names one."""
    path = tmp_path / "system.data"
    rows = "1 1 2 0 0 0\n2 2 1 0 0 0\n3 1 1 0 0 0\n"
    path.write_text(f"{HEAD}{MASSES}\nAtoms\n\n{rows}")
    with raises(tj.FormatError, path, "charge", "molecular", "atom_style"):
        load(path)
    options = json.dumps({"lammps": {"atom_style": "charge"}})
    assert load(path, format_options=options).topology.charges.tolist() == [2, 1, 1]
    for wrong in ({"atom_style": "sphere"}, {"types": {"1": 3}}, {"style": "full"}):
        with raises(ValueError, "format options"):
            load(path, format_options=json.dumps({"lammps": wrong}))


def test_element_that_is_none_is_an_error(tmp_path: Path) -> None:
    """As is a type that the file lacks."""
    path = tmp_path / "system.data"
    path.write_text(HEAD + MASSES + ATOMS)
    for types, word in (({1: "Qq"}, "Qq"), ({3: "Li"}, "3")):
        with raises(tj.FormatError, path, word):
            load(path, format_options=json.dumps({"lammps": {"types": types}}))


def test_unknown_masses_and_united_atoms_have_no_element(tmp_path: Path) -> None:
    """Masses of models and united atoms tell no element, and no name does."""
    path = tmp_path / "system.data"
    path.write_text(HEAD + MASSES.replace("6.94", "14.027").replace("18.998", "1.0") + ATOMS)
    topology = load(path).topology
    assert topology.masses.tolist() == [14.027, 14.027, 1.0]
    assert topology.native.column("elements") is None


def test_info_tells_of_a_data_file(tmp_path: Path) -> None:
    """`trajet info` describes it as a topology."""
    path = tmp_path / "system.data"
    path.write_text(HEAD + MASSES + ATOMS)
    assert "atoms         3" in succeed("info", path)
    style = "lammps.atom_style=full"
    path.write_text(
        HEAD + MASSES + ATOMS.replace("# charge", "").replace(" -1 ", " 1 ").replace("0.5", "2")
    )
    fail("info", path)
    assert "charges       5 e in all" in succeed(
        "info", "--format-option", style.replace("full", "charge"), path
    )
    fail("info", "--format-option", style, path)
