"""Restart files of Amber as text: what follows the positions, and files that are cut or damaged."""

import re
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.damage import outcomes_of_damage
from helpers.golden_files import DATA, same_bits
from helpers.made_files import write_rst7
from helpers.messages import raises
from mdtraj.formats import AmberRestartFile

CELL = [40.5, 41, 42, 80, 90, 109.4712190]


def opened(path: Path) -> tj.Trajectory:
    """Open a file without an index."""
    return tj.open(None, path, sidecar=False)


def columns(*numbers: float) -> str:
    """Return a line of numbers."""
    return "".join(f"{number:12.7f}" for number in numbers) + "\n"


@pytest.mark.parametrize("time", [True, False])
@pytest.mark.parametrize("cell", [True, False])
@pytest.mark.parametrize("velocities", [True, False])
@pytest.mark.parametrize("n_atoms", [1, 2, 3, 4, 7, 12])
def test_number_of_lines_determines_the_parts(
    n_atoms: int, velocities: bool, cell: bool, time: bool, tmp_path: Path
) -> None:
    """Few atoms have as many velocities as a cell has numbers."""
    path = tmp_path / "a.rst7"
    write_rst7(path, n_atoms, velocities=velocities, cell=cell, time=time)
    words = re.findall(r".{12}", "".join(path.read_text().splitlines()[2:]))
    numbers = np.array(words, float)
    n = 3 * n_atoms
    traj = opened(path)
    block = traj.read(velocities=velocities)
    assert same_bits(block.positions.ravel(), numbers[:n].astype(np.float32))
    if velocities:
        expected = (numbers[n : 2 * n] * 20.455).astype(np.float32)
        assert same_bits(block.velocities.ravel(), expected)
    else:
        with raises(tj.FormatError):
            traj.read(velocities=True)
    assert np.array_equal(block.cells[0], CELL if cell else [np.nan] * 6, equal_nan=True)
    assert block.times.tolist() == [1234.5 if time else 0]
    assert any("looks the same" in message for message in traj.messages) == (not cell)
    # mdtraj reads the same; it takes a cell with a velocity below 60 for velocities.
    with AmberRestartFile(str(path)) as file:
        xyz, _, lengths, angles = file.read()
    assert same_bits(xyz.astype(np.float32), block.positions)
    if cell:
        assert np.array_equal(np.hstack((lengths, angles)), block.cells)


def test_copies_hold_all_numbers(tmp_path: Path) -> None:
    """NetCDF holds them exactly; a chain of restarts has the time of each."""
    path = write_rst7(tmp_path / "a.inpcrd", 25)
    old = opened(path).read(velocities=True)
    for ending in ("nc", "trr", "h5md"):
        copy = tmp_path / f"copy.{ending}"
        tj.convert(opened(path), copy)
        new = opened(copy).read(velocities=True)
        for name in ("positions", "velocities", "times"):
            if ending == "nc":
                assert np.array_equal(getattr(new, name), getattr(old, name))
            assert np.allclose(getattr(new, name), getattr(old, name), rtol=1e-6, atol=0)
        assert np.allclose(new.cells, old.cells, rtol=1e-6, atol=1e-5)
    later = tmp_path / "b.rst7"
    later.write_text(path.read_text().replace("0.1234500E+04", "0.1236500E+04"))
    assert tj.open(None, path, later).times.tolist() == [1234.5, 1236.5]
    assert tj.open(None, path, later, time_step=2).times.tolist() == [0, 2]
    assert "format        RST7" in succeed("info", path)


def test_any_cut_is_an_error_or_a_message(tmp_path: Path) -> None:
    """A file may end behind positions or velocities, with a message; elsewhere it is an error."""
    whole = write_rst7(tmp_path / "whole.rst7", 5)
    data, path = whole.read_bytes(), tmp_path / "cut.rst7"
    truth, outcomes = opened(whole).read(velocities=True), set()
    for cut in range(1, len(data)):
        path.write_bytes(data[:cut])
        try:
            traj = opened(path)
        except tj.FormatError as error:
            outcomes.add(type(error).__name__)
            continue
        block = traj.read()
        assert same_bits(block.positions, truth.positions)
        assert block.times.tolist() == [1234.5]
        if cut < len(data) - 1:
            assert any("a file that was cut" in message for message in traj.messages)
            outcomes.add("message")
        else:
            assert np.array_equal(block.cells, truth.cells)
    assert outcomes == {"TruncatedError", "FormatError", "message"}


@pytest.mark.parametrize(
    ("n_atoms", "numbers"), [(1, [0.5, 0.25, 0.125]), (2, [0.5, 0.1, 0.2, 0.3, 20, 0.4])]
)
def test_ambiguous_line_is_an_error(n_atoms: int, numbers: list[float], tmp_path: Path) -> None:
    """The advice is followed: with the line of a cell after them, these are velocities."""
    path = tmp_path / "a.rst7"
    text = f"made\n{n_atoms:5}\n" + columns(*range(3 * n_atoms)) + columns(*numbers)
    path.write_text(text)
    with raises(tj.FormatError):
        opened(path)
    fail("info", path)
    path.write_text(text + columns(*[0] * 6))
    block = opened(path).read(velocities=True)
    assert np.allclose(block.velocities.ravel(), 20.455 * np.array(numbers), rtol=1e-6, atol=0)
    assert np.isnan(block.cells).all()


