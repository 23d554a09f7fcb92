"""Cells and record markers of DCD files: CHARMM's matrix, lengths and angles, 32 and 64 bits."""

import struct
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.made_files import random_vectors, write_dcd, write_names
from helpers.made_stores import write_profile
from helpers.messages import raises
from MDAnalysisTests import datafiles

OCTANE = [4.109898465944259, -0.57548144, 4.70706071, 0.28085123, -0.26843689, 10.99323045]


def symmetric(cell: list[float]) -> list[float]:
    """Return the symmetric matrix of a cell as CHARMM writes it: xx, xy, yy, xz, yz, zz."""
    a = np.array(cell[:3])
    cos = np.cos(np.radians(cell[3:]))
    gram = np.diag(a**2)
    for i, j, k in ((1, 2, 0), (0, 2, 1), (0, 1, 2)):
        gram[i, j] = gram[j, i] = a[i] * a[j] * cos[k]
    values, vectors = np.linalg.eigh(gram)
    m = (vectors * np.sqrt(values)) @ vectors.T
    return [m[0, 0], m[0, 1], m[1, 1], m[0, 2], m[1, 2], m[2, 2]]


def write(path: Path, record: list[float], version: int, *, frames: int = 2, **how: object) -> Path:
    """Write a file whose frames all have this cell record."""
    cells = np.tile(record, (frames, 1))
    return write_dcd(path, random_vectors(frames, 9), cells=cells, version=version, **how)


def cells_of(path: Path, **how: object) -> np.ndarray:
    """Return the cells of all frames."""
    return tj.open(None, path, **how).read(atoms=[0]).cells


def version_of(path: Path) -> int:
    """Return the version in the header of a little-endian file."""
    return int(struct.unpack_from("<i", path.read_bytes(), 84)[0])


def records_of(path: Path) -> list[bytes]:
    """Return the 48 bytes of each cell record of a little-endian file."""
    data, lengths = path.read_bytes(), list[int]()
    found, at = list[bytes](), 0
    while at < len(data):
        (n,) = struct.unpack_from("<i", data, at)
        lengths.append(n)
        # Behind the header, the titles and the number of atoms each frame has four records.
        if len(lengths) % 4 == 0:
            assert n == 48
            found.append(data[at + 4 : at + 52])
        at += n + 8
    return found


# The form of cells


def test_version_above_25_means_a_symmetric_matrix(tmp_path: Path) -> None:
    """Off-diagonal elements may look like cosines or degrees."""
    octane = cells_of(write(tmp_path / "octane.dcd", OCTANE, 46))
    assert np.allclose(octane, [4.1593, 4.7500, 11.0000, 94.805, 84.486, 105.108], atol=2e-3)
    for version in (26, 35, 46):
        path = write(tmp_path / f"{version}.dcd", symmetric([80.0] * 3 + [60.0] * 3), version)
        assert np.allclose(cells_of(path), [80, 80, 80, 60, 60, 60], rtol=1e-9)
        assert tj.open(None, path).messages == ()


@pytest.mark.parametrize("version", [1, 24, 25])
def test_version_up_to_25_means_lengths_and_angles(tmp_path: Path, version: int) -> None:
    """They are degrees or cosines, as NAMD, VMD, mdtraj, OpenMM and MDAnalysis write them."""
    path = write(tmp_path / "degrees.dcd", [30, 70, 31, 80, 95, 32], version)
    assert np.array_equal(cells_of(path)[1], [30, 31, 32, 95, 80, 70])
    path = write(tmp_path / "cosines.dcd", [30, 0.5, 31, 0, 0, 32], version)
    assert np.allclose(cells_of(path), [30, 31, 32, 90, 90, 60])


def test_first_frame_decides_if_the_version_does_not(tmp_path: Path) -> None:
    """CHARMM 24 and 25 wrote matrices; others are read so, with a message."""
    path = write(tmp_path / "old.dcd", [31.2, -2.1, 30.1, 1.4, -0.3, 29.9], 24)
    traj = tj.open(None, path)
    assert np.allclose(traj.read(atoms=[0]).cells[0, 3:], [91.3, 84.8, 97.8], atol=0.2)
    assert "version 24" in traj.messages[0]
    assert "symmetric matrix" in traj.messages[0]


