"""Residues apart along the bonds of backbones, by which contacts of neighbours are left out."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import peptides
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
