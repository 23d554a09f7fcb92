"""Boundaries and units of boxes in HDF5 files: unknown words are errors, never taken for no."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.made_hdf5 import write_h5md
from helpers.messages import raises

POSITIONS = np.random.default_rng(5).uniform(0, 9, (3, 4, 3)).astype("f4")
EDGES = np.array([10.0, 11, 12])


def opened(path: Path, boundary: Any) -> tj.Trajectory:
    """Write and open a file with these boundaries."""
    write_h5md(path, POSITIONS, edges=EDGES, edges_of="fixed", boundary=boundary)
    return tj.open(None, path)


@pytest.mark.parametrize(
    "boundary",
    [
        "PERIODIC",
        "Periodic",
        " periodic ",
        np.array([b"periodic", b"Periodic", b"PERIODIC"]),
        np.array([b"periodic\0\0"] * 3),
        np.array(["periodic"], "S8"),
    ],
    ids=str,
)
def test_spellings_of_periodic_are_read_as_periodic(boundary: Any, tmp_path: Path) -> None:
    """A single word is that of all directions."""
    cells = opened(tmp_path / "run.h5md", boundary).read().cells
    assert np.allclose(cells, [*EDGES * 10, 90, 90, 90])


@pytest.mark.parametrize("boundary", ["NONE", "None", np.array([b"none"] * 3)], ids=str)
def test_spellings_of_none_are_read_as_none(boundary: Any, tmp_path: Path) -> None:
    """Frames have no cell then."""
    assert np.isnan(opened(tmp_path / "run.h5md", boundary).read().cells).all()


@pytest.mark.parametrize("word", ["pbc", "reflecting", "", "nonperiodic", "1", "periodicc"])
def test_unknown_boundaries_are_errors_that_name_the_word(word: str, tmp_path: Path) -> None:
    """In each direction; changed as the error says, the file is read."""
    for axis in range(3):
        boundary = ["periodic"] * 3
        boundary[axis] = word
        path = tmp_path / f"run{axis}.h5md"
        with raises(tj.FormatError):
            opened(path, boundary)
        with h5py.File(path, "a") as file:
            (group,) = file["particles"].values()
            group["box"].attrs["boundary"] = ["periodic"] * 3
        assert np.isfinite(tj.open(None, path).read().cells).all()


def test_boundaries_of_other_numbers_of_directions_are_errors(tmp_path: Path) -> None:
    """One names all directions, three each of them."""
    with raises(tj.FormatError):
        opened(tmp_path / "run.h5md", ["periodic"] * 2)


def test_missing_boundaries_are_a_message(tmp_path: Path) -> None:
    """The specification demands them."""
    traj = opened(tmp_path / "run.h5md", None)
    assert "its box names no boundaries: taken as periodic" in traj.messages
    assert np.isfinite(traj.read().cells).all()


def of_mdtraj(path: Path, *, unit: str | None, without: str = "") -> Path:
    """Write a file as mdtraj does."""
    with h5py.File(path, "w") as file:
        file.attrs["conventions"] = "Pande"
        for name, values, units in (
            ("coordinates", POSITIONS, "nanometers"),
            ("time", np.arange(3, dtype="f4"), "picoseconds"),
            ("cell_lengths", np.tile(EDGES, (3, 1)), "nanometers"),
            ("cell_angles", np.full((3, 3), 90.0), unit),
        ):
            if name != without:
                file[name] = values
                if units is not None:
                    file[name].attrs["units"] = units
    return path


@pytest.mark.parametrize("unit", ["degrees", "Degree", "deg", None])
def test_angles_of_mdtraj_are_degrees(unit: str | None, tmp_path: Path) -> None:
    """No other unit is written by mdtraj."""
    cells = tj.open(None, of_mdtraj(tmp_path / "run.h5", unit=unit)).read().cells
    assert np.allclose(cells[:, 3:], 90)


def test_other_angles_and_halves_of_cells_are_errors(tmp_path: Path) -> None:
    """Neither is taken for degrees, or for no cell."""
    with raises(tj.FormatError):
        tj.open(None, of_mdtraj(tmp_path / "run.h5", unit="radians"))
    for name in ("cell_lengths", "cell_angles"):
        with raises(tj.FormatError):
            tj.open(None, of_mdtraj(tmp_path / f"{name}.h5", unit="degrees", without=name))


@pytest.mark.parametrize("missing", [1, 2])
def test_rows_of_a_chunk_that_were_never_written_are_an_error(missing: int, tmp_path: Path) -> None:
    """The option that the error names leaves them out; a frame at time 0 is none of them."""
    positions = np.concatenate([POSITIONS, POSITIONS])
    n = len(positions) - missing
    clock = np.arange(len(positions))
    positions[n:] = clock[n:] = 0
    path = tmp_path / "run.h5md"
    layout = {"chunks": (8, 4, 3), "maxshape": (None, 4, 3)}
    write_h5md(path, positions, step=clock, time=clock * 0.5, layout=layout)
    with raises(tj.TruncatedError):
        tj.open(None, path)
    traj = tj.open(None, path, allow_truncated_tail=True)
    assert traj.n_frames == len(traj.read().positions) == n
    assert f"of 6 frames {n} were written: these count" in traj.messages
    positions[n:] = 1
    write_h5md(path, positions, step=clock, time=clock * 0.5, layout=layout)
    assert tj.open(None, path).n_frames == 6
