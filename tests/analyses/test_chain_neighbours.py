"""Residues apart along the bonds of backbones, by which contacts of neighbours are left out."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import trajet as tj
from helpers import peptides
from helpers.messages import raises
from trajet.analysis.chain_neighbours import ChainNeighbours


def apart(traj: tj.Trajectory, most: int) -> np.ndarray:
    """Return which pairs of places are near along the chain."""
    places = np.arange(traj.topology.n_places)
    one, other = np.meshgrid(places, places)
    found = ChainNeighbours.of(traj).are_near(one.ravel(), other.ravel(), most)
    return found.reshape(len(places), -1)


@pytest.mark.parametrize("most", [1, 3])
def test_residues_are_near_along_bonded_backbones(tmp_path: Path, most: int) -> None:
    """Names of segments do not matter; gaps and the end of a chain do."""
    rows = peptides.helix(12)
    number = np.arange(12)
    near = np.abs(number[:, None] - number) <= most
    plain = peptides.write_pdb(tmp_path / "plain.pdb", rows)
    assert (apart(tj.open(plain), most) == near).all()
    segments = [row._replace(segid="N" if row.number < 7 else "") for row in rows]
    assert (apart(tj.open(peptides.write_pdb(tmp_path / "two.pdb", segments)), most) == near).all()
    gap = [row for row in rows if row.number != 7]
    without = np.delete(np.arange(12), 6)
    ends = (without[:, None] < 6) == (without < 6)
    expected = (np.abs(without[:, None] - without) <= most) & ends
    assert (apart(tj.open(peptides.write_pdb(tmp_path / "gap.pdb", gap)), most) == expected).all()
    # A residue of CA alone keeps its place.
    alone = [row for row in rows if row.number != 7 or row.name == "CA"]
    assert (apart(tj.open(peptides.write_pdb(tmp_path / "ca.pdb", alone)), most) == near).all()


@pytest.mark.parametrize(("residue", "near"), [("CA", False), ("CAL", False), ("ALA", True)])
def test_an_ion_of_calcium_is_no_neighbour(tmp_path: Path, residue: str, near: bool) -> None:
    """Its atom has the name of an alpha carbon, and it may touch the residue before it."""
    rows = peptides.helix(4)
    end = next(row for row in rows if row.number == 4 and row.name == "C")
    ion = end._replace(number=5, residue=residue, name="CA").moved((2.4, 0.0, 0.0))
    found = apart(tj.open(peptides.write_pdb(tmp_path / "ion.pdb", [*rows, ion])), 1)
    assert found[3, 4] == near
    assert found[3, 2]


def test_disulfides_and_numbers_make_no_neighbours(tmp_path: Path) -> None:
    """Bonds of SG, and residues that follow one another in the file, join no chains."""
    rows = [*peptides.helix(4), *(row._replace(chain="B") for row in peptides.helix(4))]
    sulfurs = [row._replace(name="SG") if row.name == "CB" else row for row in rows]
    psf = peptides.write_psf(tmp_path / "two.psf", sulfurs, more_bonds=[(21, 27), (3, 39)])
    traj = tj.open(psf, peptides.write_frames(tmp_path / "x.trr", rows, rows))
    assert traj.topology.names[[21, 27, 3, 39]].tolist() == ["SG"] * 4
    found = apart(traj, 1)
    chain = np.arange(8) // 4
    number = np.arange(8)
    assert (found == ((np.abs(number[:, None] - number) <= 1) & (chain[:, None] == chain))).all()


def test_contacts_of_neighbours_in_a_chain_with_two_segments(tmp_path: Path) -> None:
    """A change of the segment does not turn neighbours into contacts."""
    rows = peptides.helix(12)
    maps = []
    for k, segid in enumerate(("A", "B")):
        named = [row._replace(segid="A" if row.number < 7 else segid, chain=" ") for row in rows]
        traj = tj.open(peptides.write_pdb(tmp_path / f"{k}.pdb", named))
        found = tj.contact_map(traj.all_atoms(), exclude_neighbors=2)
        native = tj.native_contacts(traj.all_atoms(), cutoff=6.0)
        maps.append((found.values, native.pairs))
    assert np.array_equal(maps[0][0], maps[1][0], equal_nan=True)
    assert np.array_equal(maps[0][1], maps[1][1])


By = Literal["residue", "molecule", "chain"]
# Every pair of atoms is in the one bin.
ALL = {"range": (0.0, 30.0), "bins": 1}


def system(folder: Path, rng: np.random.Generator, chains: str) -> tj.Trajectory:
    """Return a trajectory of two atoms of one residue for each letter; a blank has no chain."""
    places = rng.uniform(0, 10, (2, 2 * len(chains), 3)).astype(np.float32)
    lines = [
        f"ATOM  {i + 1:5d}  C{i % 2 + 1}  ALA {chains[i // 2]}{i // 2 + 1:4d}    "
        + "".join(f"{x:8.3f}" for x in place)
        + "  1.00  0.00           C\n"
        for i, place in enumerate(places[0])
    ]
    # The atoms of a residue are bonded.
    lines += [f"CONECT{i + 1:5d}{i + 2:5d}\n" for i in range(0, len(lines), 2)]
    (folder / "top.pdb").write_text("".join([*lines, "END\n"]))
    tj.write(folder / "run.trr", places, cells=[60, 60, 60, 90, 90, 90])
    return tj.open(folder / "top.pdb", folder / "run.trr", sidecar=False)


@pytest.mark.parametrize("exclude", ["residue", "molecule", "chain"])
@pytest.mark.parametrize("chains", ["ABC", "AABBA", "B AA ", "   "])
def test_pairs_of_one_group_are_left_out(tmp_path: Path, chains: str, exclude: By) -> None:
    """Random selections in any order have the group numbers of the whole system."""
    rng = np.random.default_rng(len(chains))
    traj = system(tmp_path, rng, chains)
    residue = np.arange(2 * len(chains)) // 2
    group = np.array([ord(one) for one in chains])[residue] if exclude == "chain" else residue
    for _ in range(4):
        a, b = (rng.permutation(len(group))[: rng.integers(1, len(group))] for _ in "ab")
        kept = (a[:, None] != b) & (group[a][:, None] != group[b])
        pairs = [(traj.select(a.tolist()), traj.select(b.tolist()))]
        if kept.any():
            result = tj.rdf_pairs(pairs, exclude=exclude, **ALL)  # type: ignore[arg-type]
            assert result.counts.sum() == 2 * kept.sum()
        else:
            with raises(tj.SelectionError):
                tj.rdf_pairs(pairs, exclude=exclude, **ALL)  # type: ignore[arg-type]


def test_neighbours_are_of_one_chain_though_some_atoms_have_none(tmp_path: Path) -> None:
    """A selection without chain identifiers is not compared by its segments."""
    traj = system(tmp_path, np.random.default_rng(1), "A B ")
    named, blank = traj.select("chainID A B"), traj.select("resid 2 4")
    assert set(blank.topology_atoms.column("chainIDs").tolist()) == {""}  # type: ignore[union-attr]
    native = tj.native_contacts(named, blank, cutoff=29.0, exclude_neighbors=3)
    assert native.report["parameters"]["n_native"] == 16
    contacts = tj.contact_map(named, blank, cutoff=29.0, exclude_neighbors=3)
    assert np.array_equal(contacts.counts, np.full((2, 2), 2))


@pytest.mark.parametrize(
    ("by", "exclude"), [("molecule", "residue"), ("chain", "residue"), ("chain", "molecule")]
)
def test_exclude_finer_than_by_is_refused(
    tmp_path: Path, by: Literal["molecule", "chain"], exclude: By
) -> None:
    """A site would be in several of the groups that are left out."""
    traj = system(tmp_path, np.random.default_rng(2), "AB")
    with raises(ValueError):
        tj.rdf_pairs([(traj.all_atoms(), "all")], by=by, exclude=exclude)


def test_molecules_of_several_chains_are_not_left_out_by_chain(tmp_path: Path) -> None:
    """A molecule of two chains belongs to none of them; the advised sites work."""
    traj = system(tmp_path, np.random.default_rng(3), "ABCC")
    with (tmp_path / "top.pdb").open("a") as file:
        file.write("CONECT    2    3\n")
    traj = tj.open(tmp_path / "top.pdb", tmp_path / "run.trr", sidecar=False)
    pairs = [(traj.all_atoms(), "all")]
    with raises(tj.SelectionError):
        tj.rdf_pairs(pairs, by="molecule", exclude="chain", **ALL)  # type: ignore[arg-type]
    result = tj.rdf_pairs(pairs, by="residue", exclude="chain", **ALL)  # type: ignore[arg-type]
    assert result.counts.sum() == 2 * 10
