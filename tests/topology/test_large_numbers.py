"""Numbers that are too large for the columns of a format, and blank names."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.messages import raises


def write_waters(path: Path, numbers: "list[str]", names: tuple[str, ...] = ("OH2",)) -> Path:
    """Write a PDB file with a residue for each text in the columns of its number."""
    rows = [(name, number) for number in numbers for name in names]
    lines = [
        f"ATOM  {(i + 1) % 100000:5}  {name:3} TIP3W{number:>4}    {3.0 * i % 900:8.3f}"
        "   0.000   0.000  1.00  0.00      WT1  O\n"
        for i, (name, number) in enumerate(rows)
    ]
    path.write_text("".join([*lines, "END\n"]))
    return path


def vmd(number: int) -> str:
    """Return a residue number as VMD writes it."""
    return str(number) if number < 10000 else f"{number:x}" if number < 65536 else "****"


@pytest.mark.parametrize(("first", "last"), [(9998, 10009), (9000, 12345), (9999, 10016)])
def test_hexadecimal_residue_numbers_of_vmd(first: int, last: int, tmp_path: Path) -> None:
    """Numbers above 9999 are those that VMD means; selections find them."""
    expected = list(range(first, last + 1))
    path = write_waters(tmp_path / "a.pdb", [vmd(number) for number in expected], ("OH2", "H1"))
    traj = tj.open(path)
    assert traj.topology.residues.resids.tolist() == expected
    assert traj.select("resid 10001").indices.tolist() == [2 * (10001 - first) + k for k in (0, 1)]
    assert traj.messages == ()


def test_starred_residues_are_divided_with_a_message(tmp_path: Path) -> None:
    """A name that repeats begins the next residue; every result has the message."""
    path = write_waters(tmp_path / "a.pdb", ["9999", *["****"] * 4], ("OH2", "H1", "H2"))
    traj = tj.open(path)
    assert traj.topology.residues.resids.tolist() == [9999, 10000, 10001, 10002, 10003]
    result = tj.centers(traj.select("all"), by="residue", weights="equal")
    assert result.values.shape[1] == 5
    messages = [one for one in result.messages if "****" in one]
    assert len(messages) == 1
    assert messages[0].startswith(f"{path}: 4 residues have the number ****")


def test_residue_numbers_of_six_digits(tmp_path: Path) -> None:
    """Digits in the blank columns behind a number belong to it."""
    lines = [
        f"ATOM  {i + 1:5}  OH2 TIP3W{number:<8}{3.0 * i:8.3f}   0.000   0.000  1.00  0.00\n"
        for i, number in enumerate([99999, 100000, 100001])
    ]
    path = tmp_path / "a.pdb"
    path.write_text("".join([*lines, "END\n"]))
    assert tj.open(path).topology.residues.resids.tolist() == [99999, 100000, 100001]


@pytest.mark.parametrize("partners", [2, 4, 5])
def test_bonds_of_serials_beyond_their_columns_are_unknown(partners: int, tmp_path: Path) -> None:
    """Numbers of six digits in CONECT records are never read as others."""
    lines = [
        f"ATOM {serial:6}  CA  ALA A   1    {3.0 * i:8.3f}   0.000   0.000  1.00  0.00\n"
        for i, serial in enumerate([*range(99998, 100004), 10000, 1000, 1001, 10])
    ]
    conect = "CONECT" + "".join(str(100000 + k) for k in range(partners)) + "\n"
    path = tmp_path / "a.pdb"
    path.write_text("".join([*lines, conect, "END\n"]))
    traj = tj.open(path)
    assert traj.topology.ids.tolist()[2] == 100000
    assert traj.topology.bonds is None
    assert [one for one in traj.messages if "CONECT" in one]
    # Numbers of five digits fill their columns, too.
    path.write_text("".join([*lines[:2], lines[6], "CONECT9999899999\n", "END\n"]))
    assert tj.open(path).topology.bonds.tolist() == [[0, 1]]


@pytest.mark.parametrize("number", [99998, 99999])
def test_gro_numbers_wrap_and_displaced_columns_are_refused(number: int, tmp_path: Path) -> None:
    """GROMACS goes on with 0; a number of six digits moves the coordinates."""
    path = tmp_path / "a.gro"

    def write(fields: list[str]) -> None:
        lines = [f"{one}SOL     OW{1:5}1234.567   0.000   0.000\n" for one in fields]
        path.write_text(f"t\n{len(lines)}\n{''.join(lines)}   9.00000   9.00000   9.00000\n")

    write([f"{(number + k) % 100000:5}" for k in range(4)])
    assert tj.open(path).topology.residues.resids.tolist() == [number + k for k in range(4)]
    write([f"{number + k:5}" for k in range(4)])
    with raises(tj.FormatError):
        tj.open(path).read()
    with raises(tj.FormatError):
        _ = tj.open(path).topology


@pytest.mark.parametrize("flags", ["", " EXT", " XPLOR", " EXT CMAP CHEQ XPLOR DRUDE", " NAMD"])
@pytest.mark.parametrize("blank", range(8))
def test_psf_files_with_blank_names(flags: str, blank: int, tmp_path: Path) -> None:
    """Charges and masses are those of the file, whatever names are blank, or it is refused."""
    number, width = (10, 8) if "EXT" in flags else (8, 4)
    segment, residue, name = (
        "" if blank >> k & 1 else text for k, text in enumerate(["S1", "LIP", "C"])
    )
    rows = [
        f"{i + 1:{number}} {segment:{width}} {9999 + i // 2:<{width}} {residue:{width}}"
        f" {name:{width}} {'CT':4} {(-1) ** i:10.6f}     {72 + i:9.4f}  {0:10}   0.00000"
        "  -0.301140E-02\n"
        for i in range(4)
    ]
    path = tmp_path / "a.psf"
    path.write_text(f"PSF{flags}\n\n 1 !NTITLE\n made\n\n 4 !NATOM\n{''.join(rows)}\n 0 !NBOND\n")
    tj.write(tmp_path / "a.nc", np.zeros((1, 4, 3), "f4"))
    topology = tj.open(path, tmp_path / "a.nc").topology
    assert topology.charges.tolist() == [1, -1, 1, -1]
    assert topology.masses.tolist() == [72, 73, 74, 75]
    assert topology.residues.resids.tolist() == [9999, 10000]
    assert topology.names.tolist() == [name] * 4
    assert set(topology.resnames) == {residue}
