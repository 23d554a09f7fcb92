"""The unit cell of a crystal is no box: contacts of the lattice are none of the molecule."""

import gzip
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import DATA

CRYSTAL = (
    "the CRYST1 record is the unit cell of a crystal (P 1 21 1), not the box of a simulation: no"
    " periodic images are taken"
)
CHAINS = ("protein and chainID A", "protein and chainID B")


@pytest.fixture(scope="module")
def dimer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the crystal structure of a dimer."""
    path = tmp_path_factory.mktemp("crystal") / "dimer.pdb"
    path.write_bytes(gzip.decompress((DATA / "1a28.pdb.gz").read_bytes()))
    return path


@pytest.fixture(scope="module")
def in_box(dimer: Path) -> Path:
    """Return the structure with the same numbers of the cell, as a box."""
    path = dimer.with_name("in_box.pdb")
    text = dimer.read_text()
    assert text.count(" P 1 21 1 ") > 0
    record = next(line for line in text.splitlines() if line.startswith("CRYST1"))
    path.write_text(text.replace(record, record.replace("P 1 21 1", "P 1     ")))
    return path


def test_interfaces_have_no_contacts_of_the_lattice(dimer: Path, in_box: Path) -> None:
    """They are those without images; in a box of these lengths there are more."""
    traj = tj.open(dimer)
    one, other = (traj.select(chain) for chain in CHAINS)
    assert np.isnan(traj.read().cells).all()
    assert CRYSTAL in traj.messages
    found = tj.contact_map(one, other)
    assert CRYSTAL in found.messages
    assert np.array_equal(found.values, tj.contact_map(one, other, pbc=False).values)
    boxed = tj.open(in_box)
    assert boxed.read().cells[0].tolist() == [58.123, 64.444, 69.954, 90, 95.74, 90]
    assert CRYSTAL not in boxed.messages
    over_lattice = tj.contact_map(boxed.select(CHAINS[0]), boxed.select(CHAINS[1]))
    assert over_lattice.values.sum() > found.values.sum() > 0
    near = "protein and chainID B and around 4.5 (protein and chainID A)"
    assert traj.select(near).n_atoms < boxed.select(near).n_atoms


def test_crystals_as_references_give_the_contacts_of_the_molecule(
    dimer: Path, in_box: Path, tmp_path: Path
) -> None:
    """A simulation with the same positions in a large box has all native contacts."""
    path = tmp_path / "large_box.xtc"
    tj.write(path, tj.open(dimer).read().positions, cells=[150, 150, 150, 90, 90, 90])
    chosen = tj.open(dimer, path).select("protein and chainID A B")
    result = tj.native_contacts(chosen, reference=str(dimer), method="hard")
    # Positions of XTC have two decimals.
    assert result.values == pytest.approx(1, abs=1e-3)
    alone = tj.native_contacts(chosen, reference=str(dimer), method="hard", pbc=False)
    assert np.array_equal(result.pairs, alone.pairs)
    # A Universe of the file has the cell of the crystal, too, as long as it is not changed.
    universe = mda.Universe(dimer)
    atoms = universe.select_atoms("protein and chainID A B")
    of_atoms = tj.native_contacts(chosen, reference=atoms, method="hard")
    assert np.array_equal(of_atoms.pairs, result.pairs)
    boxed = tj.native_contacts(chosen, reference=str(in_box), method="hard")
    assert len(boxed.pairs) > len(result.pairs)
    universe.dimensions = [58.123, 64.444, 69.954, 90, 95.74, 90.01]
    of_box = tj.native_contacts(chosen, reference=atoms, method="hard")
    assert len(of_box.pairs) > len(result.pairs)
    (message,) = result.messages
    assert f"{dimer} has no unit cell" in message
    assert "that of a crystal is no box" in message
