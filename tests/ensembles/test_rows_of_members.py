"""Rows of results of members: where they stand in figures, and how they are matched."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.made_reports import report, worker
from helpers.made_results import atom_values, ensemble_of
from helpers.messages import raises
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trajet.result.group_mean import first_copies
from trajet.result.member_outcome import MemberOutcome


def fluctuations(chains: dict[str, list[int]], shift: float = 0.0) -> tj.Table:
    """Return an RMSF of C-alpha atoms, whose values tell chain and residue."""
    atoms = [(chain, number) for chain, numbers in chains.items() for number in numbers]
    values = [100 * (ord(chain) - 65) + number + shift for chain, number in atoms]
    return atom_values(
        np.array(values, np.float64),
        report([worker(0)], analysis="rmsf"),
        resid=np.array([number for _, number in atoms]),
        chain=np.array([chain for chain, _ in atoms]),
        name=np.full(len(atoms), "CA"),
    )


NUMBERS = st.lists(st.integers(50, 60), min_size=2, max_size=5, unique=True).map(sorted)
CHAINS = st.dictionaries(st.sampled_from("AB"), NUMBERS, min_size=1)


@settings(max_examples=12, deadline=None)
@given(st.lists(CHAINS, min_size=2, max_size=3))
def test_residues_of_all_groups_stand_at_the_same_place(groups: list[dict[str, list[int]]]) -> None:
    """An x is one residue, or one residue number, for all groups; none are exchanged."""
    members = {f"s{k}": [fluctuations(one, s) for s in (0.0, 0.2)] for k, one in enumerate(groups)}
    (axes,) = ensemble_of(members).mean("system").plot().axes
    means = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert len(means) == len(groups)
    at: dict[float, float] = {}
    for line, chains in zip(means, groups, strict=True):
        x, values = (np.asarray(one, np.float64) for one in line.get_xydata().T)
        expected = np.sort(fluctuations(chains, 0.1).values)
        np.testing.assert_allclose(np.sort(values), expected)
        assert (np.diff(x) > 0).all()
        if axes.get_xlabel() == "residue":
            np.testing.assert_allclose(x, np.round(values - 0.1) % 100)
        else:
            for place, value in zip(x.tolist(), values.tolist(), strict=True):
                assert np.isclose(at.setdefault(place, value), value)


def members(folder: Path, heights: dict[str, float]) -> Path:
    """Write members in cells of these heights (Å), and return the topology."""
    atom = "ATOM  {0:>5}  C   LIG A   1    {0:8.3f}   0.000   0.000  1.00  0.00           C\n"
    (folder / "four.pdb").write_text("".join(atom.format(k) for k in range(1, 5)))
    for name, height in heights.items():
        cell = np.array([40, 40, height])
        part = np.random.default_rng(0).uniform(0, 1, (3, 4, 3))
        tj.write(folder / f"run_{name}.xtc", part * cell, cells=[*cell, 90, 90, 90])
    return folder / "four.pdb"


def test_slices_of_cells_of_nearly_one_height_have_means(tmp_path: Path) -> None:
    """As of runs at constant pressure, with a message; their positions are the mean ones."""
    topology = members(tmp_path, {"1": 40.0, "2": 40.4, "3": 40.2})
    ensemble = tj.ensemble(str(tmp_path / "run_{replica}.xtc"), topology=topology)
    result = tj.linear_density(ensemble.select("all"), quantity="number", bins=10)
    (mean,) = result.mean([])
    found = [np.ravel(one.values) for one in result.results]
    np.testing.assert_allclose(mean.mean, np.mean(found, axis=0))
    np.testing.assert_allclose(mean.axes["position_A"], 4.02 * (np.arange(10) + 0.5), rtol=1e-4)
    assert any("heights of cells differ by up to 1 %" in message for message in mean.messages)
    members(tmp_path, {"4": 48.0})
    ensemble = tj.ensemble(str(tmp_path / "run_{replica}.xtc"), topology=topology)
    result = tj.linear_density(ensemble.select("all"), quantity="number", bins=10)
    with raises(tj.AnalysisError):
        result.mean([])


RESIDUES = st.sampled_from(["ALA", "PRO", "HIS", "HSD", "SO4", "K1"])
# Names of each residue in the first and in the second system.
PAIRS = st.lists(st.tuples(RESIDUES, RESIDUES), min_size=2, max_size=3)


def write_structure(path: Path, chains: dict[str, list[str]], first: int) -> Path:
    """Write a structure with the atoms N and CA of residues of these names."""
    atoms = [
        (name, residue, chain, number)
        for chain, residues in chains.items()
        for number, residue in enumerate(residues, first)
        for name in ("N", "CA")
    ]
    line = "ATOM  {0:>5}  {1:<3} {2:<3} {3}{4:>4}    {5:8.3f}   0.000   0.000  1.00  0.00{6:>12}\n"
    path.write_text(
        "".join(line.format(k, *atom, float(k), atom[0][0]) for k, atom in enumerate(atoms, 1))
    )
    return path


@settings(max_examples=5, deadline=None)
@given(st.dictionaries(st.sampled_from("AB"), PAIRS, min_size=1), st.sampled_from([-1, 7, 40]))
def test_names_of_residues_do_not_tell_rows_of_two_systems_apart(
    tmp_path_factory: pytest.TempPathFactory, chains: dict[str, list[tuple[str, str]]], first: int
) -> None:
    """A mutated residue is compared as if it had the name that it has in the first system."""
    folder = tmp_path_factory.mktemp("mutant")
    names = [{chain: [pair[k] for pair in of] for chain, of in chains.items()} for k in (0, 1)]
    wild, mutant = (write_structure(folder / f"{k}.pdb", one, first) for k, one in enumerate(names))
    n_atoms = 2 * sum(map(len, chains.values()))
    noise = np.random.default_rng(n_atoms).normal(0, 2, (4, 3, n_atoms, 3))
    files = [folder / f"{k}.xtc" for k in range(4)]
    for path, positions in zip(files, noise, strict=True):
        tj.write(path, positions)
    both = [
        tj.ensemble(
            [
                {"system": k // 2, "replica": k % 2, "topology": top, "trajectory": file}
                for k, (top, file) in enumerate(zip([wild, wild, other, other], files, strict=True))
            ]
        ).select("all")
        for other in (wild, mutant)
    ]
    for analysis in (
        lambda one: tj.centers(one, by="residue"),
        lambda one: tj.centers(one, by="chain"),
        lambda one: tj.center_distances(one, by="residue"),
        tj.distances,
        lambda one: tj.sasa(one, by="atom", points=32),
        lambda one: tj.contact_map(one, cutoff=3.0),
    ):
        expected, found = (analysis(one).difference(0, 1) for one in both)
        assert found.axes.keys() == expected.axes.keys()
        for name, axis in expected.axes.items():
            assert found.axes[name].tolist() == axis.tolist()
        np.testing.assert_array_equal(found.difference, expected.difference)
        assert not any("left out" in message for message in found.messages)


# Names that look like labels, and such that name and number of two residues make one text.
LIKE_LABELS = st.sampled_from(["C", "U", "U2", "N", "2MG"])
Place = tuple[str, int, str]
# Chain, number and insertion code of residues, and their names in two systems.
PLACES = st.tuples(
    st.sampled_from(["", "A", "B"]), st.sampled_from([-2, 1, 2, 3, 23]), st.sampled_from(["", "B"])
)
NAMES = st.tuples(*[st.none() | LIKE_LABELS] * 2) | st.tuples(LIKE_LABELS, LIKE_LABELS)
ATOMS = ("C2", "N1")


def ensemble_of_systems(folder: Path, systems: list[dict[Place, str]]) -> tj.Ensemble:
    """Return two replicas of each system, whose residues have the atoms C2 and N1."""
    line = "ATOM  {:>5}  {:<3} {:>3} {:1}{:>4}{:1}   {:8.3f}   0.000   0.000  1.00  0.00{:>12}\n"
    rows = []
    for k, residues in enumerate(systems):
        atoms = [(a, n, *place) for place, n in sorted(residues.items()) for a in ATOMS]
        topology = folder / f"{k}.pdb"
        topology.write_text(
            "".join(line.format(i, *one, float(i), one[0][0]) for i, one in enumerate(atoms, 1))
        )
        for replica in (0, 1):
            path = folder / f"{k}-{replica}.dcd"
            tj.write(path, np.random.default_rng(2 * k + replica).normal(0, 3, (2, len(atoms), 3)))
            of_member = {"topology": topology, "trajectory": path}
            rows.append({"system": k, "replica": replica, **of_member})
    return tj.ensemble(rows)


def is_named_alone(residues: dict[Place, str]) -> bool:
    """Return whether name, number and code of no two residues of a chain make one text."""
    texts = [(chain, f"{n}{number}{code}") for (chain, number, code), n in residues.items()]
    return len(set(texts)) == len(texts)


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(PLACES, NAMES, min_size=3, max_size=8))
def test_rows_are_those_of_the_same_residues(
    tmp_path_factory: pytest.TempPathFactory, residues: dict[Place, tuple[str | None, str | None]]
) -> None:
    """By chain, number and code, whatever residues are called; others are left out, and said so."""
    # Both have a chain with a name, and a chain of the first is not called otherwise in the second.
    chains = {chain for chain, _, _ in residues}
    systems = [
        {
            ("A", 70, ""): "GLY",
            **{place: names[0] for place, names in residues.items() if names[0]},
        },
        {
            **{(chain, 70, ""): "GLY" for chain in ("A", *chains)},
            **{place: names[1] for place, names in residues.items() if names[1]},
        },
    ]
    assume(all(map(is_named_alone, systems)))
    first, second = (sorted(one) for one in systems)
    ensemble = ensemble_of_systems(tmp_path_factory.mktemp("named"), systems)
    for result, n in (
        (tj.distances(ensemble.select("name C2"), ensemble.select("name N1")), 2),
        (tj.centers(ensemble.select("all"), by="residue"), 1),
        (tj.sasa(ensemble.select("name C2"), by="residue", points=16), 1),
    ):
        # Rows of a residue, or of two; those of centres are x, y and z.
        shape = [(len(one),) * n + (-1,) for one in (first, second)]
        means = [one.values.mean(axis=0, dtype=np.float64) for one in result.results]
        before = np.mean(means[:2], axis=0).reshape(shape[0])
        after = np.mean(means[2:], axis=0).reshape(shape[1])
        for k in range(n):
            before = before.take([i for i, one in enumerate(first) if one in second], axis=k)
            after = after.take([second.index(one) for one in first if one in second], axis=k)
        found = result.difference(0, 1)
        np.testing.assert_allclose(found.difference, (after - before).ravel(), atol=1e-5)
        is_left_out = any("left out" in message for message in found.messages)
        assert is_left_out == (first != second)


def test_names_of_atoms_are_no_labels_of_residues(tmp_path: Path) -> None:
    """C2 is an atom of all bases of GUAU and GCAU, and cytosine 2; and selections are texts."""
    systems = [
        {("A", k, ""): name for k, name in enumerate(names, 1)} for names in ("GUAU", "GCAU")
    ]
    for k, pair in enumerate((systems, systems[::-1])):
        (tmp_path / str(k)).mkdir()
        ensemble = ensemble_of_systems(tmp_path / str(k), pair)
        found = tj.distances(ensemble.select("name C2"), ensemble.select("name N1"))
        change = found.difference(0, 1)
        labels = [f"{name}{number}" for (_, number, _), name in pair[0].items()]
        assert change.axes["quantity"].tolist() == [
            f"distance_A:{one}:C2_-_{other}:N1" for one in labels for other in labels
        ]
        centers = tj.centers(ensemble.select("name C2"), by="selection").mean("system")
        for one in centers:
            assert one.axes["quantity"].tolist() == [f"center_A:name_C2_{axis}" for axis in "xyz"]


def test_labels_with_chains_are_those_without(tmp_path: Path) -> None:
    """Residues of a monomer are those of the same chain of a dimer, whose labels name chains."""
    names = ["ALA", "GLY", "ALA"]
    chains = [{"A": names}, {"A": names, "B": names}]
    rows = []
    for k, of in enumerate(chains):
        topology = write_structure(tmp_path / f"{k}.pdb", of, 5)
        for replica in (1, 2):
            path = tmp_path / f"{k}-{replica}.dcd"
            noise = np.random.default_rng(replica).normal(0, 2, (3, 12, 3))
            tj.write(path, noise[:, : 6 * len(of)])
            of_member = {"topology": topology, "trajectory": path}
            rows.append({"system": k, "replica": replica, **of_member})
    found = tj.distances(tj.ensemble(rows).select("name CA and chainID A")).difference(0, 1)
    assert found.axes["quantity"][0] == "distance_A:ALA5:CA_-_GLY6:CA"
    np.testing.assert_array_equal(found.difference, np.zeros(3))


def test_all_angles_of_a_mutant_are_compared() -> None:
    """The sample differs in one residue, whose angles are the point of it."""
    ensemble = tj.samples.peptide_variants().open()
    angles = tj.dihedrals(ensemble.select("all"), frames=slice(0, None, 25))
    change = angles.difference("wild_type", "mutant")
    assert len(change.difference) == angles[0].values.shape[1]
    assert "angle_degrees:phi_PRO3" in change.axes["quantity"].tolist()
    assert any("the first is PRO3 for ALA3" in message for message in change.messages)
    assert angles.plot(kind="violin", series="phi PRO3").axes
    # Seven of eight members have no bond, which says nothing about copies.
    bonds = tj.hbonds(ensemble.select("all"), frames=slice(0, 2)).mean([])
    assert not any("copies of one file" in message for message in bonds.messages)


@pytest.mark.parametrize(
    ("numbers", "are_told"), [([0.0, 0.0], False), ([3.0, 1.0], False), ([3.0, 1.25], True)]
)
def test_equal_numbers_tell_copies_unless_they_are_counts(
    numbers: list[float], are_told: bool
) -> None:
    """Whole numbers may be equal in different runs."""
    rows, labels = np.array([numbers, numbers]), ["one", "two"]
    assert (first_copies(rows, rows, labels, labels) is not None) == are_told


def test_ions_are_no_mutations_of_others(tmp_path: Path) -> None:
    """Rows of MG2 and K2 are left out; those of ALA1 and GLY1 are the same residue."""
    form = "{0:<6}{1:>5} {2:<4} {3:<3} A{4:>4}    {1:8.3f}   0.000   0.000  1.00  0.00\n"
    rows = []
    for system, residue, ion in (("wt", "ALA", "MG"), ("mut", "GLY", "K")):
        text = "".join(
            form.format("ATOM", k, name, residue, 1) for k, name in enumerate(("N", "CA", "C"))
        )
        text += form.format("HETATM", 3, ion, ion, 2) + form.format("HETATM", 4, "K", "K", 3)
        path = tmp_path / f"{system}.pdb"
        path.write_text(text + "END\n")
        rows += [{"system": system, "topology": path, "trajectory": path}] * 2
    found = tj.centers(tj.ensemble(rows).select("all"), by="residue", weights="equal").mean([])
    (mean,) = found.groups
    assert mean.axes["quantity"].tolist() == [
        f"center_A:{name}_{axis}" for name in ("ALA1", "K3") for axis in "xyz"
    ]
    assert any("6 of 12 rows are left out" in message for message in mean.messages)


def test_chains_that_are_all_renamed_are_matched_in_their_order(tmp_path: Path) -> None:
    """Rows of atoms and rows with labels of residues agree, and a message says so."""
    names = ("GUAU", "GCAU")
    systems = [
        {(chain, k, ""): name for chain in chains for k, name in enumerate(of, 1)}
        for chains, of in zip(("AB", "XY"), names, strict=True)
    ]
    ensemble = ensemble_of_systems(tmp_path, systems)
    atoms = ensemble.select("name C2")
    fluctuation = tj.rmsf(atoms)
    change = fluctuation.difference(0, 1)
    before, after = (
        np.mean([one.values for one in fluctuation.results[k : k + 2]], axis=0) for k in (0, 2)
    )
    np.testing.assert_allclose(change.difference, after - before)
    assert change.axes["chain"].tolist() == ["A"] * 4 + ["B"] * 4
    assert any("chains are matched in their order" in message for message in change.messages)
    pairs = tj.distances(atoms).difference(0, 1)
    assert len(pairs.difference) == 8 * 7 // 2
    assert pairs.axes["quantity"][0] == "distance_A:A:G1:C2_-_A:U2:C2"


def test_chains_that_members_share_are_not_matched_in_their_order(tmp_path: Path) -> None:
    """Both systems have A and B, and rows of one chain each: they have no row in common."""
    residues = {(chain, k, ""): name for chain in "AB" for k, name in enumerate("GUAU", 1)}
    ensemble = ensemble_of_systems(tmp_path, [residues, residues])
    files = [member.open() for member in ensemble]
    for analysis in (tj.rmsf, tj.distances):
        outcomes = [
            MemberOutcome({"system": k // 2, "replica": k % 2}, result, chains=("A", "B"))
            for k, one in enumerate(files)
            for result in [analysis(one.select(f"name C2 and chainID {'AB'[k // 2]}"))]
        ]
        with raises(tj.AnalysisError):
            tj.EnsembleResult(analysis.__name__, outcomes).difference(0, 1)
