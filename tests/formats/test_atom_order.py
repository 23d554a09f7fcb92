"""Text files beside a topology: their atoms are put into its order, or refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.messages import raises
from helpers.named_atoms import Atom, chain_of, opened, write_gro, write_pdb
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
