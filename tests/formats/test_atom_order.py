"""Text files beside a topology: their atoms are put into its order, or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.messages import raises
from helpers.named_atoms import WRITERS, Atom, chain_of, opened, write_gro, write_pdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Each example opens files of its own in the same folder.
SETTINGS = settings(
    max_examples=examples(10),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def same_places(found: Any, atoms: list[Atom]) -> bool:
    """Whether positions are those of these atoms, in Å."""
    expected = np.array([[atom.place * 10, 0, 0] for atom in atoms])
    return np.allclose(np.asarray(found).reshape(-1, 3), expected, atol=2e-3)


@SETTINGS
@given(order=st.permutations(range(9)), listed=st.lists(st.integers(0, 8), min_size=1))
def test_atoms_are_read_in_the_order_of_the_topology(
    order: list[int], listed: list[int], tmp_path: Path
) -> None:
    """All ways of reading: whole frames, selections, single frames, cursors and copies."""
    atoms = chain_of(9)
    topology = write_pdb(tmp_path / "top.pdb", [atoms])
    path = write_gro(tmp_path / "x.gro", [[atoms[i] for i in order]] * 3)
    trajectory = opened(topology, path)
    assert same_places(trajectory.read([1]).positions, atoms)
    some = [atoms[i] for i in listed]
    assert same_places(trajectory.read([2], atoms=listed).positions, some)
    assert same_places(trajectory[1].positions, atoms)
    assert same_places(trajectory.cursor(listed).read(2).positions, some)
    oxygens = trajectory.select("name OW")
    assert same_places(oxygens.read([0]).positions, atoms[::3])
    copy = tmp_path / "copy.trr"
    tj.convert(trajectory.all_atoms(), copy, force=True)
    assert same_places(opened(None, copy).read([2]).positions, atoms)
    is_moved = order != sorted(order)
    messages = [message for message in trajectory.messages if "another order" in message]
    assert len(messages) == is_moved


def test_workers_have_the_order_of_the_topology(tmp_path: Path) -> None:
    """Worker processes, which read no topology, get the order."""
    atoms = chain_of(9)
    topology = write_pdb(tmp_path / "top.pdb", [atoms])
    path = write_gro(tmp_path / "x.gro", [atoms[::-1]] * 6)
    trajectory = opened(topology, path)
    selection = trajectory.select("name HW1")
    here = tj.centers(selection, by="selection", weights="equal").values
    assert same_places(here[0], [atoms[4]])
    pool = tj.ProcessPool(workers=2, task_frames=2)
    there = tj.centers(selection, by="selection", weights="equal", pool=pool).values
    assert np.array_equal(here, there)


def test_equal_names_in_another_order_are_an_error(tmp_path: Path) -> None:
    """Atoms that share chain, residue and name are not distinct, unless by their numbers."""
    atoms = [Atom("C", "LIG", 1, "A", 7, 0.1), Atom("C", "LIG", 1, "A", 7, 0.2)]
    atoms += [Atom("O", "LIG", 1, "A", 9, 0.3)]
    topology = write_pdb(tmp_path / "top.pdb", [atoms])
    path = write_gro(tmp_path / "x.gro", [atoms[::-1]])
    with raises(tj.SelectionError):
        opened(topology, path)
    numbered = [atom._replace(serial=k + 1) for k, atom in enumerate(atoms)]
    topology = write_pdb(tmp_path / "top.pdb", [numbered])
    path = write_gro(tmp_path / "x.gro", [numbered[::-1]])
    assert same_places(opened(topology, path).read().positions, numbered)
    only_carbon = write_gro(tmp_path / "x.gro", [[numbered[1], numbered[0], numbered[2]]])
    assert same_places(opened(topology, only_carbon).read().positions, numbered)


@pytest.mark.parametrize(
    ("changes", "n_messages"),
    [
        ({}, 0),
        ({"resname": "HISD"}, 0),
        ({"name": "HN"}, 1),
        ({"resid": 11}, 0),
        ({"chain": " "}, 0),
        ({"serial": 4}, 0),
    ],
)
def test_names_of_other_programs_are_a_message(
    changes: dict[str, Any], n_messages: int, tmp_path: Path
) -> None:
    """Conventions, renumbered residues and blank chains leave the order as it is."""
    atoms = [Atom(name, "HIS", 5, "A", k + 1, k / 10) for k, name in enumerate(("N", "H", "CA"))]
    topology = write_pdb(tmp_path / "top.pdb", [atoms])
    if "name" in changes:
        others = [atoms[0], atoms[1]._replace(**changes), atoms[2]]
    else:
        others = [atom._replace(**changes) for atom in atoms]
    trajectory = opened(topology, write_pdb(tmp_path / "x.pdb", [others]))
    assert same_places(trajectory.read().positions, atoms)
    assert sum("other names" in message for message in trajectory.messages) == n_messages


def test_another_order_beside_other_names_is_an_error(tmp_path: Path) -> None:
    """Names of which some are unknown to the topology do not tell an order."""
    names = ("N", "H", "CA", "C")
    atoms = [Atom(name, "ALA", 5, "A", k + 1, k / 10) for k, name in enumerate(names)]
    topology = write_pdb(tmp_path / "top.pdb", [atoms])
    others = [atoms[0], atoms[1]._replace(name="HN"), atoms[3], atoms[2]]
    with raises(tj.SelectionError):
        opened(topology, write_gro(tmp_path / "x.gro", [others]))


def test_a_file_of_other_atoms_beside_a_topology_of_another_size(tmp_path: Path) -> None:
    """The number of atoms is compared when the topology is used, as for all formats."""
    topology = write_pdb(tmp_path / "top.pdb", [chain_of(3)])
    trajectory = opened(topology, write_gro(tmp_path / "x.gro", [chain_of(6)]))
    assert trajectory.n_atoms == 6
    with raises(tj.SelectionError):
        trajectory.select("all")


# Each example opens files of its own in the same folder.


SUFFIXES = pytest.mark.parametrize("suffix", WRITERS)


@SUFFIXES
@SETTINGS
@given(data=st.data())
def test_a_frame_with_atoms_in_another_order_is_an_error(
    suffix: str, tmp_path: Path, data: st.DataObject
) -> None:
    """Each way of reading refuses the frame, and reads those before it."""
    atoms = chain_of(9)
    order = data.draw(st.permutations(range(9)).filter(lambda order: order != sorted(order)))
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, atoms, [atoms[i] for i in order]])
    trajectory = opened(path)
    assert trajectory.read(slice(0, 2)).positions[1, 8, 0] == np.float32(8)
    first = next(i for i in range(9) if order[i] != i)
    for read in (
        lambda: trajectory.read([2]),
        lambda: trajectory.read([2], atoms=[4]),
        lambda: trajectory[2],
        lambda: trajectory.cursor([1]).read(2),
        lambda: tj.gyration(trajectory.select([0, 1]), weights="equal"),
        lambda: tj.convert(trajectory.all_atoms(), tmp_path / "copy.xtc", force=True),
    ):
        with raises(tj.FormatError, path, "frame 2", f"atom {first}"):
            read()


# GRO files have no chains.
NAMED = [(suffix, field) for suffix in WRITERS for field in ("name", "resname", "resid")]


@pytest.mark.parametrize(("suffix", "field"), [*NAMED, (".pdb", "chain")])
def test_a_frame_with_other_names_is_an_error(suffix: str, field: str, tmp_path: Path) -> None:
    """Each name and number of an atom and its residue is compared, of atoms not read too."""
    atoms = chain_of(6)
    other = atoms.copy()
    other[4] = other[4]._replace(**{field: 7 if field == "resid" else "X"})
    trajectory = opened(WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, other]))
    with raises(tj.FormatError):
        trajectory.read(atoms=[0])


@SUFFIXES
def test_numbers_of_atoms_may_go_on_but_not_change_places(suffix: str, tmp_path: Path) -> None:
    """Some programs count the atoms of all models; equal names leave only the numbers."""
    atoms = [Atom("C", "LIG", 1, "A", i + 1, i / 10) for i in range(5)]
    further = [atom._replace(serial=atom.serial + 5) for atom in atoms]
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, further, atoms[::-1]])
    trajectory = opened(path)
    assert len(trajectory.read([0, 1]).times) == 2
    with raises(tj.FormatError):
        trajectory.read([2])


@SUFFIXES
def test_workers_compare_atoms_with_those_of_frame_0(suffix: str, tmp_path: Path) -> None:
    """A worker that reads only later frames knows the atoms of frame 0."""
    atoms = chain_of(6)
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms] * 7 + [atoms[::-1]])
    trajectory = opened(path)
    pool = tj.ProcessPool(workers=2, task_frames=2)
    with raises(tj.FormatError):
        tj.gyration(trajectory.select([0, 1]), weights="equal", frames=slice(4, None), pool=pool)


@SUFFIXES
def test_frames_of_another_order_can_be_read_from_files_of_their_own(
    suffix: str, tmp_path: Path
) -> None:
    """The advice of the error: files that are opened together are put in order."""
    atoms = chain_of(6)
    path = WRITERS[suffix](tmp_path / f"x{suffix}", [atoms, atoms[::-1]])
    with raises(tj.FormatError):
        opened(path).read()
    one = WRITERS[suffix](tmp_path / f"one{suffix}", [atoms])
    other = WRITERS[suffix](tmp_path / f"other{suffix}", [atoms[::-1]])
    trajectory = opened(None, one, other)
    positions = trajectory.read().positions
    assert np.array_equal(positions[0], positions[1])
    assert any("are read in its order" in message for message in trajectory.messages)
