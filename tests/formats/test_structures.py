"""PDB and GRO files as trajectories, beside MDAnalysis' reading of every file that it ships."""

from collections.abc import Callable
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.commands import succeed
from helpers.damage import outcomes_of_damage
from helpers.golden_files import DATA, borders_of, read_with_mdanalysis, same_bits
from helpers.made_files import write_gro, write_pdb
from helpers.messages import names, raises
from helpers.structure_files import StructureFile, is_of_crystal

FILES = {
    str(path.relative_to(DATA)): path
    for suffix in ("pdb", "ent", "gro")
    for path in sorted(DATA.rglob(f"*.{suffix}"))
}
# The line of its only atom is blank.
UNREAD = "empty_atom.gro"
# MDAnalysis does not read an atom without a name, even for its position.
UNNAMED = "missing_atomname.gro"
# MDAnalysis gives atoms without a velocity the velocity zero.
SOME_VELOCITIES = {"grovels.gro", "coordinates/test_incomplete_vel.gro"}
# MDAnalysis reads the first frame.
SEVERAL_FRAMES = "two_water_gro_multiframe.gro"

ATOM = "ATOM  {0:>5}  CA  ALA A{0:>4}    {1:8.3f}   2.000   3.000\n"
CELL = "CRYST1{:9.3f}   20.000   30.000  90.00  90.00  90.00 P 1           1\n"


def model(x: float, *before: str, n: int = 2, end: str = "ENDMDL\n") -> str:
    """Return a model of some atoms in a row along x."""
    atoms = "".join(ATOM.format(i + 1, x + i) for i in range(n))
    return "MODEL\n" + "".join(before) + atoms + end


def write(path: Path, *texts: str) -> Path:
    """Write a file."""
    path.write_text("".join(texts))
    return path


@pytest.mark.parametrize("name", sorted(set(FILES) - {UNREAD, UNNAMED}))
def test_every_file_equals_mdanalysis(name: str) -> None:
    """Positions and velocities have the same bits; times, numbers of frames and cells are equal.

    The cell of a crystal is no box.
    """
    reader = mda.coordinates.core.reader(str(FILES[name]))
    frames = [ts.copy() for ts in reader]
    reader.close()
    block = tj.open(None, FILES[name], sidecar=False).read(velocities=frames[0].has_velocities)
    if name == SEVERAL_FRAMES:
        assert len(block.frames) == 2
        block = tj.open(None, FILES[name], sidecar=False).read(frames=[0])
    assert same_bits(block.positions, np.array([ts.positions for ts in frames]))
    assert block.times.tolist() == [ts.time for ts in frames]
    none = np.full(6, np.nan)
    lacks_box = is_of_crystal(FILES[name])
    cells = np.array(
        [none if lacks_box or ts.dimensions is None else ts.dimensions for ts in frames]
    )
    assert np.allclose(block.cells, cells, rtol=2**-23, atol=2e-5, equal_nan=True)
    if block.velocities is not None:
        velocities = np.array([ts.velocities for ts in frames])
        lacking = np.isnan(block.velocities)
        assert lacking.any() == (name in SOME_VELOCITIES)
        assert not velocities[lacking].any()
        assert same_bits(np.where(lacking, 0, block.velocities), velocities)


def test_file_with_a_blank_atom_is_an_error() -> None:
    """The error names the line."""
    with raises(tj.FormatError):
        tj.open(None, FILES[UNREAD], sidecar=False).read()


def test_structure_is_opened_without_another_topology(tmp_path: Path) -> None:
    """The first frame gives the atoms, by names and bonds; MDAnalysis selects the same."""
    path = FILES["nmr_neopetrosiamide.pdb"]
    traj = tj.open(path, sidecar=False)
    assert (traj.n_frames, traj.format) == (24, "PDB")
    universe = mda.Universe(str(path))
    atoms = traj.select("name CA")
    assert np.array_equal(atoms.indices, universe.select_atoms("name CA").indices)
    gro = write_gro(tmp_path / "water.gro", 12, 3)
    assert tj.open(str(gro)).select("name OW").read().positions.shape == (3, 12, 3)
    # As topology and trajectory.
    assert tj.open(path, path, sidecar=False).select("name CA").read().positions.shape[0] == 24


