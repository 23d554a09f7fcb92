"""Trajectories with some atoms of their topology: `atoms=`, `--atoms`; bonds of some."""

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.golden_files import Adk
from helpers.messages import raises
from MDAnalysisTests import datafiles


@pytest.fixture(scope="module")
def protein(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the protein alone of a solvated system, as `compressed-x-grps = Protein` writes it."""
    path = tmp_path_factory.mktemp("some") / "protein.xtc"
    tj.convert(tj.open(datafiles.GRO, datafiles.XTC, sidecar=False).select("protein"), path)
    return path


def test_results_are_those_of_all_atoms(protein: Path) -> None:
    """Indices, names and masses are those of the topology."""
    whole = tj.open(datafiles.GRO, datafiles.XTC, sidecar=False)
    some = tj.open(datafiles.GRO, protein, atoms="protein", sidecar=False)
    for text in ("name CA", "resid 200:214 and name N CA C"):
        ours, truth = some.select(text), whole.select(text)
        assert ours.indices.tolist() == truth.indices.tolist()
        assert np.array_equal(tj.rmsd(ours).values, tj.rmsd(truth).values)
        assert np.array_equal(tj.gyration(ours).values, tj.gyration(truth).values)
    again = pickle.loads(pickle.dumps(some))
    assert np.array_equal(
        tj.rmsd(again.select("name CA")).values, tj.rmsd(some.select("name CA")).values
    )
    with raises(tj.SelectionError):
        some.select([some.n_atoms])
    with raises(tj.SelectionError):
        some.select("resname SOL")


def test_atoms_with_a_name_are_those_whose_column_has_it(adk: Adk) -> None:
    """In any order of the group, and of names that no atom has."""
    traj = tj.open(adk.psf, adk.xtc)
    order = np.random.default_rng(1).permutation(traj.n_atoms)[:700]
    for atoms in (traj.all_atoms().topology_atoms, traj.select(order).topology_atoms):
        for name in ("CA", "HA", "none", ""):
            assert np.array_equal(atoms.named(name), np.flatnonzero(atoms.column("names") == name))


def test_any_rising_indices_are_taken(adk: Adk, tmp_path: Path) -> None:
    """Also atoms between others; the positions are those of the same atoms."""
    whole = tj.open(adk.psf, adk.xtc)
    indices = np.sort(np.random.default_rng(0).choice(whole.n_atoms, 500, replace=False))
    tj.convert(whole.select(indices), tmp_path / "some.trr", velocities=False)
    some = tj.open(adk.psf, tmp_path / "some.trr", atoms=indices)
    chosen = some.select("name CA C N")
    expected = np.intersect1d(whole.select("name CA C N").indices, indices)
    assert chosen.indices.tolist() == expected.tolist()
    assert np.array_equal(chosen.read().positions, whole.select(expected).read().positions)
    for wrong in (indices[1:], indices[::-1], [*indices[:-1].tolist(), whole.n_atoms]):
        with pytest.raises(tj.SelectionError):
            tj.open(adk.psf, tmp_path / "some.trr", atoms=wrong)
    with raises(tj.SelectionError):
        tj.open(adk.psf, tmp_path / "some.trr", atoms="around 5 name CA")


def test_advice_names_a_selection_that_works(protein: Path) -> None:
    """Opened without `atoms`, the error names the groups whose number of atoms is right."""
    for atoms in ({}, {"atoms": "name CA"}):
        with pytest.raises(tj.SelectionError) as refused:
            _ = tj.open(datafiles.GRO, protein, sidecar=False, **atoms).topology
        found = re.search(r"with atoms='([^']+)' if", str(refused.value).split("; or,")[1])
        assert found, refused.value
        assert tj.open(datafiles.GRO, protein, atoms=found[1], sidecar=False).select("protein")
    fail("gyration", datafiles.GRO, protein, "--select", "protein")
    succeed("gyration", datafiles.GRO, protein, "--select", "protein", "--atoms", found[1])


def test_copies_and_stores_have_these_atoms(protein: Path, tmp_path: Path) -> None:
    """A store has a topology of its own, which counts them from 0."""
    some = tj.open(datafiles.GRO, protein, atoms="protein", sidecar=False)
    truth = tj.rmsd(some.select("name CA")).values
    tj.convert(some, tmp_path / "copy.trr", topology=tmp_path / "copy.gro")
    copy = tj.open(tmp_path / "copy.gro", tmp_path / "copy.trr")
    assert np.array_equal(tj.rmsd(copy.select("name CA")).values, truth)
    store = tj.Store(tmp_path / "store", create=True)
    done = store.add("adk", some)
    assert any("count these" in message for message in done.messages)
    kept = tj.open(tmp_path / "store/adk")
    assert kept.topology.n_atoms == some.n_atoms
    assert np.array_equal(tj.rmsd(kept.select("name CA")).values, truth)
    assert np.array_equal(
        tj.rmsd(some.select("name CA"), pool=tj.ProcessPool(workers=2)).values, truth
    )


# Three waters in a row, each with a hydrogen towards the next, and an alcohol.
ATOMS = [
    *(
        (name, "HOH", k + 1, (2.8 * k + x, y, 1.0), name[0])
        for k in range(3)
        for name, x, y in (("O", 1.0, 1.0), ("H1", 1.96, 1.0), ("H2", 0.7, 1.9))
    ),
    ("O1", "LIG", 4, (9.6, 1.0, 1.0), "O"),
    ("H1", "LIG", 4, (10.5, 1.0, 1.0), "H"),
    ("C1", "LIG", 4, (9.6, 2.3, 1.0), "C"),
]


def written(path: Path, connected: range) -> tj.Trajectory:
    """Return the structure with CONECT records of some residues."""
    lines = ["CRYST1   40.000   40.000   40.000  90.00  90.00  90.00 P 1           1"]
    for k, (name, residue, number, (x, y, z), element) in enumerate(ATOMS):
        lines.append(
            f"HETATM{k + 1:>5} {name:^4} {residue} A{number:>4}    {x:8.3f}{y:8.3f}{z:8.3f}"
            f"  1.00  0.00          {element:>2}"
        )
    lines += [f"CONECT{3 * k + 1:>5}{3 * k + 2:>5}{3 * k + 3:>5}" for k in connected]
    path.write_text("\n".join([*lines, "END", ""]))
    return tj.open(path)


NEED_ALL: dict[str, Callable[[tj.Trajectory], object]] = {
    "molecules": lambda traj: traj.topology.molecules,
    "centers": lambda traj: tj.centers(traj.select("all"), by="molecule"),
    "split": lambda traj: traj.select("resname HOH").split("molecule"),
    "wrap": lambda traj: traj.wrap(),
    "whole": lambda traj: traj.whole(),
    "hbonds": lambda traj: tj.hbonds(traj.select("all")),
    "fragment": lambda traj: traj.select("same fragment as index 0"),
    "bonded": lambda traj: traj.select("bonded index 0"),
}


@pytest.mark.parametrize("name", NEED_ALL)
def test_bonds_of_a_ligand_alone_are_an_error(tmp_path: Path, name: str) -> None:
    """Where all bonds are needed; the error counts the residues that are not connected."""
    traj = written(tmp_path / "some.pdb", connected=range(3, 4))
    with raises(tj.SelectionError):
        NEED_ALL[name](traj)


def test_all_bonds_and_guessed_ones_are_used(tmp_path: Path) -> None:
    """Four molecules, and the hydrogen bonds between them."""
    whole = written(tmp_path / "all.pdb", connected=range(4))
    assert whole.topology.molecules.tolist() == [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 9]
    assert whole.select("same fragment as index 4").indices.tolist() == [3, 4, 5]
    some = written(tmp_path / "some.pdb", connected=range(3, 4))
    found = tj.hbonds(whole.select("all")).values
    assert found[0] > 0
    assert tj.hbonds(some.select("all"), guess_bonds=True).values.tolist() == found.tolist()
