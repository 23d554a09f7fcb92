"""Files that other projects publish for their tests; `make test-long` runs these tests.

Folders of such files are named by environment variables; tests whose folder is not named are
skipped. `TRAJET_CHEMFILES_DATA` is a checkout of chemfiles/tests-data, `TRAJET_GROMACS_SOURCE` one
of gromacs/gromacs (or a folder with its spc2-traj.h5md and its TPR files).
"""

import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.made_hdf5 import content_of
from helpers.made_ncdf import assert_same, read_all
from helpers.structure_files import StructureFile
from helpers.tpr_laws import FIRST_VERSION, assert_topology_of_mdanalysis, version_of

# TPR files that MDAnalysis 2.11 refuses: of a version that no release writes, and of free energies.
CONVERTED = {"orires", "dhdl"}


def folder(variable: str) -> Path:
    """Return the folder that an environment variable names."""
    if variable not in os.environ:
        pytest.skip(f"{variable} names no folder")
    return Path(os.environ[variable])


@pytest.mark.parametrize("name", ["no-cell.nc", "scaled_traj.nc", "water.nc"])
def test_copies_of_netcdf_files_of_chemfiles_lose_nothing(name: str, tmp_path: Path) -> None:
    """SciPy reads the same from source and copy; atoms and frames are cut."""
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


def test_h5md_of_gromacs_is_read_and_copied_completely(tmp_path: Path) -> None:
    """Its positions are read despite an empty series of forces; a copy holds all of it."""
    source = next(folder("TRAJET_GROMACS_SOURCE").rglob("spc2-traj.h5md"))
    traj = tj.open(None, source)
    with h5py.File(source) as file:
        system = file["particles/system"]
        positions, steps = system["position/value"][()], system["position/step"][()]
        times, edges = system["position/time"][()], system["box/edges/value"][()]
    block = traj.read()
    assert np.array_equal(block.positions, positions * np.float32(10))
    assert np.array_equal(block.times, times)
    assert np.array_equal(traj.source.reader.steps(), steps)
    lengths = np.diagonal(edges, axis1=1, axis2=2).astype("f8") * 10
    np.testing.assert_allclose(block.cells[:, :3], lengths, rtol=1e-12)
    found, copied = (
        content_of(path) for path in (source, tj.convert(traj, tmp_path / "copy.h5md").path)
    )
    name = "/h5md/creator@"
    assert {key: value for key, value in copied.items() if key != name} == {
        key: value for key, value in found.items() if key != name
    }


@pytest.mark.parametrize("name", ["clustsize", "dhdl", "freevolume", "orires", "trpcage"])
def test_topologies_of_gromacs_are_those_of_mdanalysis(name: str, tmp_path: Path) -> None:
    """Atoms, masses, charges and bonds; versions before GROMACS 5.1 are refused with a remedy.

    GROMACS converts files that MDAnalysis cannot read.
    """
    path = next(folder("TRAJET_GROMACS_SOURCE").rglob(f"{name}.tpr"))
    if version_of(path) < FIRST_VERSION:
        with pytest.raises(tj.FormatError, match="gmx convert-tpr"):
            StructureFile.open(path)
        return
    as_mdanalysis_reads = path
    if name in CONVERTED:
        as_mdanalysis_reads = tmp_path / "converted.tpr"
        convert = ["gmx", "-quiet", "convert-tpr", "-extend", "1", "-s", path]
        subprocess.run([*convert, "-o", as_mdanalysis_reads], check=True, capture_output=True)
    assert_topology_of_mdanalysis(path, as_mdanalysis_reads)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("triclinic-octane-vectors", [4.1594, 4.7498, 10.9999, 94.805, 84.486, 105.108]),
        ("triclinic-octane-cos", [4.1099, 4.7071, 10.9932, 105.571, 73.689, 125.133]),
        ("triclinic-octane-direct", [4.1099, 4.7071, 10.9932, 105.571, 73.689, 125.133]),
        ("triclinic-namd", [85.4400, 89.4427, 85.4400, 65.245, 70.806, 71.696]),
    ],
)
def test_cells_of_dcd_files_follow_the_version(name: str, cell: list[float]) -> None:
    """Cells are read by the version in the header, as by chemfiles."""
    traj = tj.open(None, folder("TRAJET_CHEMFILES_DATA") / "dcd" / f"{name}.dcd", sidecar=False)
    assert np.allclose(traj.read([0], [0]).cells[0], cell, atol=1e-3)
    assert traj.messages == ()


def test_dcd_files_of_any_markers_and_byte_order_are_equal() -> None:
    """CHARMM wrote the same run with markers of 32 and 64 bits, in both byte orders."""
    files = [f"mrmd_h2so4-{kind}.dcd" for kind in ("32bit-be", "64bit-be", "64bit-le")]
    first, *others = (
        tj.open(None, folder("TRAJET_CHEMFILES_DATA") / "dcd" / name, sidecar=False).read()
        for name in files
    )
    assert first.positions.shape == (50, 7, 3)
    for other in others:
        assert np.abs(other.positions - first.positions).max() < 1e-4
        assert np.array_equal(other.times, first.times)
