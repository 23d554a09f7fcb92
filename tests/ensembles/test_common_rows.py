"""Rows of several systems: the same ones are those of equal identities, insertion codes too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, dihedrals, ensemble_of, table
from helpers.messages import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from trajet.result.axes import Axis, named, pairs_within
from trajet.result.rows import QUANTITY, Rows, identity_of, matched_rows, with_common_keys

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
        with pytest.raises(tj.AnalysisError):
            matched_rows(keyed, labels)
        return
    found, messages = matched_rows(keyed, labels)
    for own, numbers in zip(keys, found, strict=True):
        assert [own[k] for k in numbers.tolist()] == common
    assert bool(messages) == any(len(own) > len(common) for own in keys)
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
        # With equal names of residues, only labels tell which place of a pair stands first.
        alike = [
            axis.with_column("resname", np.array([f"R{a[1]}" for a in own]))
            for axis, own in zip(axes, members, strict=True)
        ]
        keyed = with_common_keys([rows_of(pairs_within(axis)) for axis in alike], [{}] * len(alike))
        assert all(one.renamed == {} for one in keyed)


def test_c_alpha_atoms_alone_are_no_ions(tmp_path: Path) -> None:
    """A model of C-alpha atoms is compared with the whole protein."""
    line = "ATOM  {0:>5}  {1:<3} ALA A{0:>4}    {0:8.3f}   0.000   0.000  1.00  0.00{2:>12}\n"
    path = tmp_path / "alone.pdb"
    path.write_text("".join(line.format(k, "CA", "C") for k in (1, 2, 3)))
    assert "ion" not in tj.rmsf(tj.open(path).select("all"), align=None).axis("atoms").columns


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
    with raises(tj.AnalysisError):
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


def areas(labels: list[str], numbers: list[int], values: list[float]) -> tj.Table:
    """Return areas of residues of one chain without a name."""
    axis = named("residues", labels, residue=np.arange(len(labels)), resid=np.array(numbers))
    made = table(np.tile(values, (4, 1)), np.arange(4), labels, name="sasa", units="Å²")
    return replace(made, axes=(made.axes[0], axis))


def test_residues_that_a_member_has_twice_keep_their_labels() -> None:
    """Those of a dimer without names of chains are not all called as in the monomer."""
    dimer = areas(["ALA1@0", "ALA2@1", "ALA1@2", "ALA2@3"], [1, 2, 1, 2], [1.0, 2.0, 3.0, 4.0])
    monomer = areas(["ALA1", "ALA2"], [1, 2], [5.0, 6.0])
    means = ensemble_of({"wt": [dimer] * 2, "mut": [monomer] * 2}, name="sasa").mean("system")
    assert means["wt"].axes["quantity"].tolist() == [
        f"sasa_A2:{label}" for label in ("ALA1@0", "ALA2@1", "ALA1@2", "ALA2@3")
    ]
    with raises(tj.AnalysisError):
        means.difference("wt", "mut")


def test_groups_of_other_names_are_no_rows_of_each_other() -> None:
    """One molecule each, which has no axis."""
    one, other = (
        replace(table(np.ones(4), np.arange(4), [], name="end to end"), label=label)
        for label in ("MET1-GLY214", "ALA5-TRP80")
    )
    with raises(tj.AnalysisError):
        ensemble_of({"wt": [one] * 2, "mut": [other] * 2}, name="end_to_end").mean(
            "system"
        ).difference("wt", "mut")


def test_single_group_is_the_group_of_its_name() -> None:
    """One molecule, whose values have no axis, against several."""
    label = "MET1-GLY214"
    single = replace(table(np.ones(4), np.arange(4), [], name="end to end", units="Å"), label=label)
    labels = ["ALA5-TRP80", label]
    several = table(np.tile([2.0, 3.0], (4, 1)), np.arange(4), labels, name="end to end", units="Å")
    means = ensemble_of({"wt": [single] * 2, "mut": [several] * 2}, name="end_to_end").mean(
        "system"
    )
    change = means.difference("wt", "mut")
    assert change.difference.tolist() == [2.0]
    assert change.axes["quantity"].tolist() == [f"end_to_end_A:{label}"]


def test_mutated_residues_are_counted_by_their_chains() -> None:
    """ALA1 of two chains, which are GLY1 in the mutant, are two residues."""
    atoms = [("A", 1, "", "CA"), ("B", 1, "", "CA"), ("B", 2, "", "CA")]
    axes = [atoms_axis(atoms, name) for name in ("ALA", "GLY")]
    keyed = with_common_keys([rows_of(axis) for axis in axes], [{}] * 2)
    assert keyed[1].renamed == {
        (chain, number): (f"GLY{number}", f"ALA{number}")
        for chain, number in (("A", "1"), ("B", "1"), ("B", "2"))
    }


def contacts(rows: Axis, columns: Axis) -> tj.ContactMap:
    """Return a map in which the first row and the last column are in contact."""
    values = np.zeros((len(rows), len(columns)))
    values[0, -1] = 0.5
    return tj.ContactMap(
        values=values,
        axes=(rows, columns),
        name="fraction",
        units="",
        selections=("protein", "resname LIG"),
        report=report([worker(0)], analysis="contact_map"),
        also={"frames": (10 * values).astype(np.int64)},
        cutoff=4.0,
    )


def test_maps_of_equal_replicas_have_a_mean_where_residues_cannot_be_told_apart() -> None:
    """Those of a dimer without names of chains, against one ligand."""
    dimer = areas(["ALA1@0", "ALA2@1", "ALA1@2"], [1, 2, 1], [0.0, 0.0, 0.0]).axes[1]
    ligand = areas(["LIG9"], [9], [0.0]).axes[1]
    (mean,) = ensemble_of({"wt": [contacts(dimer, ligand)] * 2}, name="contact_map").mean()
    assert mean.axes["row"].tolist() == ["ALA1@0"]
    assert mean.mean.tolist() == [0.5]


def test_calcium_is_no_atom_of_a_residue(tmp_path: Path) -> None:
    """The atom CA of GLY301 is no mutation of the ion CA301."""
    line = "ATOM  {0:>5}  {1:<3} {2:<3} A{3:>4}    {0:8.3f}   0.000   0.000  1.00  0.00{4:>12}\n"
    ends = {"wt": [("CA", "CA", 301, "CA")], "mut": [(a, "GLY", 301, a[0]) for a in ("N", "CA")]}
    rows = []
    for system, end in ends.items():
        atoms = [*((name, "ALA", 300, name[0]) for name in ("N", "CA")), *end]
        path = tmp_path / f"{system}.pdb"
        path.write_text("".join(line.format(k, *atom) for k, atom in enumerate(atoms, 1)))
        rows += [
            {"system": system, "replica": k, "topology": path, "trajectory": path} for k in (1, 2)
        ]
    atoms = tj.ensemble(rows).select("name CA")
    for result in (tj.rmsf(atoms, align=None), tj.distances(atoms, atoms)):
        means = result.mean([])
        assert len(means.groups[0].mean) == 1
        assert any("left out" in one for one in means.messages)


def test_pairs_the_other_way_round_are_no_mutations() -> None:
    """Chains stand in another order, with the same residues."""
    atoms = atoms_axis([("A", 1, "", "CA"), ("B", 1, "", "CA"), ("B", 2, "", "CA")], "ALA")
    atoms = atoms.with_column("resname", np.array(["ALA", "GLY", "SER"]))
    labels = np.array(["A:ALA1", "B:GLY1", "B:SER2"])
    atoms = atoms.with_column("label", labels)
    pairs = [pairs_within(one) for one in (atoms, atoms.some(np.array([1, 2, 0])))]
    keyed = with_common_keys([rows_of(one) for one in pairs], [{}] * 2)
    assert keyed[1].renamed == {}
    assert sorted(keyed[1].shown[QUANTITY]) == sorted(keyed[0].shown[QUANTITY])


def test_pairs_of_residues_of_one_number_have_no_order() -> None:
    """As other pairs."""
    atoms = atoms_axis([("A", 1, "", "CA"), ("A", 1, "", "CA"), ("A", 2, "", "CA")], "ALA")
    atoms = atoms.with_column("resname", np.array(["ALA", "GLY", "SER"]))
    pairs = [pairs_within(one) for one in (atoms, atoms.some(np.array([2, 1, 0])))]
    keyed = with_common_keys([rows_of(one) for one in pairs], [{}] * 2)
    found, messages = matched_rows(keyed, ["one", "other"])
    assert [own.tolist() for own in found] == [[0, 1, 2], [2, 1, 0]]
    assert messages == ()


ATOM = "ATOM  {0:>5}  CA  ALA H{1:>5}   {2:8.3f}{3:8.3f}   0.000\n"
# Values of residues, which are the same in every system.
VALUES = {"51": 1.0, "52": 2.0, "52A": 3.0, "52B": 4.0, "53": 5.0}


def fluctuations(residues: list[str], shift: float = 0.0) -> tj.Table:
    """Return values of residues, which are named by numbers and codes."""
    n = len(residues)
    codes = np.array([residue[2:] for residue in residues])
    return atom_values(
        np.array([VALUES[residue] for residue in residues]) + shift,
        report([worker(0)], analysis="rmsf"),
        chain=np.full(n, "H"),
        resname=np.full(n, "ALA"),
        resid=np.array([int(residue[:2]) for residue in residues]),
        **({"icode": codes} if (codes != "").any() else {}),
        name=np.full(n, "CA"),
    )


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (["51", "52", "52A", "52B", "53"], ["51", "52A", "52B", "52", "53"], list(VALUES)),
        (["51", "52", "52A", "52B", "53"], ["51", "52", "52A", "52B"], ["51", "52", "52A", "52B"]),
        (["51", "52A", "53"], ["51", "52", "53"], ["51", "53"]),
        (["51", "52", "53"], ["53", "52A", "52"], ["52", "53"]),
        (["51", "52", "53"], ["51", "52", "53"], ["51", "52", "53"]),
    ],
)
def test_residues_are_matched_by_number_and_code(
    first: list[str], second: list[str], common: list[str]
) -> None:
    """In any order, and where one system has no codes."""
    results = {
        "wt": [fluctuations(first, shift) for shift in (0.0, 0.1)],
        "mut": [fluctuations(second, shift) for shift in (1.0, 1.2)],
    }
    found = ensemble_of(results).mean("system").difference("wt", "mut")
    assert np.allclose(found.difference, 1.05)
    codes = found.axes.get("icode", np.full(len(common), ""))
    names = [f"{n}{code}" for n, code in zip(found.axes["resid"], codes, strict=True)]
    assert sorted(names) == sorted(common)
    assert any("left out" in text for text in found.messages) == (
        len(common) < len(set(first + second))
    )
    if len(common) > 2:
        assert f"{common[1][:2]}{common[1][2:]} CA" in " ".join(found.sentences())


def test_tables_of_atoms_have_insertion_codes(tmp_path: Path) -> None:
    """Only where a selected residue has one; saved results keep them."""
    models = "".join(
        "MODEL\n"
        + "".join(
            ATOM.format(k, residue if len(residue) > 2 else residue + " ", 4 * k, k % 2 * frame)
            for k, residue in enumerate(VALUES)
        )
        + "ENDMDL\n"
        for frame in (1, 2, 4)
    )
    path = tmp_path / "antibody.pdb"
    path.write_text(models + "END\n")
    traj = tj.open(path, sidecar=False)
    result = tj.rmsf(traj.select("name CA"))
    result.save(tmp_path / "all.csv")
    table = pd.read_csv(tmp_path / "all.csv", keep_default_na=False)
    assert list(table["resid"].astype(str) + table["icode"]) == list(VALUES)
    assert "icode" not in tj.rmsf(traj.select("resid 51 53")).to_dataframe()
    result.save(tmp_path / "all.npz")
    loaded = tj.load(tmp_path / "all.npz")
    assert isinstance(loaded, tj.Table)
    assert loaded.axis("atoms")["icode"].tolist() == ["", "", "A", "B", ""]