def test_one_form_holds_for_all_frames(tmp_path: Path) -> None:
    """A later record that cannot have the form of the file is an error, not another form."""
    cells = np.array([[30, 0.2, 31, 0.1, 0.1, 32], [30, -2.1, 31, 1.4, -0.3, 32]])
    path = write_dcd(tmp_path / "run.dcd", random_vectors(2, 9), cells=cells)
    traj = tj.open(None, path)
    assert np.allclose(traj.read([0]).cells[0, 5], np.degrees(np.arccos(0.2)))
    with raises(tj.FormatError):
        traj.read()
    with raises(tj.FormatError):
        tj.convert(traj, tmp_path / "copy.dcd")
    assert not (tmp_path / "copy.dcd").exists()
    both = cells_of(path, format_options={"dcd": {"cell": "matrix"}})
    assert np.allclose(both[:, :3], [[30, 31, 32]] * 2, atol=0.2)
    assert both[0, 5] == pytest.approx(90, abs=1)


@pytest.mark.parametrize(
    "record", [[80, 90, 80, 90, 90, 80], [300, 90, 300, 90, 90, 300], [150, 70, 150, 80, 95, 150]]
)
def test_version_and_first_frame_that_contradict_each_other_are_refused(
    tmp_path: Path, record: list[float]
) -> None:
    """The error has both readings and the option; with it, the file is read."""
    path = write(tmp_path / "run.dcd", record, 46)
    with raises(tj.FormatError):
        tj.open(None, path)
    a, gamma, b, beta, alpha, c = record
    traj = tj.open(None, path, format_options={"dcd": {"cell": "angles"}})
    assert np.array_equal(traj.read().cells[1], [a, b, c, alpha, beta, gamma])
    assert "as was asked for" in traj.messages[0]
    fail("info", path)
    assert f"{b:.0f}" in "".join(succeed("info", "--format-option", "dcd.cell=angles", str(path)))


def test_matrix_is_read_on_request(tmp_path: Path) -> None:
    """Earlier versions of trajet copied matrices into files of version 24."""
    path = write(tmp_path / "copy.dcd", symmetric([80.0] * 3 + [60.0] * 3), 24)
    assert cells_of(path)[0, 0] < 80
    assert np.allclose(
        cells_of(path, format_options={"dcd": {"cell": "matrix"}}),
        [80, 80, 80, 60, 60, 60],
        rtol=1e-9,
    )
    with raises(ValueError):
        tj.open(None, path, format_options={"dcd": {"cell": "cosines"}})
    with raises(ValueError):
        tj.open(None, datafiles.XTC, format_options={"dcd": {"cell": "matrix"}})


def test_zeros_are_no_cell(tmp_path: Path) -> None:
    """Zero lengths may have angles, in any version; the version still decides on later frames."""
    cells = np.array([[0, 90, 0, 90, 90, 0], [0.0] * 6, symmetric([80.0] * 3 + [60.0] * 3)])
    path = write_dcd(tmp_path / "run.dcd", random_vectors(3, 9), cells=cells, version=46)
    read = cells_of(path)
    assert np.isnan(read[:2]).all()
    assert np.allclose(read[2], [80, 80, 80, 60, 60, 60])


# Copies


def test_copies_keep_version_and_record(tmp_path: Path) -> None:
    """The records keep every bit in copies, subsets, parts of a split and files of a store."""
    for version, record in ((46, OCTANE), (35, symmetric([80.0] * 3 + [60.0] * 3)), (24, OCTANE)):
        path = write(tmp_path / f"{version}.dcd", record, version, frames=4)
        traj = tj.open(None, path)
        copies = [
            tj.convert(traj, tmp_path / f"whole{version}.dcd").path,
            tj.convert(
                tj.open(None, path).select([1, 5]), tmp_path / f"few{version}.dcd", frames=[1, 3]
            ).path,
            tj.split(traj, tmp_path / f"parts{version}", segments=2)[1].path,
        ]
        for copy in copies:
            assert version_of(copy) == version
            assert set(records_of(copy)) == {np.array(record).tobytes()}
            assert np.array_equal(cells_of(copy)[0], traj.read([0]).cells[0])


