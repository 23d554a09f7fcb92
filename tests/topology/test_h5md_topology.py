"""Topologies and bonds in H5MD files are those of the TPR files that GROMACS made them of."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import succeed
from helpers.made_hdf5 import add_gromacs_topology
from helpers.messages import raises
from MDAnalysisTests.datafiles import GRO, TPR, XTC
from trajet.topology import COLUMNS

TOPOLOGY = "h5md/modules/gromacs_topology"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an H5MD file of a solvated protein with ions, as GROMACS 2026 writes it."""
    path = tmp_path_factory.mktemp("gromacs") / "solvated.h5md"
    tj.convert(tj.open(None, XTC), path, frames=slice(0, 2))
    add_gromacs_topology(path, mda.Universe(TPR).atoms)
    return path


@pytest.fixture
def solvated(original: Path, tmp_path: Path) -> Path:
    """Return a copy of the file."""
    return shutil.copy(original, tmp_path / "solvated.h5md")


def test_topology_is_that_of_the_tpr(original: Path) -> None:
    """All columns but types, which GROMACS leaves out, and bonds."""
    ours, tpr = tj.open(original).topology, tj.open(TPR, XTC).topology
    names = [name for name in COLUMNS if tpr.column(name) is not None and name != "types"]
    assert {"names", "elements", "masses", "charges", "resids", "molnums"} <= set(names)
    for name in names:
        found, expected = ours.column(name), tpr.column(name)
        assert found is not None and found.tolist() == expected.tolist(), name
    assert ours.bonds.tolist() == tpr.bonds.tolist()
    assert "masses" not in ours.native.guessed


def test_file_is_its_own_topology(original: Path) -> None:
    """Analyses, also of repaired molecules, are those with the TPR as topology."""
    with tj.open(original) as alone:
        beside = tj.open(TPR, original)
        for traj in (alone, beside):
            assert traj.select("protein and name CA").n_atoms == 214
        first, second = (
            tj.rmsd(traj.whole().select("protein"), weights="mass") for traj in (alone, beside)
        )
        assert np.array_equal(first.values, second.values)
        again = pickle.loads(pickle.dumps(alone))
        assert again.topology.masses.tolist() == alone.topology.masses.tolist()


def test_file_is_a_reference(original: Path) -> None:
    """Its first frame is."""
    calpha = tj.open(TPR, XTC).select("name CA")
    first = tj.rmsd(calpha, reference=str(original))
    assert np.array_equal(first.values, tj.rmsd(calpha, reference=0).values)


def test_command_takes_the_file_alone(original: Path, tmp_path: Path) -> None:
    """As it takes a PDB file."""
    output = tmp_path / "rmsd.csv"
    succeed("rmsd", original, "--select", "name CA", "--output", output)
    assert len(output.read_text().splitlines()) == 3


def test_store_keeps_the_topology_without_frames(original: Path, tmp_path: Path) -> None:
    """A data set has its names and bonds."""
    store = tj.Store(tmp_path / "store", create=True)
    store.add("solvated", tj.open(original))
    (kept,) = (tmp_path / "store").rglob("topology*.h5md")
    with h5py.File(kept) as file:
        assert "particles" not in file
    stored = tj.open(tmp_path / "store" / "solvated").topology
    assert stored.names.tolist() == tj.open(original).topology.names.tolist()
    assert stored.bonds.tolist() == tj.open(original).topology.bonds.tolist()


def test_store_keeps_bonds_of_other_programs(solvated: Path, tmp_path: Path) -> None:
    """Stores keep bonds of an H5MD topology; a message says if a data set has none."""
    (name,) = h5py.File(solvated)["particles"]
    with with_bonds(solvated, [[70, 30]]) as file:
        group = file["particles"][name]
        group["id"] = 10 * np.arange(47681)
        file["connectivity/bonds"].attrs["particles_group"] = group.ref
    store = tj.Store(tmp_path / "store", create=True)
    assert not any("bonds" in one for one in store.add("one", tj.open(solvated)).messages)
    assert tj.open(tmp_path / "store" / "one").topology.bonds.tolist() == [[3, 7]]
    messages = store.add("two", tj.open(GRO, solvated)).messages
    assert any("the data set has no bonds" in one for one in messages)
    assert tj.open(tmp_path / "store" / "two").topology.bonds is None


def test_reference_without_positions_is_an_error(solvated: Path) -> None:
    """Files of velocities have none."""
    (name,) = h5py.File(solvated)["particles"]
    with h5py.File(solvated, "a") as file:
        group = file["particles"][name]
        group.move("position", "velocity")
        del group["velocity/value"].attrs["unit"]
        group["velocity/value"].attrs["unit"] = "Angstrom ps-1"
    with raises(tj.SelectionError):
        tj.rmsd(tj.open(TPR, XTC).select("name CA"), reference=str(solvated))


