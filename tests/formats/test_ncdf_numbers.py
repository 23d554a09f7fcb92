"""NetCDF files that state the number of each atom, `id`: atoms are read in the order of numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.messages import raises
from helpers.named_atoms import chain_of, write_pdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import netcdf_file

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