def test_copies_have_the_version_of_the_requested_form(tmp_path: Path) -> None:
    """The first frame of a copy may be unlike that of its source."""
    matrix = write(tmp_path / "matrix.dcd", symmetric([80.0] * 3 + [60.0] * 3), 24)
    angles = write(tmp_path / "angles.dcd", [80, 90, 80, 90, 90, 80], 46)
    decided = write(tmp_path / "decided.dcd", [31.2, -2.1, 30.1, 1.4, -0.3, 29.9], 24)
    for path, how in ((matrix, "matrix"), (angles, "angles"), (decided, None)):
        traj = tj.open(None, path, format_options={"dcd": {"cell": how}})
        copy = tj.convert(traj, tmp_path / f"copy-{path.name}").path
        again = tj.open(None, copy)
        assert (version_of(copy) > 25) == (how != "angles")
        # The message stays with the copy.
        assert again.messages == tuple(f"of its source: {message}" for message in traj.messages)
        assert np.array_equal(again.read().cells, traj.read().cells)
        assert set(records_of(copy)) == set(records_of(path))


def test_files_of_both_forms_make_no_dcd_file(tmp_path: Path) -> None:
    """Each is read in its own form; a file of one header cannot hold both."""
    one = write(tmp_path / "one.dcd", symmetric([80.0] * 3 + [60.0] * 3), 46)
    other = write(tmp_path / "other.dcd", [80, 60, 80, 60, 60, 80], 24)
    for files in ((one, other), (other, one)):
        traj = tj.open(None, *files)
        assert np.allclose(traj.read().cells, [80, 80, 80, 60, 60, 60])
        with raises(tj.OutputError):
            tj.convert(traj, tmp_path / "all.dcd", frames=[0, 3])
        tj.convert(traj, tmp_path / "all.trr", force=True)
        assert np.allclose(cells_of(tmp_path / "all.trr"), [80, 80, 80, 60, 60, 60], rtol=1e-5)


def test_cells_of_other_formats_are_written_as_lengths_and_angles(tmp_path: Path) -> None:
    """Copies have version 24 and degrees, or zeros (cosines) for right angles."""
    for cell, record in (
        ([30.0, 31, 32, 70, 80, 95], [30, 95, 31, 80, 70, 32]),
        ([30.0, 31, 32, 90, 90, 90], [30, 0, 31, 0, 0, 32]),
    ):
        source = write(tmp_path / "in.dcd", [cell[k] for k in (0, 5, 1, 4, 3, 2)], 24)
        tj.convert(tj.open(None, source), tmp_path / "in.nc", force=True)
        path = tj.convert(tj.open(None, tmp_path / "in.nc"), tmp_path / "out.dcd", force=True).path
        assert version_of(path) == 24
        assert np.allclose(np.frombuffer(records_of(path)[0]), record)


def test_store_keeps_the_form(tmp_path: Path) -> None:
    """The form that was requested when a data set was added holds for every output of it."""
    top = write_names(tmp_path / "top.gro", 9)
    store = tj.Store(tmp_path / "md", create=True)
    profile = write_profile(tmp_path, "few;index 0:3", "many;rest")
    for name, record, version, how in (
        ("matrix", symmetric([80.0] * 3 + [60.0] * 3), 46, None),
        ("asked", symmetric([80.0] * 3 + [60.0] * 3), 24, "matrix"),
        ("angles", [80, 90, 80, 90, 90, 80], 46, "angles"),
    ):
        path = write(tmp_path / f"{name}.dcd", record, version)
        source = tj.open(top, path, format_options={"dcd": {"cell": how}})
        store.add(name, source, profile=profile)
        expected = source.read().cells
        for tags in ("", "@few", "@many"):
            traj = tj.open(f"{tmp_path}/md/{name}{tags}")
            assert np.array_equal(traj.read().cells, expected)
        traj = tj.open(f"{tmp_path}/md/{name}")
        copy = tj.convert(traj, tmp_path / f"{name}-again.dcd").path
        assert set(records_of(copy)) == {np.array(record, np.float64).tobytes()}
        assert (version_of(copy) > 25) == (how != "angles")
        assert np.array_equal(cells_of(copy), expected)
    with raises(ValueError):
        tj.open(f"{tmp_path}/md/angles", format_options={"dcd": {"cell": "angles"}})


