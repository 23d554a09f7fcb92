"""Files that other projects publish for their tests.

pytest does not collect this file by itself. A folder of such files is named by an environment
variable; tests whose folder is not named are skipped.
"""

import os
from pathlib import Path

import pytest
import trajet as tj
from made_ncdf import assert_same, read_all


def folder(variable: str) -> Path:
    """Return the folder that an environment variable names."""
    if variable not in os.environ:
        pytest.skip(f"{variable} names no folder")
    return Path(os.environ[variable])


@pytest.mark.parametrize("name", ["no-cell.nc", "scaled_traj.nc", "water.nc"])
def test_copies_of_netcdf_files_of_chemfiles_lose_nothing(name: str, tmp_path: Path) -> None:
    """SciPy reads the same of source and copy; atoms and frames are cut."""
    source = folder("TRAJET_CHEMFILES_DATA") / "netcdf" / name
    traj, expected = tj.open(None, source, sidecar=False), read_all(source)
    assert_same(read_all(tj.convert(traj, tmp_path / "copy.nc").path), expected)
    atoms, frames = [4, 2, 3], slice(1, None, 3)
    part = tj.convert(traj.select(atoms), tmp_path / "part.nc", frames=frames)
    assert_same(read_all(part.path), expected.part(frames=frames, atoms=atoms))


def test_times_of_lammps_in_femtoseconds_are_picoseconds() -> None:
    """Frames of water.nc are 10 fs apart."""
    source = folder("TRAJET_CHEMFILES_DATA") / "netcdf" / "water.nc"
    times = tj.open(None, source, sidecar=False).times
    assert times[:3] == pytest.approx([2.02, 2.03, 2.04], abs=1e-12)
