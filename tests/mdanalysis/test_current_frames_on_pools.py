"""Analyses that depend on the current frame have their serial results on pools."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
import trajet.mdanalysis
from MDAnalysis.analysis.base import AnalysisBase, AnalysisFromFunction
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysisTests import datafiles
from trajet.mdanalysis import run

TWO = tj.ProcessPool(workers=2)


@pytest.fixture(params=["own readers", "readers of trajet"])
def _readers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Read files with MDAnalysis' own readers, and with those of trajet."""
    with trajet.mdanalysis.install() if "trajet" in request.param else nullcontext():
        yield


def in_file() -> mda.Universe:
    """Return a Universe with cells, velocities and forces, 5 frames."""
    return mda.Universe(datafiles.COORDINATES_TOPOLOGY, datafiles.COORDINATES_TRR)


def in_memory() -> mda.Universe:
    """Return a Universe in memory, 10 frames."""
    numbers = np.random.default_rng(1).normal(size=(3, 10, 30, 3)).astype(np.float32)
    universe = mda.Universe.empty(30, trajectory=False)
    cells = np.arange(60, dtype=np.float32).reshape(10, 6) + 60
    universe.load_new(numbers[0], velocities=numbers[1], forces=numbers[2], dimensions=cells)
    return universe


class Rows(AnalysisBase):
    """Collects a number of each frame."""

    _analysis_algorithm_is_parallelizable = True

    def _prepare(self) -> None:
        self.results.rows = []

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"rows": ResultsGroup.ndarray_vstack})

    def _conclude(self) -> None:
        self.results.rows = np.vstack(self.results.rows)


class FromCurrent(Rows):
    """Compares frames with the one that is current at first, and changes them in place."""

    def __init__(self, atoms: mda.AtomGroup, other: mda.Universe) -> None:
        super().__init__(atoms.universe.trajectory)
        self.atoms, self.other = atoms, other

    def _now(self) -> list[float]:
        ts = self.atoms.universe.trajectory.ts
        kinds = (self.atoms.positions, ts.dimensions, ts.velocities, ts.forces)
        sums = [float(np.abs(one).sum(dtype=float)) for one in kinds]
        return [*sums, ts.data.get("colour", -1), float(self.other.atoms.positions.sum())]

    def _prepare(self) -> None:
        super()._prepare()
        self._first = self._now()

    def _single_frame(self) -> None:
        self.results.rows.append([*self._first, *self._now(), self._ts.time])
        self.atoms.translate([1, 2, 3])
        self._ts.dimensions *= 2
        self._ts.velocities += 1
        self._ts.data["colour"] = 99
        self.other.trajectory[self._frame_index]
        self.other.atoms.translate([1, 1, 1])


def change_all(universe: mda.Universe) -> None:
    """Change all that a time step holds."""
    ts = universe.trajectory.ts
    ts.positions += 5
    ts.dimensions = [70, 71, 72, 90, 90, 90]
    ts.velocities *= 3
    ts.forces = np.ones_like(ts.forces)
    ts.data["colour"] = 7


@pytest.mark.usefixtures("_readers")
@pytest.mark.parametrize("make", [in_file, in_memory])
@pytest.mark.parametrize("change", [None, change_all])
def test_all_ranges_begin_with_the_current_frames_of_the_script(
    make: Callable[[], mda.Universe], change: Callable[[mda.Universe], None] | None
) -> None:
    """Changes that were not written to a file are seen in each; those of an analysis in none."""

    def made() -> FromCurrent:
        universe, other = make(), in_memory()
        universe.trajectory[3]
        other.trajectory[8]
        if change is not None:
            change(universe)
            change(other)
        return FromCurrent(universe.atoms[:4], other)

    serial = made().run().results.rows
    assert np.ptp(serial[:, :6], axis=0).max() == 0
    # Without data and positions that the analysis itself has left by the frame before.
    columns = [*range(10), 12]
    for pool, parts in ((None, 5), (TWO, 5)):
        rows = run(made(), pool=pool, parts=parts, progress=False).results.rows
        np.testing.assert_array_equal(rows[:, columns], serial[:, columns])


def test_trajectory_in_memory_stays_attached_to_its_time_step() -> None:
    """After a run in this process changes of positions are changes of the trajectory, as before."""
    analysis = FromCurrent(in_memory().atoms[:4], in_memory())
    run(analysis, parts=5, progress=False)
    for universe in (analysis.atoms.universe, analysis.other):
        array = universe.trajectory.get_array()
        frame = universe.trajectory.frame
        universe.atoms.positions = np.full((30, 3), 4, np.float32)
        assert (array[frame] == 4).all()


class Holding(Rows):
    """Holds an array from before or after it knows its trajectory."""

    def __init__(self, universe: mda.Universe, array: Any, early: bool) -> None:
        if early:
            self.array = array
        super().__init__(universe.trajectory)
        self.array = array

    def _single_frame(self) -> None:
        self.results.rows.append(np.array(self.array, float).ravel()[:6])


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "cell": lambda ts: ts.dimensions,
    "lengths": lambda ts: ts.dimensions[:3],
    "positions": lambda ts: ts.positions,
    "some, backwards": lambda ts: ts.positions[4:1:-1, ::2],
    "as bytes": lambda ts: ts.positions[3].view(np.int32),
    "velocities": lambda ts: ts.velocities[2:],
    "forces": lambda ts: ts.forces[1],
}


@pytest.mark.usefixtures("_readers")
@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("early", [True, False])
def test_held_arrays_of_the_current_frame_follow(name: str, early: bool) -> None:
    """They change with the frame, wherever an analysis holds them."""

    def made() -> Holding:
        universe = in_file()
        return Holding(universe, ARRAYS[name](universe.trajectory.ts), early)

    serial = made().run().results.rows
    assert len(np.unique(serial, axis=0)) == 5
    for pool in (None, TWO):
        rows = run(made(), pool=pool, parts=3, progress=False).results.rows
        np.testing.assert_array_equal(rows, serial)


def test_held_arrays_of_a_function_follow() -> None:
    """Arguments of functions come before the trajectory."""

    def first(positions: Any) -> list[float]:
        return list(map(float, positions[1]))

    def made() -> AnalysisFromFunction:
        trajectory = in_file().trajectory
        return AnalysisFromFunction(first, trajectory, trajectory.ts.positions)

    serial = made().run().results.timeseries
    assert len(np.unique(serial, axis=0)) == 5
    for pool in (None, TWO):
        ours = run(made(), pool=pool, parts=3, progress=False).results.timeseries
        np.testing.assert_array_equal(ours, serial)


@pytest.mark.parametrize(("current", "order"), [(0, "fac"), (5, "fac"), (5, "afc")])
def test_held_frames_in_memory_stay(current: int, order: str) -> None:
    """All frames share one array; those that an analysis holds do not change with the frame."""

    def made(held: int) -> Holding:
        numbers = np.random.default_rng(2).normal(size=(10, 30, 3)).astype(np.float32)
        axes = ["fac".index(axis) for axis in order]
        numbers = np.ascontiguousarray(numbers.transpose(axes))
        universe = mda.Universe.empty(30, trajectory=False).load_new(numbers, order=order)
        universe.trajectory[current]
        return Holding(universe, universe.trajectory.timeseries(order="fac")[held, 2:], False)

    for held in (0, 5):
        serial = made(held).run().results.rows
        assert len(np.unique(serial, axis=0)) == 1
        for pool in (None, TWO):
            rows = run(made(held), pool=pool, parts=3, progress=False).results.rows
            np.testing.assert_array_equal(rows, serial)
