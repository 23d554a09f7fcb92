"""NetCDF files whose values were never written, as NetCDF's library leaves them."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.commands import fail, succeed
from helpers.messages import raises
from scipy.io import netcdf_file

# What NetCDF's library fills variables with, by the letter of SciPy for their type.
FILL = {"f": 9.969209968386869e36, "d": 9.969209968386869e36}
N_FRAMES, N_ATOMS = 5, 4
SHAPES = {
    "time": ("frame",),
    "coordinates": ("frame", "atom", "spatial"),
    "velocities": ("frame", "atom", "spatial"),
    "forces": ("frame", "atom", "spatial"),
    "cell_lengths": ("frame", "cell_spatial"),
    "cell_angles": ("frame", "cell_angular"),
}


def written(
    path: Path,
    missing: dict[str, Any] | None = None,
    *,
    kind: str = "f",
    marker: tuple[str, float] | None = None,
) -> Path:
    """Write a trajectory; `missing` are frames, or indices, of variables that are not written.

    `marker` is an attribute of these variables, and the value that stands for missing ones.
    """
    rng = np.random.default_rng(3)
    with netcdf_file(path, "w", version=2) as file:
        file.Conventions, file.ConventionVersion = b"AMBER", b"1.0"
        file.createDimension("frame", None)
        for name, n in (("atom", N_ATOMS), ("spatial", 3)):
            file.createDimension(name, n)
        file.createDimension("cell_spatial", 3)
        file.createDimension("cell_angular", 3)
        lengths = {**dict(file.dimensions), "frame": N_FRAMES}
        for name, dimensions in SHAPES.items():
            values = rng.uniform(1, 9, [lengths[it] for it in dimensions])
            values[...] += {"cell_lengths": 20, "cell_angles": 80}.get(name, 0)
            if name == "time":
                values = np.arange(N_FRAMES) * 2.0
            variable = file.createVariable(name, kind, dimensions)
            if missing and name in missing:
                values[missing[name]] = marker[1] if marker else FILL[kind]
                if marker:
                    setattr(variable, marker[0], np.array(marker[1], kind))
            variable[:N_FRAMES] = values
    return path


def opened(path: Path, **options: Any) -> tj.Trajectory:
    """Open a file without an index."""
    return tj.open(None, path, sidecar=False, **options)


@pytest.mark.parametrize(
    ("name", "frame", "kind"),
    [
        ("coordinates", 0, "f"),
        ("coordinates", 2, "d"),
        ("velocities", 2, "f"),
        ("velocities", 4, "d"),
        ("forces", 0, "d"),
        ("forces", 4, "f"),
    ],
)
def test_vectors_that_were_never_written_are_an_error(
    name: str, frame: int, kind: str, tmp_path: Path
) -> None:
    """Other frames, and other fields, are read; so are frames that leave them out."""
    traj = opened(written(tmp_path / "run.nc", {name: frame}, kind=kind))
    field = {"coordinates": {}}.get(name, {name: True})
    with raises(tj.FormatError):
        traj.read(**field)
    others = [k for k in range(N_FRAMES) if k != frame]
    assert np.isfinite(traj.read(frames=others, **field).positions).all()
    for ending in (".nc", ".trr", ".dcd", ".h5md"):
        copy = tmp_path / f"copy{ending}"
        with raises(tj.TrajetError):
            tj.convert(traj, copy, allow_loss=True)
        assert not copy.exists()
    tj.convert(traj, tmp_path / "others.nc", frames=others)


@pytest.mark.parametrize("marker", [-1.0, 0.0, 1e20, np.nan], ids=str)
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_values_that_the_file_names_as_missing_are_an_error(
    attribute: str, marker: float, tmp_path: Path
) -> None:
    """A coordinate that equals a plausible one is none: all three must."""
    for missing, atoms, fails in (
        ((3, slice(None)), [1, 2], True),
        ((3, 2), [0, 2], True),
        ((3, 2), [0, 1], False),
        ((3, 2, 1), [2], marker in (1e20,) or np.isnan(marker)),
    ):
        path = written(tmp_path / "run.nc", {"coordinates": missing}, marker=(attribute, marker))
        selected = opened(path).select(atoms)
        if fails and not (np.ndim(missing) and len(missing) == 3):
            with raises(tj.FormatError):
                selected.read()
        elif not fails:
            assert np.isfinite(selected.read().positions).all()
    path = written(tmp_path / "cell.nc", {"cell_lengths": 1}, marker=(attribute, marker))
    traj = opened(path)
    assert np.isnan(traj.read().cells[1, :3]).all()
    with raises(tj.TrajetError):
        tj.distances(traj.select([0, 1]))


def _uses(traj: tj.Trajectory) -> dict[str, Callable[[], object]]:
    atoms = traj.select([0, 1])
    return {
        "distances": lambda: tj.distances(atoms),
        "contacts": lambda: tj.contacts(atoms, traj.select([2, 3]), cutoff=2),
        "rdf": lambda: tj.rdf(atoms, traj.select([2, 3]), range=(0, 5)),
        "min_distance": lambda: tj.min_distance(atoms, traj.select([2, 3])),
        "to XTC": lambda: tj.convert(
            traj, traj.path.with_name("a.xtc"), velocities=False, forces=False
        ),
        "to H5MD": lambda: tj.convert(traj, traj.path.with_name("a.h5md")),
    }


USES = ["distances", "contacts", "rdf", "min_distance", "to XTC", "to H5MD"]


@pytest.mark.parametrize("use", USES)
def test_cells_that_were_never_written_are_an_error_where_they_are_used(
    use: str, tmp_path: Path
) -> None:
    """Frames with a cell are not affected."""
    traj = opened(written(tmp_path / "run.nc", {"cell_angles": [1, 4]}))
    with raises(tj.TrajetError):
        _uses(traj)[use]()


def test_positions_are_read_without_cells_that_were_never_written(tmp_path: Path) -> None:
    """Positions and analyses without cells have the numbers of a file with all cells."""
    traj = opened(written(tmp_path / "run.nc", {"cell_lengths": [1, 4]}))
    whole = opened(written(tmp_path / "whole.nc"))
    block, expected = traj.read(), whole.read()
    assert np.array_equal(block.positions, expected.positions)
    assert np.isnan(block.cells[[1, 4], :3]).all()
    assert np.array_equal(block.cells[[0, 2, 3]], expected.cells[[0, 2, 3]])
    pair = [0, 1]
    assert np.array_equal(tj.rmsd(traj.select(pair)).values, tj.rmsd(whole.select(pair)).values)
    found = tj.distances(traj.select(pair), pbc=False).values
    assert np.array_equal(found, tj.distances(whole.select(pair), pbc=False).values)
    # A copy in the same format keeps what is missing, and what is there.
    copy = opened(tj.convert(traj, tmp_path / "copy.nc").path).read()
    assert np.array_equal(copy.cells, block.cells, equal_nan=True)


def test_times_that_were_never_written_are_an_error_of_opening(tmp_path: Path) -> None:
    """The option that the error names leaves out frames at the end."""
    for missing in (slice(None), 0, 2, [1, 4]):
        path = written(tmp_path / "run.nc", {"time": missing})
        for allowed in (False, True):
            with raises(tj.FormatError):
                opened(path, allow_truncated_tail=allowed)
    path = written(tmp_path / "run.nc", {"time": [3, 4], "coordinates": [3, 4]})
    with raises(tj.FormatError):
        opened(path)
    traj = opened(path, allow_truncated_tail=True)
    assert traj.times.tolist() == [0, 2, 4]
    assert "of 5 frames 3 were written: these count" in traj.messages
    assert traj.read().positions.shape == (3, N_ATOMS, 3)


@pytest.mark.parametrize("missing", [slice(None), 2, [3, 4]], ids=str)
def test_time_step_gives_times_that_were_never_written(missing: Any, tmp_path: Path) -> None:
    """The error names the option; an index that was kept with it does not hide the error."""
    path = written(tmp_path / "run.nc", {"time": missing})
    with raises(tj.FormatError):
        tj.open(None, path)
    expected = opened(written(tmp_path / "whole.nc")).read().positions
    # The second one loads the index, which an analysis compares with all frames.
    for state in ("built", "loaded"):
        traj = tj.open(None, path, time_step=2.5)
        assert traj.index_state == state
        block = traj.read()
        assert np.array_equal(block.times, 2.5 * np.arange(N_FRAMES))
        assert np.array_equal(block.positions, expected)
        found = tj.gyration(traj.all_atoms(), weights="equal", pool=tj.LocalPool(threads=2))
        assert np.array_equal(found.times, traj.times)
    assert np.array_equal(pickle.loads(pickle.dumps(traj)).read().times, block.times)
    for ending in (".nc", ".h5md"):
        copy = tj.convert(traj, tmp_path / f"copy{ending}").path
        assert np.array_equal(tj.open(None, copy).times, traj.times)
    fail("info", path)
    assert "time step     2.5 ps" in succeed("info", path, "--time-step", "2.5")
