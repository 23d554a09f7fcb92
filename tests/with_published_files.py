"""Files that other projects publish for their tests; `make test-long` runs this.

Folders of such files are named by environment variables; tests whose folder is not named are
skipped. `TRAJET_CHEMFILES_DATA` is a checkout of chemfiles/tests-data, `TRAJET_GROMACS_SOURCE` one of
gromacs/gromacs (or a folder with its spc2-traj.h5md).
"""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from made_hdf5 import content_of
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


def test_h5md_of_gromacs_is_read_and_copied_whole(tmp_path: Path) -> None:
    """Its empty series of forces does not refuse its positions; a copy holds all of it."""
    source = next(folder("TRAJET_GROMACS_SOURCE").rglob("spc2-traj.h5md"))
    traj = tj.open(None, source)
    with h5py.File(source) as file:
        system = file["particles/system"]
        positions, steps = system["position/value"][()], system["position/step"][()]
        times, edges = system["position/time"][()], system["box/edges/value"][()]
    block = traj.read()
    assert np.array_equal(block.positions, positions * np.float32(10))
    assert np.array_equal(block.times, times)
    assert np.array_equal(traj.reader.steps(), steps)
    lengths = np.diagonal(edges, axis1=1, axis2=2).astype("f8") * 10
    np.testing.assert_allclose(block.cells[:, :3], lengths, rtol=1e-12)
    found, copied = (
        content_of(path) for path in (source, tj.convert(traj, tmp_path / "copy.h5md").path)
    )
    name = "/h5md/creator@"
    assert {key: value for key, value in copied.items() if key != name} == {
        key: value for key, value in found.items() if key != name
    }