def test_types_in_many_blocks_are_read_once(solvated: Path) -> None:
    """As in mixed membranes."""
    with h5py.File(solvated, "a") as file:
        group = file[TOPOLOGY]
        names, counts = (
            group.attrs[f"molecule_block_{what}"].tolist() for what in ("names", "counts")
        )
        at = names.index(b"SOL")
        group.attrs["molecule_block_names"] = [*names[:at], *[b"SOL"] * 1000, *names[at:]]
        group.attrs["molecule_block_counts"] = [
            *counts[:at],
            *[1] * 1000,
            counts[at] - 1000,
            *counts[at + 1 :],
        ]
    topology, original = tj.open(solvated).topology, tj.open(TPR, XTC).topology
    assert topology.n_segments == len(counts) + 1000
    for name in ("names", "resnames", "molnums", "masses"):
        assert topology.column(name).tolist() == original.column(name).tolist()
    assert len(topology.native.column("names")[1]) == len(original.native.column("names")[1])


def test_bonds_of_frames_complete_a_topology(original: Path) -> None:
    """GRO files list no bonds; those of other topologies remain."""
    traj = tj.open(GRO, original)
    assert traj.topology.bonds.tolist() == tj.open(TPR, XTC).topology.bonds.tolist()
    assert tj.open(GRO, XTC).topology.bonds is None
    # The protein, and the atoms of a water, whose virtual site has no bond.
    assert np.unique(traj.topology.molecules[:3341]).tolist() == [0]
    assert traj.topology.molecules[3341:3345].tolist() == [3341, 3341, 3341, 3344]


def test_file_of_frames_alone_is_no_topology(tmp_path: Path) -> None:
    """The error says what is missing."""
    path = tmp_path / "plain.h5md"
    tj.convert(tj.open(None, XTC), path, frames=slice(0, 1))
    with raises(TypeError):
        tj.open(path)
    with raises(tj.FormatError):
        _ = tj.open(path, path).topology


def test_other_number_of_atoms_is_an_error(original: Path) -> None:
    """As for any topology."""
    with raises(tj.SelectionError):
        _ = tj.open(original, tj.open(GRO).paths[0].parent / "adk_dims.dcd").topology


