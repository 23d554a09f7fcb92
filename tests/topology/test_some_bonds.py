"""Topologies that list some bonds only, as most PDB files do, are no source of molecules."""

from collections.abc import Callable
from pathlib import Path

import pytest
import trajet as tj
from helpers.messages import raises

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
