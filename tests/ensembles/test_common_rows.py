"""Rows of several systems: the same ones are those of equal identities, whatever their order."""

from dataclasses import replace

import numpy as np
import pytest
import trajet as tj
from helpers.made_results import dihedrals, ensemble_of
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.result.rows import QUANTITY, Rows, identity_of, matched_rows, with_common_keys
from trajet.result.table import Axis, pairs_within

# Chain, number, insertion code and name of an atom.
Atom = tuple[str, int, str, str]
ATOMS = st.tuples(
    st.sampled_from(["", "A", "B", "AB"]),
    st.sampled_from([-2, 1, 2, 12]),
    st.sampled_from(["", "A"]),
    st.sampled_from(["N", "CA", "1"]),
)
# Atoms of members in their order, of which at least one is in all, and names of residues.
MEMBERS = st.lists(st.lists(ATOMS, min_size=1, max_size=9, unique=True), min_size=2, max_size=4)


def atoms_axis(atoms: list[Atom], residue: str) -> Axis:
    """Return the axis of atoms; insertion codes are there if one has a code."""
    chains, numbers, codes, names = zip(*atoms, strict=True)
    columns = {
        "atom": np.arange(len(atoms)),
        "chain": np.array(chains),
        "resname": np.full(len(atoms), residue),
        "resid": np.array(numbers),
        "icode": np.array(codes),
        "name": np.array(names),
        "label": np.array([f"{residue}{atom}" for atom in atoms]),
    }
    return Axis("atoms", {key: c for key, c in columns.items() if key != "icode" or any(codes)})


def rows_of(axis: Axis) -> Rows:
    """Return the rows of the places of an axis."""
    shown = {QUANTITY: np.array(axis.labels())}
    return Rows(shown, identity_of([axis]), is_symmetric=axis.kind == "pairs")


def assert_matched(rows: list[Rows], keys: list[list[object]]) -> None:
    """Assert that rows are those of equal keys, in the order and with the names of the first."""
    labels = [str(k) for k in range(len(rows))]
    common = [key for key in keys[0] if all(key in own for own in keys)]
    keyed = with_common_keys(rows, [{}] * len(rows))
    if not common:
        with pytest.raises(tj.AnalysisError, match="no row in common"):
            matched_rows(keyed, labels)
        return
    found, remarks = matched_rows(keyed, labels)
    for own, numbers in zip(keys, found, strict=True):
        assert [own[k] for k in numbers.tolist()] == common
    assert bool(remarks) == any(len(own) > len(common) for own in keys)
    for one, numbers in zip(keyed, found, strict=True):
        expected = keyed[0].shown[QUANTITY][found[0]]
        assert one.shown[QUANTITY][numbers].tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(MEMBERS)
def test_rows_of_atoms_and_of_pairs_are_those_of_equal_identities(
    members: list[list[Atom]],
) -> None:
    """In any order, with other names of residues; a pair has no first and second atom."""
    axes = [atoms_axis(atoms, f"R{k}") for k, atoms in enumerate(members)]
    assert_matched([rows_of(axis) for axis in axes], [[*atoms] for atoms in members])
    pairs = [
        [frozenset((one, other)) for k, one in enumerate(atoms) for other in atoms[k + 1 :]]
        for atoms in members
    ]
    if all(pairs):
        assert_matched([rows_of(pairs_within(axis)) for axis in axes], [[*own] for own in pairs])


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 0, 2]])
def test_residues_of_one_number_are_told_apart_by_their_names(order: list[int]) -> None:
    """Where they stand in another order; those of one name are an error then."""
    atoms = atoms_axis([("A", 1, "", "CA"), ("A", 1, "", "CA"), ("A", 2, "", "CA")], "ALA")
    named = atoms.with_column("resname", np.array(["ALA", "GLY", "ALA"]))
    keyed = with_common_keys(
        [rows_of(one) for one in (named, named.some(np.array(order)))], [{}] * 2
    )
    found, _ = matched_rows(keyed, ["one", "other"])
    assert [own.tolist() for own in found] == [[0, 1, 2], order]
    alike = [atoms, atoms.some(np.array([2, 1, 0]))]
    keyed = with_common_keys([rows_of(one) for one in alike], [{}] * 2)
    with pytest.raises(tj.AnalysisError, match="one: rows 0 and 1 are both"):
        matched_rows(keyed, ["one", "other"])


def test_angles_of_atoms_by_index_are_those_of_the_same_atoms() -> None:
    """An index is another atom in a system with a longer residue before."""
    atoms = [("A", k, "", "CA") for k in range(1, 7)]
    axis = atoms_axis(atoms, "ALA")

    def angles(first: int, level: float) -> tj.Dihedrals:
        """Return angles of residues `first` to 5 and 6, which are called by their indices."""
        made = dihedrals(np.tile([level, level + 50], (4, 1)), ["0-1-2-3", "1-2-3-4"])
        own = axis.some(slice(first, None))
        members = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])[: len(own) - 3]
        angle = Axis("angles", {"label": made.axes[1]["label"]}, of=own, members=members)
        return replace(made, axes=(made.axes[0], angle))

    whole, short = [angles(0, 10.0)] * 2, [angles(1, 20.0)] * 2
    change = ensemble_of({"wt": whole, "mut": short}, name="dihedrals").difference("wt", "mut")
    # The second angle of the whole system is the first of the other.
    assert change.axes["quantity"].tolist() == ["angle_degrees:1-2-3-4"]
    np.testing.assert_allclose(change.difference, [20.0 - 60.0])