def test_every_pool_gives_the_same_bits(tmp_path: Path) -> None:
    """Workers read models from the offsets and the cell that they are sent."""
    cells = write(
        tmp_path / "cells.pdb", CELL.format(9), *(model(3.0 * k * k, n=4) for k in range(12))
    )
    for path in (
        write_gro(tmp_path / "made.gro", 30, 20),
        write_pdb(tmp_path / "made.pdb", 30, 20),
        cells,
    ):
        traj = tj.open(path)
        atoms = traj.select(np.arange(0, traj.n_atoms, 2))
        one = tj.rmsd(atoms, reference=0, pool=tj.LocalPool(threads=1)).values
        assert np.ptp(one) > 0 or path == cells
        pair = ([0, 1], [2, 3])
        near = tj.distances(traj.select(pair[0]), traj.select(pair[1]))
        for pool in (
            tj.LocalPool(threads=2, task_frames=4),
            tj.ProcessPool(workers=2, task_frames=4),
        ):
            assert same_bits(tj.rmsd(atoms, reference=0, pool=pool).values, one)
            far = tj.distances(traj.select(pair[0]), traj.select(pair[1]), pool=pool)
            assert same_bits(far.values, near.values)


def test_structures_join_chains_and_are_references(tmp_path: Path) -> None:
    """A model, a GRO frame and an XTC file are one trajectory; a structure is a reference."""
    gro = write_gro(tmp_path / "a.gro", 12, 3, velocities=False)
    xtc = tmp_path / "b.xtc"
    first = tj.open(gro).read()
    assert tj.convert(tj.open(gro), xtc).n_frames == 3
    both = tj.open(gro, gro, xtc)
    block = both.read()
    assert both.format == "GRO, XTC"
    assert np.allclose(block.positions[3:], first.positions, atol=0.0051)
    assert block.times.tolist() == [0.0, 0.5, 1.0] * 2
    assert block.steps.tolist() == [0, 250, 500] * 2
    values = tj.rmsd(both.select("all"), reference=tj.open(gro).select("all")).values
    assert np.allclose(values[[0, 3]], 0, atol=0.01)
    assert values[[1, 2, 4, 5]].min() > 1


@pytest.mark.parametrize("suffix", ["xtc", "trr", "dcd", "nc", "h5md"])
def test_copies_hold_what_was_read(suffix: str, tmp_path: Path) -> None:
    """Conversion keeps positions, times and cells, and velocities where the output has them."""
    for path in (
        write_gro(tmp_path / "made.gro", 12, 5, velocities=suffix in ("trr", "nc", "h5md")),
        write_pdb(tmp_path / "made.pdb", 12, 5),
    ):
        traj = tj.open(path)
        copy = tmp_path / f"{path.stem}-{path.suffix[1:]}.{suffix}"
        tj.convert(traj, copy, allow_loss=suffix == "xtc")
        has = path.suffix == ".gro" and suffix in ("trr", "nc", "h5md")
        old, new = traj.read(velocities=has), tj.open(None, copy).read(velocities=has)
        off = 0.0051 if suffix == "xtc" else 1e-5
        assert np.allclose(new.positions, old.positions, rtol=1e-6, atol=off)
        assert np.allclose(new.cells, old.cells, rtol=1e-6, atol=1e-4)
        assert np.allclose(new.times, old.times)
        if has:
            assert np.allclose(new.velocities, old.velocities, rtol=1e-6, atol=1e-6)


def test_positions_are_copied_bit_for_bit(tmp_path: Path) -> None:
    """DCD holds the numbers of PDB files, TRR in double precision those of GRO files."""
    for path, suffix in (
        (write_gro(tmp_path / "a.gro", 12, 4), "trr"),
        (write_pdb(tmp_path / "b.pdb", 12, 4), "dcd"),
    ):
        copy = tmp_path / f"copy.{suffix}"
        tj.convert(tj.open(path), copy)
        assert same_bits(tj.open(None, copy).read().positions, tj.open(None, path).read().positions)
    pieces = tj.split(tj.open(path), tmp_path / "pieces", segments=2)
    assert {Path(piece.path).suffix for piece in pieces} == {".dcd"}


def test_commands_take_structures(tmp_path: Path) -> None:
    """`info`, `convert` and analyses open a structure alone."""
    path = write_pdb(tmp_path / "made.pdb", 12, 5)
    facts = dict(line.split(maxsplit=1) for line in succeed("info", path) if line[:1].strip())
    assert (facts["format"], facts["atoms"], facts["frames"]) == ("PDB", "12", "5")
    succeed("convert", path, tmp_path / "out.xtc")
    assert tj.open(None, tmp_path / "out.xtc").n_frames == 5
    succeed("rmsd", path, "--select", "name CA", "-o", tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) >= 6