def test_cell_of_one_atom_without_angles_is_an_error(tmp_path: Path) -> None:
    """The advice is followed: with angles, the line is a cell."""
    path = tmp_path / "a.rst7"
    text = "made\n    1\n" + columns(0, 1, 2) + columns(40, 41, 42)
    path.write_text(text)
    with raises(tj.FormatError):
        opened(path)
    path.write_text(text.rstrip("\n") + columns(90, 90, 90))
    assert opened(path).read().cells.tolist() == [[40, 41, 42, 90, 90, 90]]


def test_copy_has_no_time_that_the_file_does_not_state(tmp_path: Path) -> None:
    """A NetCDF copy of a restart without a time has none either."""
    path = tmp_path / "restrt"
    path.write_text("REMARK made\n    1\n" + columns(0, 1, 2) + columns(*[0] * 6))
    tj.convert(opened(path), tmp_path / "copy.nc")
    assert any("states no times" in message for message in opened(tmp_path / "copy.nc").messages)


def test_numbers_of_two_atoms_determine_the_only_line(tmp_path: Path) -> None:
    """Velocities are never as large as angles."""
    path = tmp_path / "a.rst7"
    head = "made\n    2\n" + columns(*range(6))
    path.write_text(head + columns(*CELL))
    assert np.array_equal(opened(path).read().cells[0], CELL)
    path.write_text(head + columns(0.5, 9, -1, 0, 0.25, 1))
    assert np.isnan(opened(path).read(velocities=True).cells).all()
    path.write_text("made\n    1\n" + columns(1, 2, 3) + columns(0.5, -0.25, 1))
    assert opened(path).read(velocities=True).velocities.shape == (1, 1, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  40.5000000  41.0000000", "************  41.0000000"),
        ("  40.5000000", "         NaN"),
        ("  40.5000000", " -40.5000000"),
        ("  80.0000000", "   8.0000000"),
        ("  80.0000000  90.0000000 109.4712190", ""),
        (" 109.4712190", ""),
        (" 109.4712190", " 109.4712190\n   1.0000000"),
        ("  0.1234500E+04", "  noon"),
        ("\n    5", "\n    0"),
        ("\n    5", "\n  500"),
    ],
)
def test_faults_are_errors(old: str, new: str, tmp_path: Path) -> None:
    """They name the line, and what to do."""
    path = write_rst7(tmp_path / "a.rst7", 5)
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with raises(tj.FormatError):
        opened(path)


@pytest.mark.parametrize("field", ["************", "         NaN", "   1 2       ", "   1.0"])
def test_positions_that_are_no_numbers_are_errors(field: str, tmp_path: Path) -> None:
    """Other atoms are read unless the columns are displaced."""
    path = write_rst7(tmp_path / "a.rst7", 5)
    lines = path.read_text().splitlines(keepends=True)
    lines[3] = lines[3][:36] + field + lines[3][48:]
    path.write_text("".join(lines))
    with raises(tj.FormatError):
        opened(path).read()
    if len(field) == 12:
        assert opened(path).read(atoms=[0, 1, 2, 4]).positions.shape == (1, 4, 3)


def test_damaged_files_are_errors_or_blocks(tmp_path: Path) -> None:
    """No byte may crash the reader or take memory."""
    path = write_rst7(tmp_path / "a.rst7", 3)
    cases = [[(k, ord(c))] for k in range(5, 60) for c in "9 -.\n\0"]
    outcomes = outcomes_of_damage(path, cases)
    assert set(outcomes) <= {"read", "FormatError", "TruncatedError", "StaleIndexError"}
    assert 0 < outcomes.count("read") < len(cases)


def test_files_of_windows_and_blank_lines_are_read(tmp_path: Path) -> None:
    """Blank lines may stand at the end, blanks at the ends of lines."""
    path = write_rst7(tmp_path / "a.rst7", 5)
    data, truth = path.read_bytes(), opened(path).read()
    for changed in (data.replace(b"\n", b"\r\n"), data + b"\n  \n", data.replace(b"\n", b" \n")):
        path.write_bytes(changed)
        block = opened(path).read()
        assert same_bits(block.positions, truth.positions)
        assert same_bits(block.cells, truth.cells)


def test_topology_of_amber_takes_a_restart(tmp_path: Path) -> None:
    """Selections and analyses need the topology that the restart belongs to."""
    top, restart = (DATA / "Amber" / f"parmed_ala2_solv.{it}" for it in ("parm7", "rst7"))
    protein = tj.open(top, restart, sidecar=False).select("protein")
    assert tj.gyration(protein).values.shape == (1,)
    name = tmp_path / "a.xtc"
    succeed("convert", restart, name, "--allow-loss", "--quiet")
    assert tj.open(None, name).n_atoms == 3026
