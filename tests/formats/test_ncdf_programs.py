"""NetCDF files of programs that depart from trajectories of Amber: restart files, LAMMPS."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.made_ncdf import read_all
from helpers.messages import raises
from scipy.io import netcdf_file

N_ATOMS = 5
RNG = np.random.default_rng(7)
XYZ = RNG.uniform(0, 20, (4, N_ATOMS, 3))


def restart(path: Path, *, velocities: bool = True, cell: bool = True, time: bool = True) -> Path:
    """Write a restart file of Amber."""
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = b"AMBERRESTART", b"1.0"
        file.title = b"restart"
        for name, n in (("spatial", 3), ("atom", N_ATOMS), ("cell_spatial", 3)):
            file.createDimension(name, n)
        file.createDimension("cell_angular", 3)
        if time:
            file.createVariable("time", "d", ()).data[...] = 5.25
            file.variables["time"].units = b"picosecond"
        file.createVariable("coordinates", "d", ("atom", "spatial"))[:] = XYZ[0]
        if velocities:
            made = file.createVariable("velocities", "d", ("atom", "spatial"))
            made[:] = XYZ[1]
            made.scale_factor = np.float64(20.455)
        if cell:
            file.createVariable("cell_lengths", "d", ("cell_spatial",))[:] = [30, 31, 32]
            file.createVariable("cell_angles", "d", ("cell_angular",))[:] = [90, 91, 92]
        file.createVariable("temp0", "d", ()).data[...] = 300.5
    return path


@pytest.mark.parametrize(
    ("velocities", "cell", "time"),
    [(True, True, True), (False, True, False), (True, False, False), (False, False, True)],
)
def test_restart_files_are_trajectories_of_one_frame(
    velocities: bool, cell: bool, time: bool, tmp_path: Path
) -> None:
    """Copies are trajectories, which have all of the file's contents."""
    path = restart(tmp_path / "run.ncrst", velocities=velocities, cell=cell, time=time)
    traj = tj.open(None, path)
    block = traj.read(velocities=velocities)
    assert traj.times.tolist() == [5.25 if time else 0]
    assert np.array_equal(block.positions[0], XYZ[0].astype(np.float32))
    if velocities:
        assert np.array_equal(block.velocities[0], (XYZ[1] * 20.455).astype(np.float32))
    expected = [30, 31, 32, 90, 91, 92] if cell else [np.nan] * 6
    assert np.array_equal(block.cells[0], expected, equal_nan=True)
    assert not list(tmp_path.glob(".*"))
    some = traj.select([3, 1]).read().positions[0]
    assert np.array_equal(some, XYZ[0, [3, 1]].astype(np.float32))
    copy = tj.convert(traj, tmp_path / "copy.nc").path
    with netcdf_file(copy, mmap=False) as contents:
        variables = {name: it.data.copy() for name, it in contents.variables.items()}
        assert contents.Conventions == b"AMBER"
    assert variables["temp0"] == 300.5
    assert np.array_equal(variables["coordinates"], XYZ[:1])
    assert ("cell_lengths" in variables, "time" in variables) == (cell, time)
    again = tj.open(None, copy).read(velocities=velocities)
    assert np.array_equal(again.positions, block.positions)
    with pytest.raises(tj.TruncatedError):
        cut = tmp_path / "cut.ncrst"
        cut.write_bytes(path.read_bytes()[:-300])
        tj.open(None, cut)