def test_structures_are_not_written_or_stored(tmp_path: Path) -> None:
    """The error says what to do."""
    path = write_pdb(tmp_path / "made.pdb", 12, 5)
    with raises(ValueError):
        tj.convert(tj.open(path), tmp_path / "out.gro")
    store = tj.Store(tmp_path / "store", create=True)
    with raises(tj.StoreError):
        store.add("run", tj.open(path))


def test_models_end_with_endmdl_or_end_or_the_next_model(tmp_path: Path) -> None:
    """Frames k have the time k ps."""
    path = tmp_path / "a.pdb"
    for texts in (
        [model(k) for k in range(3)],
        [model(k, end="") for k in range(3)],
        [model(k).replace("MODEL\n", "").replace("ENDMDL", "END") for k in range(3)],
        [model(k) + "TER\n" for k in range(3)],
    ):
        block = tj.open(None, write(path, *texts)).read()
        assert block.positions[:, :, 0].tolist() == [[0, 1], [1, 2], [2, 3]]
        assert block.times.tolist() == [0, 1, 2]


def test_cell_of_frame_0_is_that_of_frames_without_one(tmp_path: Path) -> None:
    """A CRYST1 record in the header is that of all models; 1 x 1 x 1 Å stands for no cell."""
    path = tmp_path / "a.pdb"
    block = tj.open(None, write(path, CELL.format(9), model(0), model(1), model(2))).read(
        frames=[2, 0]
    )
    assert block.cells[:, 0].tolist() == [9, 9]
    own = [CELL.format(9 + k) + model(k) for k in range(3)]
    assert tj.open(None, write(path, *own)).read().cells[:, 0].tolist() == [9, 10, 11]
    none = "CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1           1\n"
    assert np.isnan(tj.open(None, write(path, none, model(0), model(1))).read().cells).all()
    mixed = write(path, CELL.format(9), model(0), model(1, CELL.format(8)), model(2))
    with raises(tj.FormatError):
        tj.open(None, mixed)
    flat = write(path, CELL.format(9).replace("30.000", " 0.000"), model(0))
    with raises(tj.FormatError):
        tj.open(None, flat)


def test_frame_with_other_atoms_is_an_error(tmp_path: Path) -> None:
    """The error gives both numbers, frame and byte."""
    path = write(tmp_path / "a.pdb", model(0), model(1), model(2, n=3))
    with raises(tj.FormatError):
        tj.open(None, path)
    gro = write_gro(tmp_path / "a.gro", 3, 2)
    gro.write_bytes(gro.read_bytes() + write_gro(tmp_path / "b.gro", 4, 1).read_bytes())
    with raises(tj.FormatError):
        tj.open(None, gro)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("suffix", ["pdb", "gro"])
def test_cut_files_are_errors(suffix: str, step: int, tmp_path: Path) -> None:
    """At any byte, a file has all atoms of its frames, or is refused with frame and byte."""
    path = tmp_path / f"a.{suffix}"
    data = (write_gro if suffix == "gro" else write_pdb)(path, 3, 3).read_bytes()
    truth = read_with_mdanalysis(path, tmp_path)
    at = borders_of(suffix.upper(), data).at
    outcomes = set()
    # Frame 0 of a PDB file may have any number of atoms.
    cuts = {*range(at[1] if suffix == "pdb" else 1, len(data), step)}
    # Whole frames whose last line has no end are read.
    cuts |= {border + k for border in at[1:] for k in (-2, -1, 0, 1) if border + k < len(data)}
    for cut in sorted(cuts):
        path.write_bytes(data[:cut])
        whole = sum(border <= cut for border in at[1:])
        try:
            block = tj.open(None, path, sidecar=False).read()
        except tj.TruncatedError as error:
            assert names(error, f"frame {whole}", f"byte {at[whole]}")
            outcomes.add("refused")
            if whole == 0:
                continue
            traj = tj.open(None, path, sidecar=False, allow_truncated_tail=True)
            assert traj.source.reader.truncated_tail == cut - at[whole]
            block = traj.read()
        assert whole <= len(block.frames) <= whole + 1
        outcomes.add(len(block.frames) - whole)
        assert same_bits(block.positions, truth.positions[: len(block.frames)])
        if (suffix, cut) == ("gro", at[1] - 61):
            # The first three of the nine numbers of the only box are a box, too.
            assert block.cells[0].tolist() == [70, 80, 90, 90, 90, 90]
            continue
        assert np.allclose(block.cells, truth.cells[: len(block.frames)], atol=1e-4)
    assert outcomes == {"refused", 0, 1}


