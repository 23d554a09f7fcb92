"""`write`: positions of the user in files of every format, read back by trajet and MDAnalysis."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.systems import Systems

# Largest difference of positions (Å) that are read back: XTC rounds to 1/1000 nm, TRR to float32
# in nm.
OFF = {"xtc": 0.0051, "trr": 1e-5, "dcd": 0.0, "nc": 0.0, "h5md": 0.0}
CELL = np.array([40.0, 50.0, 60.0, 70.0, 80.0, 90.0])


@pytest.fixture
def x() -> np.ndarray:
    """Return positions of 150 frames of 40 atoms, more than are encoded at a time."""
    return np.random.default_rng(7).uniform(-30, 60, (150, 40, 3)).astype(np.float32)


def one_by_one(positions: Iterable[np.ndarray], times: np.ndarray) -> Iterator[tj.Block]:
    """Yield blocks of one frame without a cell."""
    for k, here in enumerate(positions):
        number = np.array([k])
        yield tj.Block(here, times[k : k + 1], number, number, np.full((1, 6), np.nan))


@pytest.mark.parametrize("ending", OFF)
def test_arrays_are_read_back_by_both_programs(x: np.ndarray, ending: str, tmp_path: Path) -> None:
    """Positions, times and cells; by one array, blocks of any size, and float64."""
    path = tmp_path / f"out.{ending}"
    times = 6.0 + 2.0 * np.arange(150)
    done = tj.write(
        path, x, times=times, cells=CELL, steps=30 + np.arange(150) * 10, allow_loss=True
    )
    assert (done.path, done.n_frames, done.n_atoms) == (path, 150, 40)
    assert done.size == path.stat().st_size
    assert done.report is None
    block = tj.open(None, path).read()
    assert np.abs(block.positions - x).max() <= OFF[ending]
    assert np.abs(block.times - times).max() < 1e-3
    assert np.abs(block.cells - CELL).max() < 1e-4
    theirs = mda.Universe.empty(40, trajectory=True)
    theirs.load_new(str(path), **({"convert_units": True} if ending == "h5md" else {}))
    for ts in theirs.trajectory:
        assert np.abs(ts.positions - x[ts.frame]).max() <= OFF[ending] + 1e-5
        assert np.abs(ts.dimensions - CELL).max() < 1e-3
        assert abs(ts.time - times[ts.frame]) < 1e-2
    assert len(theirs.trajectory) == 150
    if ending == "h5md":
        return
    cut = (x[:1], x[1:70], x[70:140], x[140:])
    for name, given in (("blocks", iter(cut)), ("wide", x.astype(np.float64))):
        other = tmp_path / f"{name}.{ending}"
        tj.write(
            other,
            given,
            times=times,
            cells=CELL,
            steps=30 + np.arange(150) * 10,
            allow_loss=True,
            threads=2,
        )
        assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("ending", ["xtc", "trr", "dcd", "nc"])
def test_blocks_have_the_bytes_of_a_copy(systems: Systems, ending: str, tmp_path: Path) -> None:
    """A copy of a trajectory in a triclinic cell that is moved by nothing."""
    traj = systems["solvated.xtc"].trajectory.translate([0, 0, 0])
    atoms = traj.select("protein")
    tj.convert(atoms, tmp_path / f"copy.{ending}", allow_loss=True)
    tj.write(tmp_path / f"own.{ending}", atoms.blocks(3), allow_loss=True)
    own, copy = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("own", "copy"))
    assert own == copy
    frames = tmp_path / f"frames.{ending}"
    tj.write(frames, (atoms[k] for k in range(traj.n_frames)), allow_loss=True)
    assert frames.read_bytes() == copy


@pytest.mark.parametrize("ending", ["dcd", "xtc", "trr", "nc"])
def test_times_of_blocks_that_come_one_after_the_other(ending: str, tmp_path: Path) -> None:
    """DCD states the time between frames in its header; the script fills one array again."""
    times = 10.0 + 2.5 * np.arange(5)
    buffer = np.zeros((1, 4, 3), np.float32)

    def refilled() -> Iterator[np.ndarray]:
        for k in range(len(times)):
            buffer[:] = k
            yield buffer

    path = tmp_path / f"out.{ending}"
    tj.write(path, one_by_one(refilled(), times))
    written = tj.open(None, path).read()
    assert written.positions[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert written.times == pytest.approx(times, rel=1e-6)


def test_universes_are_written_with_their_transformations(systems: Systems, tmp_path: Path) -> None:
    """Positions of the group, velocities, times, steps and cells."""
    from MDAnalysis.transformations import translate

    universe = systems["cobrotoxin.trr"].fresh()
    universe.trajectory.add_transformations(translate([1.0, 2.0, 3.0]))
    protein = universe.select_atoms("protein")
    done = tj.write(tmp_path / "out.trr", protein)
    assert done.n_atoms == len(protein)
    written = tj.open(None, tmp_path / "out.trr").read(velocities=True)
    for k, ts in enumerate(universe.trajectory):
        assert np.abs(written.positions[k] - protein.positions).max() < 1e-4
        assert written.velocities is not None
        assert np.abs(written.velocities[k] - protein.velocities).max() < 1e-4
        assert written.times[k] == pytest.approx(ts.time)
        assert np.abs(written.cells[k] - ts.dimensions).max() < 1e-3
    tj.write(tmp_path / "out.h5md", universe)
    assert tj.open(None, tmp_path / "out.h5md").n_atoms == len(universe.atoms)
    assert tj.open(None, tmp_path / "out.h5md").steps.tolist() == [
        ts.data["step"] for ts in universe.trajectory
    ]


def test_transformed_blocks_keep_a_turned_box_where_it_fits(
    systems: Systems, tmp_path: Path
) -> None:
    """TRR holds box vectors in any orientation; NetCDF does not."""
    traj = systems["solvated.xtc"].trajectory.fit("name CA")
    block = traj.select("protein").read()
    tj.write(tmp_path / "out.trr", block, double=True)
    again = tj.open(None, tmp_path / "out.trr").read()
    assert block.vectors is not None
    assert again.vectors is not None
    assert np.abs(again.vectors[1:] - block.vectors[1:]).max() < 1e-4
    with raises(tj.OutputError):
        tj.write(tmp_path / "out.nc", block)
    assert not (tmp_path / "out.nc").exists()
    assert not list(tmp_path.glob(".trajet-*"))


def test_what_does_not_fit_is_an_error_and_leaves_no_file(x: np.ndarray, tmp_path: Path) -> None:
    """Shapes, numbers of frames, times, other types, existing files."""
    path = tmp_path / "out.xtc"
    wrong: list[tuple[object, dict[str, object], type[Exception]]] = [
        (x[0], {}, ValueError),
        (x[:, :, :2], {}, ValueError),
        (x * 1j, {}, ValueError),
        (x[:0], {}, ValueError),
        ([], {}, ValueError),
        ([x[:3], x[:3, :4]], {}, ValueError),
        (x, {"times": [1.0, 2.0]}, ValueError),
        (x[:2], {"times": [1.0, 2.0, 3.0]}, ValueError),
        (x, {"steps": [[1]]}, ValueError),
        (x, {"cells": [1, 2, 3]}, ValueError),
        (x[:2], {"cells": [CELL] * 3}, ValueError),
        (x, {"compression": 3}, ValueError),
        (x, {"threads": 0}, ValueError),
        (5, {}, TypeError),
        ("positions.npy", {}, TypeError),
        (np.full_like(x, np.nan), {}, tj.OutputError),
        (x * 1e9, {}, tj.OutputError),
    ]
    for given, options, error in wrong:
        with raises(error):
            tj.write(path, given, **options)  # type: ignore[arg-type]
        assert list(tmp_path.iterdir()) == []
    with raises(tj.OutputError):
        tj.write(tmp_path / "out.dcd", x[:3], times=[0.0, 1.0, 5.0])
    with raises(tj.OutputError):
        tj.write(tmp_path / "out.h5md", x[:3], steps=[5, 6, 4])
    assert list(tmp_path.iterdir()) == []
    kept = tj.write(tmp_path / "out.dcd", x[:3], times=[0.0, 1.0, 5.0], allow_loss=True)
    assert "equal steps of time" in kept.messages[0]
    with raises(tj.OutputError):
        tj.write(kept.path, x)
    assert tj.write(kept.path, x[:7], force=True).n_frames == 7


NAN = np.nan
NO_CELLS = {
    "partly NaN": [40, 50, 60, 90, 90, NAN],
    "infinite": [40, 50, np.inf, 90, 90, 90],
    "negative length": [-40, 50, 60, 90, 90, 90],
    "one length of zero": [0, 50, 60, 90, 90, 90],
    "one of zero, one NaN": [0, 0, 0, 90, 90, NAN],
    "angle of zero": [40, 50, 60, 0, 90, 90],
    "angle of 180": [40, 50, 60, 90, 180, 90],
    "angles without a volume": [40, 50, 60, 10, 20, 170],
    "radians": [30, 40, 50, *[np.pi / 2] * 3],
}


@pytest.mark.parametrize("ending", OFF)
@pytest.mark.parametrize("numbers", NO_CELLS.values(), ids=NO_CELLS)
def test_numbers_that_are_no_cell_are_an_error(
    x: np.ndarray, ending: str, numbers: list[float], tmp_path: Path
) -> None:
    """The error names the frame, for given cells and for those of blocks; there is no file."""
    path = tmp_path / f"out.{ending}"
    cells = np.tile(CELL, (7, 1))
    cells[4] = numbers
    block = tj.Block(x[:7], np.arange(7.0), np.arange(7), np.arange(7), cells)
    parts = [replace(block, **_cut(block, slice(0, 3))), replace(block, **_cut(block, slice(3, 7)))]
    for own, given in ((x[:7], cells), (block, None), (iter(parts), None)):
        with raises(ValueError, path, "frame 4"):
            tj.write(path, own, cells=given, allow_loss=True)
    with raises(ValueError, path, "frame 0"):
        tj.write(path, x[:7], cells=numbers)
    assert list(tmp_path.iterdir()) == []
    # Those of blocks do not count where others are given.
    tj.write(path, block, cells=CELL)
    assert np.abs(tj.open(None, path).read().cells - CELL).max() < 1e-4


def _cut(block: tj.Block, here: slice) -> dict[str, np.ndarray]:
    names = ("positions", "times", "steps", "frames", "cells")
    return {name: getattr(block, name)[here] for name in names}


@pytest.mark.parametrize("ending", OFF)
def test_zero_lengths_are_no_cell(x: np.ndarray, ending: str, tmp_path: Path) -> None:
    """As in files that are read, and as six times NaN."""
    path = tmp_path / f"out.{ending}"
    for numbers in ([0] * 6, [0, 0, 0, 90, 90, 90], [NAN] * 6):
        tj.write(path, x[:3], cells=numbers, force=True)
        assert np.isnan(tj.open(None, path).read().cells).all()
    tj.write(path, x[:3], cells=[CELL, [0] * 6, CELL], force=True, allow_loss=True)
    there = tj.open(None, path).read().cells
    assert np.isnan(there[1]).all()
    assert np.abs(there[::2] - CELL).max() < 1e-4


@pytest.mark.parametrize("ending", OFF)
def test_times_that_are_not_finite_are_an_error(x: np.ndarray, ending: str, tmp_path: Path) -> None:
    """The error names the frame, for given times and for those of blocks; there is no file."""
    path = tmp_path / f"out.{ending}"
    for wrong in (np.nan, np.inf, -np.inf):
        times = np.array([0, 1, 2, wrong, 4.0])
        block = tj.Block(x[:5], times, np.arange(5), np.arange(5), np.full((5, 6), np.nan))
        parts = [replace(block, **_cut(block, slice(k, k + 1))) for k in range(5)]
        for own, given in ((x[:5], times), (block, None), (iter(parts), None)):
            with raises(ValueError):
                tj.write(path, own, times=given, allow_loss=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", OFF)
def test_steps_that_are_not_whole_numbers_are_an_error(
    x: np.ndarray, ending: str, tmp_path: Path
) -> None:
    """Whole numbers of any type are steps."""
    path = tmp_path / f"out.{ending}"
    for wrong in (1.5, np.nan, np.inf, 1e300):
        steps = np.array([0, 1, wrong])
        block = tj.Block(x[:3], np.arange(3.0), steps, np.arange(3), np.full((3, 6), np.nan))  # type: ignore[arg-type]
        for own, given in ((x[:3], steps), (block, None), (iter([block]), None)):
            with raises(ValueError):
                tj.write(path, own, steps=given)
    with raises(ValueError):
        tj.write(path, x[:3], steps=["1", "2", "3"])  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []
    tj.write(path, x[:3], steps=np.array([10.0, 20.0, 30.0]))
    if ending in ("xtc", "trr", "h5md"):
        assert tj.open(None, path).steps.tolist() == [10, 20, 30]


@pytest.mark.parametrize("ending", ["xtc", "trr", "dcd", "nc", "h5md"])
def test_positions_that_are_none_are_an_error(ending: str, tmp_path: Path) -> None:
    """Infinite ones, also where single precision makes them so, and those of no atom."""
    path = tmp_path / f"out.{ending}"
    for number in (np.inf, -np.inf, 1e39):
        made = np.zeros((5, 12, 3))
        made[3, 4, 1] = number
        with raises(ValueError):
            tj.write(path, made)
    with raises(ValueError):
        tj.write(path, np.zeros((4, 0, 3)))
    assert not path.exists()


@pytest.mark.parametrize("ending", ["xtc", "trr", "nc"])
@pytest.mark.parametrize("by_frame", [False, True])
def test_times_that_single_precision_blurs_are_an_error(
    ending: str, by_frame: bool, tmp_path: Path
) -> None:
    """They would be other lags; also where times are not known before the last frame."""
    times = 2e7 + 0.5 * np.arange(4)
    made = np.zeros((4, 12, 3), np.float32)

    def write(**more: bool) -> tj.Conversion:
        if by_frame:
            return tj.write(path, one_by_one(np.split(made, 4), times), **more)
        return tj.write(path, made, times=times, **more)

    path = tmp_path / f"late.{ending}"
    with raises(tj.OutputError):
        write()
    assert not path.exists()
    if ending == "trr":
        write(double=True)
        assert tj.open(None, path).times.tolist() == times.tolist()
        path.unlink()
    if not (by_frame and ending == "nc"):
        assert any(
            "holds times in single precision" in text for text in write(allow_loss=True).messages
        )


def test_times_that_do_not_increase_get_a_message(x: np.ndarray, tmp_path: Path) -> None:
    """It names the first frame, also at the border of two blocks; frames are written as given."""
    for ending in ("xtc", "trr", "nc", "h5md"):
        path = tmp_path / f"out.{ending}"
        done = tj.write(path, x[:5], times=[0, 1, 1, 3, 2])
        assert done.messages == (
            "times do not increase: frame 2 is at 1 ps, and frame 1 at 1 ps (2 such frames in all)",
        )
        assert tj.open(None, path).times.tolist() == [0, 1, 1, 3, 2]
    one = tj.Block(x[:2], np.array([5.0, 6]), np.arange(2), np.arange(2), np.full((2, 6), np.nan))
    done = tj.write(tmp_path / "two.trr", [one, one])
    assert done.messages == ("times do not increase: frame 2 is at 5 ps, and frame 1 at 6 ps",)
    assert tj.write(tmp_path / "right.trr", x, times=np.arange(150) - 75.0).messages == ()


@pytest.mark.parametrize("ending", ["xtc", "dcd", "h5md"])
def test_updating_groups_of_mdanalysis_are_an_error(
    systems: Systems, ending: str, tmp_path: Path
) -> None:
    """Their atoms differ from frame to frame; the atoms of one frame are written if chosen."""
    universe = systems["cobrotoxin.trr"].fresh()
    near = universe.select_atoms("around 5 resid 10", updating=True)
    path = tmp_path / f"out.{ending}"
    with raises(tj.SelectionError):
        tj.write(path, near)
    assert list(tmp_path.iterdir()) == []
    fixed = universe.atoms[near.indices]
    assert tj.write(path, fixed, allow_loss=True).n_atoms == len(fixed)


def test_trajectories_are_left_to_convert(adk: Adk, tmp_path: Path) -> None:
    """The message names it."""
    traj = tj.open(adk.psf, adk.xtc)
    near = traj.select("around 5 resid 10", updating=True)
    for source in (traj, traj.select("name CA"), near):
        with raises(TypeError):
            tj.write(tmp_path / "out.xtc", source)  # type: ignore[arg-type]


def test_a_failing_script_leaves_nothing(x: np.ndarray, tmp_path: Path) -> None:
    """Its exception is raised as it is, and an existing file is unchanged."""

    def frames() -> Iterator[np.ndarray]:
        yield x[:80]
        raise LookupError("the simulation broke off")

    for name in ("out.xtc", "out.nc", "out.h5md"):
        path = tmp_path / name
        path.write_bytes(b"old")
        with raises(LookupError):
            tj.write(path, frames(), force=True)
        assert path.read_bytes() == b"old"
        path.unlink()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_script_leaves_no_file_of_the_name(tmp_path: Path) -> None:
    """The next output in the folder removes what it left."""
    script = (
        "import sys, time, numpy as np, trajet as tj\n"
        "def frames():\n"
        "    for k in range(10**6):\n"
        "        yield np.full((4, 5000, 3), k, np.float32)\n"
        "        print(k, flush=True)\n"
        "        time.sleep(0.01)\n"
        "tj.write(sys.argv[1], frames())\n"
    )
    path = tmp_path / "out.trr"
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        assert [own.name.startswith(".trajet-") for own in tmp_path.iterdir()] == [True]
        os.kill(process.pid, signal.SIGKILL)
    time.sleep(0.1)
    assert not path.exists()
    tj.write(tmp_path / "next.trr", np.zeros((1, 3, 3)))
    assert [own.name for own in tmp_path.iterdir()] == ["next.trr"]


def test_blocks_are_read_one_at_a_time(tmp_path: Path) -> None:
    """A generator of more frames than fit into memory is written as it goes."""
    taken: list[int] = []

    def frames() -> Iterator[tj.Block]:
        empty = tj.Block(np.zeros((2, 10, 3), np.float32), *[np.zeros(2)] * 4)  # type: ignore[arg-type]
        for k in range(4):
            (own,) = tmp_path.glob(".trajet-*")
            taken.append(own.stat().st_size)
            yield replace(
                empty,
                positions=np.full((2, 6000, 3), k, np.float32),
                times=np.array([2.0 * k, 2.0 * k + 1]),
                steps=np.array([2 * k, 2 * k + 1]),
                cells=np.full((2, 6), np.nan),
            )

    tj.write(tmp_path / "out.trr", frames())
    assert taken[0] == 0
    assert all(later > earlier for earlier, later in pairwise(taken))
    assert tj.open(None, tmp_path / "out.trr").times.tolist() == list(range(8))


def test_arrays_that_are_not_aligned_are_read(tmp_path: Path) -> None:
    """Numbers may begin at any byte, as they do in messages."""
    rng = np.random.default_rng(5)
    positions = rng.uniform(0, 9, (4, 7, 3)).astype(np.float32)
    whole = {
        "positions": positions,
        "times": np.arange(4.0),
        "cells": np.full((4, 6), [30, 31, 32, 90.0, 90.0, 90.0]),
    }
    shifted = {}
    for name, array in whole.items():
        memory = np.empty(array.nbytes + 1, np.uint8)[1:]
        shifted[name] = memory.view(array.dtype).reshape(array.shape)
        shifted[name][...] = array
        assert not shifted[name].flags.aligned
    for name, arrays in (("whole.trr", whole), ("shifted.trr", shifted)):
        rest = {key: arrays[key] for key in ("times", "cells")}
        tj.write(tmp_path / name, arrays["positions"], **rest)
    assert (tmp_path / "shifted.trr").read_bytes() == (tmp_path / "whole.trr").read_bytes()
    chosen = np.empty(17, np.uint8)[1:].view(np.int64)
    chosen[:] = [2, 5]
    found = tj.open(None, tmp_path / "whole.trr").select(chosen).read()
    assert np.abs(found.positions - positions[:, [2, 5]]).max() < 1e-6
