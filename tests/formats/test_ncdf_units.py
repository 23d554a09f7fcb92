"""Units of NetCDF files as several programs spell them."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.made_ncdf import Run, assert_same, read_all
from helpers.messages import raises


@pytest.mark.parametrize(
    "units",
    [
        {"coordinates": "Angstrom", "time": "ps"},
        {"coordinates": "angstroms", "cell_lengths": "Angstroms", "cell_angles": "degrees"},
        {"velocities": "Angstrom/ps", "time": "picoseconds"},
    ],
    ids=str,
)
def test_spellings_of_units_are_read_and_kept(units: dict[str, str], tmp_path: Path) -> None:
    """They mean the units of the convention."""
    plain = tj.open(None, Run().write(tmp_path / "plain.nc"))
    source = Run(units=units).write(tmp_path / "run.nc")
    traj = tj.open(None, source)
    assert not any(name in message for message in traj.messages for name in units)
    assert np.array_equal(traj.times, plain.times)
    assert np.array_equal(traj.read().positions, plain.read().positions)
    assert_same(read_all(tj.convert(traj, tmp_path / "copy.nc").path), read_all(source))


@pytest.mark.parametrize("unit", ["femtosecond", "femtoseconds", "fs"])
def test_times_in_femtoseconds_are_read_as_picoseconds(unit: str, tmp_path: Path) -> None:
    """Copies keep them in femtoseconds."""
    source = Run(units={"time": unit}).write(tmp_path / "run.nc")
    expected = read_all(source)
    traj = tj.open(None, source)
    assert np.array_equal(traj.times, [0, 0.002, 0.004, 0.006, 0.008])
    done = tj.convert(traj, tmp_path / "part.nc", frames=slice(3, None))
    assert_same(read_all(done.path), expected.part(frames=slice(3, None)))
    assert np.array_equal(tj.open(None, done.path).times, [0.006, 0.008])
    # Times of other files are written in the unit of the first one.
    other = Run(n_frames=2, seed=1).write(tmp_path / "other.nc")
    both = tj.convert(tj.open(None, source, other), tmp_path / "both.nc")
    assert read_all(both.path).variables["time"][3].tolist() == [0, 2, 4, 6, 8, 0, 2000]
    back = tj.convert(tj.open(None, other, source), tmp_path / "back.nc")
    times = np.array([0, 2, 0, 0.002, 0.004, 0.006, 0.008], "f4")
    assert np.array_equal(read_all(back.path).variables["time"][3], times)
    tj.convert(traj, tmp_path / "copy.dcd", allow_loss=True)
    assert tj.open(None, tmp_path / "copy.dcd").times == pytest.approx(traj.times, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("coordinates", "nanometer"), ("time", "nanosecond"), ("cell_angles", "radian")],
)
def test_unknown_units_are_an_error(name: str, unit: str, tmp_path: Path) -> None:
    """No unit is guessed."""
    source = Run(units={name: unit}).write(tmp_path / "run.nc")
    with raises(tj.FormatError):
        tj.open(None, source)
