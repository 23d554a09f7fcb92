"""Deuterium and tritium are hydrogens with masses of their own."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj

ATOMS = [
    ("O", "HOH", 1, (0, 0, 0)),
    ("H1", "HOH", 1, (0.96, 0, 0)),
    ("H2", "HOH", 1, (-0.24, 0.93, 0)),
    ("N", "ALA", 2, (2.9, 0, 0)),
    ("H", "ALA", 2, (3.9, 0, 0)),
]


def write(path: Path, isotope: str) -> Path:
    """Write a water and an amide whose hydrogens are of an isotope."""
    lines = [
        f"ATOM  {i + 1:5}  {name.replace('H', isotope):3} {residue:4}A{number:4}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          "
        f"{name[0].replace('H', isotope):>2}\n"
        for i, (name, residue, number, (x, y, z)) in enumerate(ATOMS)
    ]
    path.write_text("".join([*lines, "END\n"]))
    return path


@pytest.mark.parametrize(("isotope", "mass"), [("D", 2.014), ("T", 3.016)])
def test_isotopes_are_hydrogens_of_their_own_mass(
    isotope: str, mass: float, tmp_path: Path
) -> None:
    """Surface, hydrogen bonds and heavy atoms are those of hydrogen; masses are not."""
    heavy, light = (tj.open(write(tmp_path / f"{one}.pdb", one)) for one in (isotope, "H"))
    assert heavy.topology.elements.tolist() == ["O", isotope, isotope, "N", isotope]
    assert heavy.topology.masses.tolist() == [15.999, mass, mass, 14.007, mass]
    assert heavy.topology.guessed_bonds.tolist() == light.topology.guessed_bonds.tolist()
    for value in (
        lambda atoms: tj.sasa(atoms).values,
        lambda atoms: tj.hbonds(atoms, guess_bonds=True).values,
        lambda atoms: tj.centers(atoms, by="residue", weights="equal").values,
    ):
        assert np.array_equal(value(heavy.select("all")), value(light.select("all")))
    assert tj.hbonds(heavy.select("all"), guess_bonds=True).values.max() == 1


def test_names_do_not_make_deuterium(tmp_path: Path) -> None:
    """Atoms whose names begin with D have no element unless the file states it."""
    path = tmp_path / "a.gro"
    atoms = "".join(
        f"    1DUM  {name:>5}{i:5}{i:8.3f}   0.000   0.000\n"
        for i, name in enumerate(["D1", "DUM"], 1)
    )
    path.write_text(f"t\n    2\n{atoms}   9.00000   9.00000   9.00000\n")
    assert tj.open(path).topology.masses.tolist() == [0, 0]
