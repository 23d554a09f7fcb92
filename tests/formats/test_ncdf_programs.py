"""NetCDF files of other programs than Amber: restart files, LAMMPS, units, numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.made_ncdf import Run, assert_same, read_all
from helpers.messages import raises
from helpers.named_atoms import chain_of, write_pdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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


# Each example opens files of its own in the same folder.
SETTINGS = settings(
    max_examples=examples(8),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write(path: Path, numbers: Any, kind: str = "i") -> Path:
    """Write a file as LAMMPS does: atom `k` is at (k, k + 1000 frame, 0) Å."""
    numbers = np.asarray(numbers)
    n_atoms = numbers.shape[-1]
    n_frames = 1 if numbers.ndim == 1 else len(numbers)
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = b"AMBER", b"1.0"
        for name, length in {"frame": None, "spatial": 3, "atom": n_atoms}.items():
            file.createDimension(name, length)
        time = file.createVariable("time", "f", ("frame",))
        time.units = b"picosecond"
        stated = ("frame", "atom")[2 - numbers.ndim :]
        ids = file.createVariable("id", kind, stated)
        positions = file.createVariable("coordinates", "f", ("frame", "atom", "spatial"))
        positions.units = b"angstrom"
        for frame in range(n_frames):
            time[frame] = frame
            row = numbers if numbers.ndim == 1 else numbers[frame]
            if numbers.ndim == 2:
                ids[frame] = row
            x = np.zeros((n_atoms, 3))
            x[:, 0], x[:, 1] = row, 1000 * frame
            positions[frame] = x
        if numbers.ndim == 1:
            ids[:] = numbers
    return path


def opened(path: Path, **options: Any) -> tj.Trajectory:
    """Open a file without an index file."""
    return tj.open(None, path, sidecar=False, **options)


@SETTINGS
@given(data=st.data(), kind=st.sampled_from("ihdf"), request=st.sampled_from([16, 1 << 18]))
def test_atoms_are_read_in_the_order_of_their_numbers(
    data: st.DataObject, kind: str, request: int, tmp_path: Path
) -> None:
    """All ways of reading, whole records or parts of them."""
    numbers = data.draw(st.lists(st.integers(1, 30), min_size=2, max_size=12, unique=True))
    orders = [data.draw(st.permutations(numbers)) for _ in range(4)]
    trajectory = opened(write(tmp_path / "x.nc", orders, kind), request_size=request)
    expected = np.sort(numbers)
    read = trajectory.read()
    assert (read.positions[:, :, 0] == expected).all()
    assert (read.positions[:, :, 1] == 1000 * np.arange(4)[:, None]).all()
    some = data.draw(st.lists(st.integers(0, len(numbers) - 1), min_size=1, max_size=6))
    assert (trajectory.read(atoms=some).positions[:, :, 0] == expected[some]).all()
    assert (trajectory.cursor(some).read(3).positions[:, 0] == expected[some]).all()
    for suffix in (".nc", ".trr"):
        copy = tmp_path / f"copy{suffix}"
        tj.convert(trajectory.all_atoms(), copy, force=True, allow_loss=True)
        copied = opened(copy)
        assert (copied.read().positions == read.positions).all()
    with netcdf_file(tmp_path / "copy.nc", mmap=False) as file:
        assert (file.variables["id"][:] == expected).all()
    is_unsorted = orders[0] != expected.tolist()
    assert (
        sum("order of their numbers" in message for message in trajectory.messages) == is_unsorted
    )


def test_workers_read_atoms_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """A worker reads the numbers of frame 0, whatever its frames are."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(9) + 1 for _ in range(8)]
    trajectory = opened(write(tmp_path / "x.nc", orders))
    selection = trajectory.select([2, 5])
    here = tj.centers(selection, by="selection", weights="equal").values
    assert np.allclose(here[:, 0, 0], 4.5)
    pool = tj.ProcessPool(workers=2, task_frames=2)
    there = tj.centers(selection, by="selection", weights="equal", pool=pool).values
    assert np.array_equal(here, there)


def test_stores_have_atoms_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Tags are written in that order."""
    topology = write_pdb(tmp_path / "top.pdb", [chain_of(6)])
    rng = np.random.default_rng(0)
    path = write(tmp_path / "x.nc", [rng.permutation(6) + 1 for _ in range(3)])
    trajectory = tj.open(topology, path, sidecar=False)
    store = tj.Store(tmp_path / "store", create=True)
    store.add("x", trajectory)
    oxygens = store.open("x").select("name OW").read().positions
    assert (oxygens[:, :, 0] == [1, 4]).all()
    assert np.array_equal(store.open("x").read().positions, trajectory.read().positions)


def test_numbers_of_all_frames_in_one_row(tmp_path: Path) -> None:
    """`id(atom)` is the same in all frames."""
    trajectory = opened(write(tmp_path / "x.nc", [3, 1, 2]))
    assert trajectory.read().positions[0, :, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 2, 2], [1, 2, 3]],
        [[1, 2, 3], [3, 1, 1]],
        [[1, 2, 3], [1, 4, 3]],
        [[2, 3, 4], [1, 4, 3]],
    ],
)
def test_numbers_that_are_not_those_of_frame_0_are_an_error(
    rows: list[list[int]], tmp_path: Path
) -> None:
    """Frames of other atoms, and atoms that share a number."""
    path = write(tmp_path / "x.nc", rows)
    with raises(tj.FormatError):
        opened(path).read()
    with raises(tj.FormatError):
        tj.convert(opened(path).all_atoms(), tmp_path / "copy.nc")


def test_files_of_other_numbers_are_an_error(tmp_path: Path) -> None:
    """Each file is in the order of its numbers, so that these must be the same."""
    one = write(tmp_path / "one.nc", [[1, 2, 3]])
    same = write(tmp_path / "same.nc", [[3, 2, 1]])
    other = write(tmp_path / "other.nc", [[1, 2, 4]])
    trajectory = tj.open(None, one, same, sidecar=False)
    assert (trajectory.read().positions[:, :, 0] == [1, 2, 3]).all()
    with raises(tj.FormatError):
        tj.open(None, one, other, sidecar=False)