def test_workers_read_cells_in_the_same_form(tmp_path: Path) -> None:
    """A worker gets the form with its setup and does not decide by itself."""
    path = write(tmp_path / "run.dcd", symmetric([20.0] * 3 + [60.0] * 3), 24, frames=6)
    traj, otherwise = (
        tj.open(None, path, format_options={"dcd": {"cell": "matrix"}}),
        tj.open(None, path),
    )
    pairs = traj.select([0, 1, 2]), traj.select([5, 6])
    expected = tj.distances(*pairs).values
    angles = tj.distances(otherwise.select([0, 1, 2]), otherwise.select([5, 6])).values
    assert np.abs(expected - angles).max() > 1
    pool = tj.ProcessPool(workers=1)
    assert np.array_equal(tj.distances(*pairs, pool=pool).values, expected)


# Markers of 64 bits


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("fixed", [None, np.array([0, 4])])
def test_markers_of_64_bits(tmp_path: Path, order: str, fixed: np.ndarray | None) -> None:
    """The trajectory is that with markers of 32 bits; copies have 32."""
    cells = np.array([[31, -0.2, 32, 0.1, 0.05 * k, 33.3] for k in range(4)])
    some = {"cells": cells, "fixed": fixed, "order": order}
    short = write_dcd(tmp_path / "short.dcd", random_vectors(4, 9), **some)
    long = write_dcd(tmp_path / "long.dcd", random_vectors(4, 9), marker="q", **some)
    assert len(long.read_bytes()) > len(short.read_bytes())
    copies = []
    for path in (short, long):
        traj = tj.open(None, path)
        assert traj.format == "DCD"
        copies.append(tj.convert(traj, tmp_path / f"copy-{path.name}").path.read_bytes())
    assert copies[0] == copies[1]
    one, other = tj.open(None, short).read(), tj.open(None, long).read()
    for name in ("positions", "times", "steps", "cells"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    few = tj.open(None, long, request_size=1).read([3, 0], [8, 2]).positions
    assert np.array_equal(few, one.positions[[3, 0]][:, [8, 2]])


@pytest.mark.parametrize("order", ["<", ">"])
def test_damaged_markers_of_64_bits_are_refused(tmp_path: Path, order: str) -> None:
    """A cut anywhere and any wrong marker are errors, also a marker beyond 32 bits."""
    path = write_dcd(tmp_path / "run.dcd", random_vectors(2, 3), order=order, marker="q")
    data = path.read_bytes()
    frame = 3 * (12 + 16)
    for cut in range(1, len(data)):
        path.write_bytes(data[:cut])
        if cut == len(data) - frame:
            continue
        with pytest.raises(tj.FormatError):
            tj.open(None, path)
    for at in (0, 92, 100, 272, 280, len(data) - frame, len(data) - 8):
        for byte in range(8):
            wrong = bytearray(data)
            wrong[at + byte] ^= 0x40
            path.write_bytes(wrong)
            with pytest.raises(tj.FormatError):
                tj.open(None, path).read()


# Boxes that are not finite


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("version", [24, 46])
def test_cell_that_is_not_finite_is_damage(tmp_path: Path, bad: float, version: int) -> None:
    """Reading or copying the frame is an error; the other frames are read."""
    cells = np.tile([30.0, 0, 31, 0, 0, 32], (3, 1))
    cells[1, 2] = bad
    path = write_dcd(tmp_path / "run.dcd", random_vectors(3, 9), cells=cells, version=version)
    traj = tj.open(None, path)
    assert np.array_equal(traj.read([0, 2]).cells, [[30, 31, 32, 90, 90, 90]] * 2)
    with raises(tj.FormatError):
        traj.read()
    with raises(tj.FormatError):
        tj.convert(traj, tmp_path / "copy.dcd")
    with raises(tj.FormatError):
        tj.distances(traj.select([0]), traj.select([1]))