def test_coordinates_that_are_displaced_are_an_error(tmp_path: Path) -> None:
    """A serial number that is too long moves the coordinates into other columns."""
    text = model(0).replace("ATOM      2", "ATOM  1234567")
    with raises(tj.FormatError):
        tj.open(None, write(tmp_path / "a.pdb", text)).read()


def test_lines_may_end_in_carriage_returns_and_blanks(tmp_path: Path) -> None:
    """Files of Windows, and files with blank lines at their end or between frames."""
    for name, writer in (("a.gro", write_gro), ("a.pdb", write_pdb)):
        path = writer(tmp_path / name, 5, 3)
        data, truth = path.read_bytes(), tj.open(None, path).read()
        for changed in (data.replace(b"\n", b"\r\n"), data + b"\n\n  \n"):
            path.write_bytes(changed)
            block = tj.open(None, path).read()
            assert same_bits(block.positions, truth.positions)
            assert same_bits(block.cells, truth.cells)


def test_changed_numbers_of_lines_are_errors_or_blocks(tmp_path: Path) -> None:
    """No digit of a count, a box or a title may crash the reader or take memory."""
    for name, writer in (("a.gro", write_gro), ("a.pdb", write_pdb)):
        path = writer(tmp_path / name, 4, 3)
        data = path.read_bytes()
        line = data.index(b"\n") + 1
        cases = [[(k, ord(c))] for k in range(line, line + 60) for c in "9 -.\n\0"]
        outcomes = outcomes_of_damage(path, cases)
        assert set(outcomes) <= {"read", "FormatError", "TruncatedError", "StaleIndexError"}
        assert 0 < outcomes.count("read") < len(cases)


def test_few_atoms_of_a_frame_are_decoded(tmp_path: Path) -> None:
    """Only the selected atoms are parsed; the lines of others are skipped."""
    for path in (write_gro(tmp_path / "a.gro", 30, 3), write_pdb(tmp_path / "a.pdb", 30, 3)):
        out = np.empty((3, 2, 3), np.float32)
        counts = tj.open(None, path).source.reader.read(
            (0, 1, 3), np.array([4, 29]), out, "positions"
        )["counts"]
        assert counts["atoms_decoded"] == 6
        assert same_bits(out, tj.open(None, path).read().positions[:, [4, 29]])
        broken = path.read_text().splitlines(keepends=True)
        labels = ("    5SOL", " CA AALA A   5")
        at = next(k for k, line in enumerate(broken) if any(label in line for label in labels))
        broken[at] = broken[at][:30] + "x" + broken[at][31:]
        path.write_text("".join(broken))
        traj = tj.open(None, path)
        assert same_bits(traj.read(atoms=[4, 29], frames=[1, 2]).positions, out[1:])
        with raises(tj.FormatError):
            traj.read()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: "\ufeff" + text.partition("\n")[2],
        lambda text: " " + text,
        lambda text: text.replace("CRYST1", "cryst1"),
        lambda text: text.replace("ATOM", "atom", 1),
        lambda text: text.replace("1.00  0.00           C\n", "1.00  0.00           C  ", 1),
        lambda text: text.replace("C\n", "C\r", 1),
        lambda text: text.replace("TER\n", "TER"),
        lambda text: "END" + text,
    ],
)
@pytest.mark.parametrize("has_topology", [True, False])
def test_records_in_other_columns_are_an_error(
    change: Callable[[str], str], has_topology: bool, tmp_path: Path
) -> None:
    """An atom or the cell would be lost: behind a line that lacks its end, or a byte-order mark."""
    atoms = [ATOM.format(k, k, 15.0 * k)[:-1] + "  1.00  0.00           C\n" for k in range(3)]
    text = CELL.format(20.0) + "".join(atoms[:2]) + "TER\n" + atoms[2] + "END\n"
    path = write(tmp_path / "whole.pdb", text)
    assert tj.open(path, sidecar=False).read().positions.shape == (1, 3, 3)
    path.write_bytes(change(text).encode())
    with raises(tj.FormatError):
        if has_topology:
            StructureFile.open(path)
        else:
            tj.open(None, path, sidecar=False).read()