def lammps(
    path: Path,
    n_frames: int = 4,
    *,
    name: str = "coordinates",
    time_unit: bytes = b"femtosecond",
    spatial_of_frames: bool = False,
    velocity_unit: bytes | None = None,
) -> Path:
    """Write a file as LAMMPS does, which names the units of times and cells only."""
    n_records = max(n_frames, 3) if spatial_of_frames else n_frames
    fill = 9.969209968386869e36
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = b"AMBER", b"1.0"
        file.program = b"LAMMPS"
        file.createDimension("frame", None)
        for dimension, n in (("spatial", 3), ("atom", N_ATOMS), ("cell_spatial", 3)):
            file.createDimension(dimension, n)
        file.createDimension("cell_angular", 3)
        own = "frame" if spatial_of_frames else "spatial"
        file.createVariable("spatial", "c", (own,))[:3] = list("xyz")
        per_atom = ("frame", "atom", "spatial")
        for it, kind, dimensions, values in (
            ("time", "d", ("frame",), np.arange(4) * 1000.0),
            ("cell_lengths", "d", ("frame", "cell_spatial"), np.full((4, 3), 20.0)),
            ("cell_angles", "d", ("frame", "cell_angular"), np.full((4, 3), 90.0)),
            (name, "f", per_atom, XYZ),
            ("velocities", "f", per_atom, XYZ / 1000),
        ):
            variable = file.createVariable(it, kind, dimensions)
            filled = np.full((n_records, *values.shape[1:]), fill)
            filled[:n_frames] = values[:n_frames]
            variable[:n_records] = filled
        file.variables["time"].units = time_unit
        file.variables["cell_lengths"].units = b"Angstrom"
        if velocity_unit is not None:
            file.variables["velocities"].units = velocity_unit
    return path


def test_unwrapped_coordinates_are_positions(tmp_path: Path) -> None:
    """Copies name them as other programs expect."""
    plain = tj.open(None, lammps(tmp_path / "plain.nc")).read()
    traj = tj.open(None, lammps(tmp_path / "run.nc", name="unwrapped_coordinates"))
    assert np.array_equal(traj.read().positions, plain.positions)
    copy = tj.convert(traj, tmp_path / "copy.nc", velocities=False).path
    assert "coordinates" in read_all(copy).variables
    assert np.array_equal(tj.open(None, copy).read().positions, plain.positions)


@pytest.mark.parametrize("n_frames", [1, 2, 3, 4])
def test_labels_over_frames_do_not_add_frames(n_frames: int, tmp_path: Path) -> None:
    """LAMMPS writes three labels over frames: two frames become three, the last one unwritten."""
    path = lammps(tmp_path / "run.nc", n_frames, spatial_of_frames=True)
    if n_frames < 3:
        with raises(tj.FormatError):
            tj.open(None, path)
    traj = tj.open(None, path, allow_truncated_tail=True)
    assert traj.times.tolist() == [0, 1, 2, 3][:n_frames]
    assert np.array_equal(traj.read().positions, XYZ[:n_frames].astype(np.float32))


def test_velocities_of_unnamed_units_are_not_read(tmp_path: Path) -> None:
    """LAMMPS writes velocities in the units of its run; once these are named, they are read."""
    traj = tj.open(None, lammps(tmp_path / "run.nc"))
    assert any("velocities are not read" in message for message in traj.messages)
    with raises(tj.TrajetError):
        traj.read(velocities=True)
    named = lammps(tmp_path / "named.nc", velocity_unit=b"angstrom/picosecond")
    found = tj.open(None, named).read(velocities=True).velocities
    assert np.array_equal(found, (XYZ / 1000).astype(np.float32))


def test_velocities_alone_are_an_error_whose_advice_names_the_other_file(tmp_path: Path) -> None:
    """Amber writes them into a file of their own unless ntwv is -1."""
    path = lammps(tmp_path / "run.nc", name="others", velocity_unit=b"angstrom/picosecond")
    with raises(tj.FormatError):
        tj.open(None, path)


def test_frames_that_the_header_does_not_count_are_read_on_request(tmp_path: Path) -> None:
    """The error names the option."""
    path = lammps(tmp_path / "run.nc")
    data = bytearray(path.read_bytes())
    data[4:8] = bytes(4)
    path.write_bytes(data)
    with raises(tj.FormatError):
        tj.open(None, path)
    for _ in range(2):
        traj = tj.open(None, path, allow_truncated_tail=True)
        assert np.array_equal(traj.read().positions, XYZ.astype(np.float32))
        assert any("the file holds 4: those that it holds count" in it for it in traj.messages)
    # Bytes of a frame that was begun are left out.
    path.write_bytes(data[:-50])
    assert tj.open(None, path, allow_truncated_tail=True).n_frames == 3
