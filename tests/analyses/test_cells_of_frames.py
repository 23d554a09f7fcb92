"""Cells are checked in every frame, by every analysis that uses them, on every pool."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj

N_FRAMES = 1200
# In the first, a middle and the last leaf, never the first or last frame.
MISSING, SMALL = [5, 700, 701, 1198], [3, 640, 1100]
Run = Callable[..., Any]
ANALYSES: dict[str, Run] = {
    "contacts": lambda t, **o: tj.contacts(t.select("name N"), "name O", cutoff=2.0, **o),
    "min_distance": lambda t, **o: tj.min_distance(t.select("name N"), "name O", **o),
    "contact_map": lambda t, **o: tj.contact_map(t.all_atoms(), cutoff=2.0, **o),
    "native_contacts": lambda t, **o: tj.native_contacts(
        t.select("name N"), "name O", cutoff=4.0, heavy_only=False, exclude_neighbors=None, **o
    ),
    "distances": lambda t, **o: tj.distances(t.select("name N"), "name O", **o),
    "dihedrals": lambda t, **o: tj.dihedrals(t, [[0, 1, 2, 3]], **o),
    "center_distances": lambda t, **o: tj.center_distances(
        t.select("resid 1"), "resid 2", weights="equal", **o
    ),
    "hbonds": lambda t, **o: tj.hbonds(t.all_atoms(), cutoff=3.0, angle=100.0, **o),
    "count": lambda t, **o: tj.count(t.select("around 2 name N", updating=True), **o),
    "contacts, updating": lambda t, **o: tj.contacts(
        t.select("around 2 name N", updating=True), "name O", pbc=False, **o
    ),
    "density": lambda t, **o: tj.density(
        t.select("around 2 name N", updating=True),
        grid_center=[5, 5, 5],
        grid_size=40.0,
        spacing=9,
        **o,
    ),
    "apply": lambda t, **o: tj.apply(t.select("around 2 name N", updating=True), len, **o),
}
SMALLER: dict[str, Run] = {
    "rdf": lambda t, **o: tj.rdf(t.all_atoms(), range=(0, 4.5), bins=4, **o),
    "rdf_pairs": lambda t, **o: tj.rdf_pairs([(t.all_atoms(), "name O")], range=(0, 4.5), **o),
    "hbonds": lambda t, **o: tj.hbonds(t.all_atoms(), cutoff=4.5, angle=100.0, **o),
}


def _system(folder: Path, cells: np.ndarray | None) -> tj.Trajectory:
    """Return a trajectory of a donor and an acceptor."""
    atoms = np.array([[1.0, 3, 3], [2.0, 3, 3], [4.0, 3, 3], [4.2, 4, 3]], np.float32)
    lines = [
        f"ATOM  {k + 1:5d}  {name:3s} LIG A{1 + k // 2:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
        f"          {name:>2s}\n"
        for k, (name, (x, y, z)) in enumerate(zip("NHOC", atoms, strict=True))
    ]
    top, path = folder / "t.pdb", folder / "t.trr"
    top.write_text("".join(lines) + "CONECT    1    2\nCONECT    3    4\nEND\n")
    tj.write(path, np.repeat(atoms[np.newaxis], N_FRAMES, axis=0), cells=cells)
    return tj.open(top, path)


def _cells() -> np.ndarray:
    return np.tile([20.0, 20, 20, 90, 90, 90], (N_FRAMES, 1))


@pytest.fixture(scope="module")
def holes(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return a trajectory in which some frames have no cell."""
    cells = _cells()
    cells[MISSING] = np.nan
    return _system(tmp_path_factory.mktemp("holes"), cells)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> tj.Trajectory:
    """Return a trajectory in which some frames have a small cell, of which one is oblique."""
    cells = _cells()
    cells[SMALL, :3] = [[8.0, 20, 20], [20, 20, 7.0], [8.0, 8.0, 8.0]]
    # Its shortest lattice vector is the difference of two edges.
    cells[SMALL[2], 3:] = [90, 90, 50]
    return _system(tmp_path_factory.mktemp("narrow"), cells)


def _about_cells(result: Any) -> list[str]:
    words = ("unit cell", "half of the distance")
    return [one for one in result.messages if any(word in one for word in words)]


@pytest.mark.parametrize("name", ANALYSES)
def test_frames_without_a_cell_are_counted(name: str, holes: tj.Trajectory) -> None:
    """On any division of the frames; a stride that leaves them out has no message."""
    run, first = ANALYSES[name], "4 of 1200 frames have no unit cell (the first is frame 5)"
    for pool in (None, tj.LocalPool(threads=3, task_frames=100)):
        (message,) = _about_cells(run(holes, pool=pool))
        assert message.startswith(first)
    (message,) = _about_cells(run(holes, frames=[700, 2, 5]))
    assert message.startswith("2 of 3 frames have no unit cell (the first is frame 700)")
    assert _about_cells(run(holes, frames=slice(0, None, 2)))[0].startswith("2 of 600 frames")
    assert _about_cells(run(holes, frames=slice(0, 5))) == []


def test_a_trajectory_without_any_cell_is_ordinary_within_molecules(tmp_path: Path) -> None:
    """A message follows only where neighbours across the box were asked for."""
    bare = _system(tmp_path, None)
    for name, run in ANALYSES.items():
        quiet = name in ("distances", "dihedrals")
        assert len(_about_cells(run(bare, frames=slice(0, 9)))) == (not quiet), name
    for name in ("contacts", "distances", "dihedrals", "center_distances", "hbonds"):
        assert _about_cells(ANALYSES[name](bare, frames=slice(0, 9), pbc=False)) == []


@pytest.mark.parametrize("name", SMALLER)
def test_frames_with_a_small_cell_are_counted(name: str, narrow: tj.Trajectory) -> None:
    """The smallest is named, by its shortest lattice vector."""
    run, short = SMALLER[name], 2 * 8 * np.sin(np.radians(25)) / 2
    (message,) = _about_cells(run(narrow, pool=tj.LocalPool(threads=2, task_frames=300)))
    assert "is less in 3 of 1200 frames, first in frame 3: " in message
    assert f": {short:.1f} Å in frame 1100: " in message
    (message,) = _about_cells(run(narrow, frames=[640, 7]))
    assert "is less in 1 of 2 frames: 3.5 Å in frame 640: " in message
    assert _about_cells(run(narrow, frames=slice(4, 600))) == []


def test_joint_runs_and_processes_count_the_same(
    holes: tj.Trajectory, narrow: tj.Trajectory
) -> None:
    """Each analysis of a joint run has its own cells, also where transforms make copies."""
    pool = tj.ProcessPool(workers=2, task_frames=300)
    pairs = [(holes.select("name N"), "name O")]
    moved = holes.translate([1, 0, 0])
    jobs = [
        tj.distances.job(*pairs[0]),
        tj.dihedrals.job(moved, [[0, 1, 2, 3]]),
        tj.rmsf.job(holes.all_atoms(), align=holes.all_atoms()),
        tj.count.job(moved.select("around 2 name N", updating=True)),
        tj.distances.job(*pairs[0], pbc=False),
    ]
    for where in (None, pool):
        counts = [len(_about_cells(one)) for one in tj.run(jobs, pool=where)]
        assert counts == [1, 1, 0, 1, 0]
    first, second = (
        tj.rdf(narrow.all_atoms(), range=(0, 4.5), bins=4, pool=where) for where in (None, pool)
    )
    assert _about_cells(first) == _about_cells(second) != []
    assert np.array_equal(first.counts, second.counts)