def _set(path: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[path]
        file[path] = value

    return change


def _set_attribute(name: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[TOPOLOGY].attrs[name] = value

    return change


def _delete_attribute(name: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[TOPOLOGY].attrs[name]

    return change


def _set_unit(path: str, unit: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[path].attrs["unit"] = np.bytes_(unit)

    return change


def _empty_type(file: h5py.File) -> None:
    """Have many molecules of a type without atoms."""
    group = file[TOPOLOGY]
    names, counts = (group.attrs[f"molecule_block_{what}"] for what in ("names", "counts"))
    group.attrs["molecule_block_names"] = [*names, b"none"]
    group.attrs["molecule_block_counts"] = [*counts, 2**31 - 1]
    for name, column in group["SOL"].items():
        group[f"none/{name}"] = column[()] if name.endswith("table") else column[:0]


def _delete(path: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[path]

    return change


@pytest.mark.parametrize(
    "change",
    [
        _set_attribute("version", [1, 0]),
        _set_attribute("version", [0, 2]),
        _delete_attribute("version"),
        _set_attribute("molecule_block_counts", [0, 0, 0]),
        _set_attribute("molecule_block_counts", [1, 2]),
        _set_attribute("molecule_block_counts", [-1, 5, 5]),
        _set_attribute("molecule_block_counts", [1, 2**31 - 1, 4]),
        _set_attribute("molecule_block_names", [b"A", b"B", b"C"]),
        _empty_type,
        _delete(f"{TOPOLOGY}/SOL"),
        _delete(f"{TOPOLOGY}/SOL/mass"),
        _set(f"{TOPOLOGY}/SOL/mass", np.ones(5)),
        _set(f"{TOPOLOGY}/SOL/mass", np.ones(4, "i4")),
        _set(f"{TOPOLOGY}/SOL/mass", np.full(4, np.nan)),
        _set(f"{TOPOLOGY}/SOL/mass", np.full(4, -1.0)),
        _set_unit(f"{TOPOLOGY}/SOL/mass", "kg"),
        _delete(f"{TOPOLOGY}/SOL/particle_name_table"),
        _set(f"{TOPOLOGY}/SOL/particle_name_table", np.arange(4.0)),
        _set(f"{TOPOLOGY}/SOL/particle_name_table", np.full(5, b"O")),
        _set(f"{TOPOLOGY}/SOL/particle_name", [0, 1, 2, 9]),
        _set(f"{TOPOLOGY}/SOL/particle_name", [0, 1, 2, -1]),
        _set("connectivity/bonds", [[0, 47681]]),
        _set("connectivity/bonds", [[0, -1]]),
        _set("connectivity/bonds", [0, 1]),
        _set("connectivity/bonds", [[0.5, 1]]),
    ],
)
def test_damaged_topology_is_an_error(solvated: Path, change: Callable[[h5py.File], None]) -> None:
    """It says what and where."""
    with h5py.File(solvated, "a") as file:
        assert len(file[TOPOLOGY].attrs["molecule_block_counts"]) == 3
        change(file)
    with raises(tj.FormatError):
        _ = tj.open(solvated).topology


def with_bonds(solvated: Path, pairs: object, **options: object) -> h5py.File:
    """Return the open file with other bonds, of another program."""
    file = h5py.File(solvated, "a")
    del file["connectivity/bonds"]
    for name in ("name", "source_name"):
        file["h5md/creator"].attrs[name] = "other"
    file["connectivity"].create_dataset("bonds", data=np.asarray(pairs), **options)
    return file


def test_bonds_name_particles_by_their_id(solvated: Path) -> None:
    """The group may have ids in any order; without ids, bonds name particles by index."""
    (name,) = h5py.File(solvated)["particles"]
    numbers = 10 * np.random.default_rng(1).permutation(47681)
    with with_bonds(solvated, [[numbers[7], numbers[3]]]) as file:
        group = file["particles"][name]
        file["connectivity/bonds"].attrs["particles_group"] = group.ref
        group["id"] = numbers
    assert tj.open(GRO, solvated).topology.bonds.tolist() == [[3, 7]]
    with h5py.File(solvated, "a") as file:
        file["connectivity/bonds"][...] = [[3, 7]]
    traj = tj.open(GRO, solvated)
    assert traj.topology.bonds is None
    (message,) = [one for one in traj.messages if "bonds are left out" in one]
    assert "id of a particle that does not exist" in message
    with h5py.File(solvated, "a") as file:
        del file["particles"][name]["id"]
        file["particles"][name]["id"] = np.arange(47681.0)
    traj = tj.open(GRO, solvated)
    assert traj.topology.bonds is None
    assert any("is not a whole number for each particle" in one for one in traj.messages)
    with h5py.File(solvated, "a") as file:
        del file["particles"][name]["id"]
    assert tj.open(GRO, solvated).topology.bonds.tolist() == [[3, 7]]


@pytest.mark.parametrize(("kind", "fill"), [("i8", -1), ("u8", 2**64 - 1), ("u4", 2**32 - 1)])
def test_pairs_of_the_fill_value_are_no_bonds(solvated: Path, kind: str, fill: int) -> None:
    """H5MD fills rows that are not used."""
    with with_bonds(solvated, np.array([[3, 7], [fill, fill]], kind), fillvalue=fill):
        pass
    assert tj.open(GRO, solvated).topology.bonds.tolist() == [[3, 7]]


def test_bonds_of_other_particles_are_left_out(solvated: Path) -> None:
    """They are not those of the atoms that are read; nor are bonds that change in time."""
    with with_bonds(solvated, [[3, 7]]) as file:
        wall = file.create_group("particles/wall")
        file["connectivity/bonds"].attrs["particles_group"] = wall.ref
    assert tj.open(GRO, solvated).topology.bonds is None
    with h5py.File(solvated, "a") as file:
        bonds, wall = file["connectivity/bonds"], file["particles/wall"]
        bonds.attrs["particles_group"] = np.array([wall.ref], h5py.ref_dtype)
    assert tj.open(GRO, solvated).topology.bonds is None
    with h5py.File(solvated, "a") as file:
        del file["connectivity/bonds"]
        file["connectivity/bonds/value"] = [[[3, 7]]]
    assert tj.open(GRO, solvated).topology.bonds is None


def test_bonds_of_some_molecules_are_no_list_of_all(original: Path, solvated: Path) -> None:
    """Molecules and hydrogen bonds would be wrong; a list of all bonds is taken, and no other."""
    bonds = tj.open(original).topology.bonds
    of_protein = bonds[(bonds < 3341).all(axis=1)]
    for pairs, is_complete in ((of_protein, False), (bonds, True)):
        with with_bonds(solvated, pairs):
            pass
        for traj in (tj.open(GRO, solvated), tj.open(solvated)):
            assert traj.topology.has_all_bonds == is_complete
        traj = tj.open(GRO, solvated)
        calls: list[Callable[[], object]] = [
            lambda traj=traj: traj.topology.molecules,
            lambda traj=traj: traj.wrap(),
            lambda traj=traj: traj.cluster("protein"),
            lambda traj=traj: traj.select("same fragment as index 0"),
            lambda traj=traj: tj.hbonds(traj.select("protein"), frames=[0]),
        ]
        for call in calls:
            if is_complete:
                call()
                continue
            with raises(tj.SelectionError):
                call()
    assert (traj.topology.molecules == traj.topology.native.fragments()).all()
    with with_bonds(solvated, of_protein):
        pass
    with raises(tj.SelectionError):
        _ = tj.open(GRO, solvated).topology.molecules
