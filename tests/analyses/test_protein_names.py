"""Messages on residues that `protein` has beside MDAnalysis' list, or leaves out of a chain."""

from pathlib import Path

import MDAnalysis as mda
import pytest
import trajet as tj
from helpers import peptides
from MDAnalysis.core.selection import ProteinSelection
from trajet import _trajet


def chain(folder: Path, name: str, writer: str = "pdb") -> tj.Trajectory:
    """Return a helix in which residue 7 has another name."""
    rows = [
        row._replace(residue=name) if row.number == peptides.SPLIT else row
        for row in peptides.helix(12)
    ]
    topology = peptides.WRITERS[writer](folder / f"x.{writer}", rows)
    return tj.open(topology, peptides.write_frames(folder / "x.trr", rows, rows))


def messages(traj: tj.Trajectory, text: str) -> list[str]:
    """Return the messages on `protein` of two analyses, which are the same."""
    results = [tj.dssp(traj.select(text)), tj.dihedrals(traj.select(text))]
    found = [[r for r in one.messages if "'protein'" in r] for one in results]
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("writer", ["pdb", "gro", "cif", "psf"])
def test_modified_amino_acids_are_protein_and_are_named(tmp_path: Path, writer: str) -> None:
    """In all formats; where they are no part of the selection there is no message."""
    traj = chain(tmp_path, "SEP", writer)
    assert traj.select("protein").n_atoms == traj.n_atoms
    assert traj.select("backbone").n_atoms == 4 * 12
    (message,) = messages(traj, "protein")
    assert message.endswith("which MDAnalysis' leaves out: 1 (SEP7)")
    assert not messages(traj, "protein and resid 1:5")
    assert not messages(traj, "all")
    (message,) = messages(traj, "protein and not resid 7")
    assert "SEP7" in message


@pytest.mark.parametrize("writer", ["pdb", "gro", "cif", "psf"])
def test_unknown_residues_of_a_chain_are_named_until_they_are_selected(
    tmp_path: Path, writer: str
) -> None:
    """The message says what to add, after which it is gone."""
    traj = chain(tmp_path, "XYZ", writer)
    (message,) = messages(traj, "protein")
    assert "leaves out residues" in message
    assert "1 (XYZ7)" in message
    assert "'protein or resname XYZ'" in message
    assert not messages(traj, "protein or resname XYZ")
    assert not messages(traj, "protein and resid 1:5")
    angles = tj.dihedrals(traj.select("protein"))
    assert angles.values.shape[1] == 2 * 9


def test_protein_has_the_names_of_mdanalysis_and_modified_amino_acids() -> None:
    """Names of MDAnalysis are in its own list alone."""
    modified = _trajet.MODIFIED_AMINO_ACIDS
    theirs = ProteinSelection.prot_res
    assert sorted(set(modified)) == list(modified)
    assert theirs.isdisjoint(modified)
    assert all(map(_trajet.is_protein, [*theirs, *modified]))
    assert not any(map(_trajet.is_protein, ["HOH", "LIG", "DA", ""]))


def test_atomgroups_of_mdanalysis_are_taken_as_they_are(tmp_path: Path) -> None:
    """Its `protein` has no phosphoserine."""
    chain(tmp_path, "SEP")
    universe = mda.Universe(tmp_path / "x.pdb", tmp_path / "x.trr")
    group = universe.select_atoms("protein")
    assert group.n_residues == 11
    assert len(tj.dssp(group).columns) == 11
