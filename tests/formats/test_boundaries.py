"""Cells that are not periodic in some directions: no images along these, and nothing is wrapped."""

from itertools import product
from pathlib import Path

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.made_files import write_names
from helpers.made_hdf5 import write_h5md
from helpers.made_stores import write_profile
from helpers.messages import raises
from trajet.h5md.files import text
from trajet.messages import Code

RANDOM = np.random.default_rng(52)
# Å, in an orthogonal and a triclinic cell; all images within reach are those of the next cells.
CELLS = {
    "orthogonal": np.diag([30.0, 34.0, 38.0]),
    "triclinic": np.array([[30.0, 0, 0], [7, 33, 0], [-6, 9, 35]]),
}
FLAGS = [*product([True, False], repeat=3)]
N_FRAMES, N_ATOMS = 4, 40
POSITIONS = RANDOM.uniform(-25, 60, (N_FRAMES, N_ATOMS, 3)).astype(np.float32)
# Of the first twenty atoms from the others.
DIFFERENCES = POSITIONS[:, :20, np.newaxis] - POSITIONS[:, np.newaxis, 20:]


def written(path: Path, vectors: np.ndarray, periodic: tuple[bool, ...]) -> tj.Trajectory:
    """Write and open an H5MD file, in Å."""
    boundary = ["periodic" if is_so else "none" for is_so in periodic]
    write_h5md(path, POSITIONS, unit="Angstrom", edges=vectors, edges_of="fixed", boundary=boundary)
    return tj.open(None, path)


def nearest(differences: np.ndarray, vectors: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """Return the nearest images of differences, by a search through the next cells."""
    steps = product(*[range(-4, 5) if is_so else [0] for is_so in periodic])
    shifts = np.array([np.array(step) @ vectors for step in steps])
    images = differences[..., np.newaxis, :].astype(np.float64) + shifts
    best = (images**2).sum(axis=-1).argmin(axis=-1)
    return np.take_along_axis(images, best[..., np.newaxis, np.newaxis], axis=-2)[..., 0, :]


def boundary_of(path: Path) -> list[str]:
    """Return the boundaries that a file states."""
    with h5py.File(path) as file:
        (group,) = (group for group in file["particles"].values() if "box" in group)
        return [text(word) for word in group["box"].attrs["boundary"]]


def test_flags_and_cells_are_read(tmp_path: Path) -> None:
    """From H5MD, in blocks, frames and cursors; where nothing is periodic there is no cell."""
    for periodic in FLAGS:
        traj = written(tmp_path / "run.h5md", CELLS["triclinic"], periodic)
        block, frame = traj.read(), traj[1]
        assert block.periodic is not None
        assert block.periodic.tolist() == [list(periodic)] * N_FRAMES
        assert frame.box.periodic.tolist() == list(periodic)
        assert np.isnan(block.cells).all() == (not any(periodic))
        assert not traj.messages
        with traj.cursor() as cursor:
            assert cursor.read(2).periodic.tolist() == list(periodic)
        blocks = [one.periodic for one in traj.blocks(3)]
        assert np.array_equal(np.concatenate(blocks), block.periodic)


@pytest.mark.parametrize("shape", [*CELLS])
def test_distances_are_those_of_images_along_periodic_directions(
    shape: str, tmp_path: Path
) -> None:
    """Distances, the nearest pair, contacts and selections, in all directions and in some."""
    vectors = CELLS[shape]
    for periodic in FLAGS[:-1]:
        traj = written(tmp_path / "run.h5md", vectors, periodic)
        one, other = traj.select(range(20)), traj.select(range(20, 40))
        lengths = np.linalg.norm(nearest(DIFFERENCES, vectors, periodic), axis=-1)
        assert np.allclose(tj.distances(one, other).values, lengths, rtol=1e-5)
        found = tj.min_distance(one, other)
        assert np.allclose(found.values, lengths.min(axis=(1, 2)), rtol=1e-5)
        count = tj.contacts(one, other, cutoff=11).values
        assert np.array_equal(count, (lengths <= 11).sum(axis=(1, 2)))
        named = tj.open(write_names(tmp_path / "top.gro", N_ATOMS), traj.path)
        near = named.select("around 11 index 20:39", updating=True)
        for k in range(N_FRAMES):
            own = np.flatnonzero((lengths[k] <= 11).any(axis=1))
            assert np.array_equal(near[k].indices, own)


@pytest.mark.parametrize("shape", [*CELLS])
def test_nothing_is_moved_along_directions_that_are_not_periodic(
    shape: str, tmp_path: Path
) -> None:
    """Wrapping and jumps take whole steps along periodic vectors."""
    vectors = CELLS[shape]
    inverse = np.linalg.inv(vectors)
    for periodic in FLAGS[:-1]:
        traj = written(tmp_path / "run.h5md", vectors, periodic)
        is_open = ~np.array(periodic)
        for changed in (traj.wrap(by="atom"), traj.nojump()):
            moved = changed.read().positions.astype(np.float64) - POSITIONS
            steps = moved @ inverse
            assert np.allclose(steps, steps.round(), atol=1e-5)
            assert np.abs(steps[..., is_open]).max(initial=0) < 1e-5
            assert np.abs(steps[..., ~is_open]).max() > 0.9
        wrapped = traj.wrap(by="atom").read().positions @ inverse
        assert ((wrapped > -1e-5) & (wrapped < 1 + 1e-5))[..., ~is_open].all()


def test_an_open_direction_needs_no_length(tmp_path: Path) -> None:
    """Edges of zero, as of a slab."""
    traj = written(tmp_path / "slab.h5md", np.diag([30.0, 34.0, 0.0]), (True, True, False))
    far = nearest(DIFFERENCES, np.diag([30.0, 34.0, 1.0]), (True, True, False))
    found = tj.distances(traj.select(range(20)), traj.select(range(20, 40))).values
    assert np.allclose(found, np.linalg.norm(far, axis=-1), rtol=1e-5)
    with raises(tj.AnalysisError):
        tj.linear_density(traj.all_atoms(), quantity="number")
    traj = written(tmp_path / "flat.h5md", np.diag([30.0, 0.0, 30.0]), (True, True, False))
    with raises(tj.AnalysisError):
        tj.distances(traj.select([0]), traj.select([1]))


def test_what_needs_a_volume_refuses_or_says_what_it_took(tmp_path: Path) -> None:
    """RDFs refuse; profiles along an open direction take the length of the file, and say so."""
    edges = np.diag([30.0, 34.0, 100.0])
    traj = written(tmp_path / "run.h5md", edges, (True, True, False))
    with raises(tj.AnalysisError):
        tj.rdf(traj.all_atoms())
    with raises(tj.AnalysisError):
        tj.rdf_pairs([(traj.all_atoms(), traj.all_atoms())])
    with raises(tj.AnalysisError):
        tj.linear_density(traj.all_atoms(), axis="x", quantity="number")
    # Lengths and angles do not say along which vectors there are images.
    with raises(tj.AnalysisError):
        tj.apply(traj.all_atoms(), lambda x, cell: x.mean(), cells=True)
    # Atoms are below the cell.
    with raises(tj.AnalysisError):
        tj.linear_density(traj.all_atoms(), quantity="number")
    above = traj.select(np.flatnonzero((POSITIONS[..., 2] > 0).all(axis=0)))
    found = tj.linear_density(above, quantity="number", bins=10)
    assert [one.code for one in found.report.messages] == [Code.OPEN_BOUNDARY]
    heights = POSITIONS[:, above.indices, 2].ravel()
    expected = np.histogram(heights, 10, (0, 100))[0] / N_FRAMES / (30 * 34 * 10)
    assert np.allclose(found.values, expected)


def test_copies_keep_the_boundaries_or_refuse(tmp_path: Path) -> None:
    """H5MD of all atoms, of some, after a transform, from blocks; other formats have none."""
    periodic = (True, False, True)
    traj = written(tmp_path / "run.h5md", CELLS["triclinic"], periodic)
    stated = ["periodic", "none", "periodic"]
    copies = [
        tj.convert(traj, tmp_path / "all.h5md"),
        tj.convert(traj.select(range(5)), tmp_path / "some.h5md"),
        tj.convert(traj.wrap(by="atom"), tmp_path / "wrapped.h5md"),
        tj.write(tmp_path / "blocks.h5md", traj.blocks(3)),
        tj.write(tmp_path / "frames.h5md", [traj[0], traj[2]]),
    ]
    for made in copies:
        assert boundary_of(made.path) == stated, made.path
        block = tj.open(None, made.path).read()
        assert np.allclose(block.cells, traj.read(frames=[0]).cells, rtol=1e-9)
        assert block.periodic is not None
        assert (block.periodic == periodic).all()
    for ending in (".xtc", ".trr", ".dcd", ".nc"):
        path = tmp_path / f"copy{ending}"
        with raises(tj.OutputError):
            tj.convert(traj, path)
        done = tj.convert(traj, path, allow_loss=True)
        assert Code.LEFT_OUT_OF_COPY in {one.code for one in done.messages}
        assert np.isnan(tj.open(None, path).read().cells).all()


def test_frames_of_several_boundaries_are_not_one_file(tmp_path: Path) -> None:
    """H5MD states them once; a chain of files has them frame by frame."""
    one = written(tmp_path / "one.h5md", CELLS["orthogonal"], (True, True, False))
    other = written(tmp_path / "other.h5md", CELLS["orthogonal"], (True, True, True))
    both = tj.open(None, one.path, other.path)
    assert both.read().periodic.tolist() == [[True, True, False]] * 4 + [[True] * 3] * 4
    with raises(tj.OutputError):
        tj.write(tmp_path / "both.h5md", both.blocks(3), steps=range(8))
    assert not (tmp_path / "both.h5md").exists()


def test_stores_keep_the_boundaries(tmp_path: Path) -> None:
    """As a data set is read, and as it is given back."""
    traj = written(tmp_path / "run.h5md", CELLS["triclinic"], (False, True, True))
    named = tj.open(write_names(tmp_path / "top.gro", N_ATOMS), traj.path)
    store = tj.Store(tmp_path / "store", create=True)
    tags = ['few;index 0:9;short = "0"', 'rest;rest;short = "1"']
    store.add("run", named, profile=write_profile(tmp_path, *tags, tiers=("fast",)))
    kept = store.open("run")
    block = kept.read()
    assert np.array_equal(block.positions, traj.read().positions)
    assert block.periodic is not None
    assert (block.periodic == [False, True, True]).all()
    store.get("run", tmp_path / "again.h5md")
    assert boundary_of(tmp_path / "again.h5md") == ["none", "periodic", "periodic"]


def test_processes_have_the_numbers_of_threads(tmp_path: Path) -> None:
    """Workers know the boundaries."""
    traj = written(tmp_path / "run.h5md", CELLS["triclinic"], (True, True, False))
    pair = traj.select(range(20)), traj.select(range(20, 40))
    here = tj.distances(*pair).values
    there = tj.distances(*pair, pool=tj.ProcessPool(workers=2)).values
    assert np.array_equal(here, there)


def test_structures_hold_no_such_box(tmp_path: Path) -> None:
    """Neither GRO nor PDB."""
    path = written(tmp_path / "run.h5md", CELLS["orthogonal"], (True, True, False)).path
    traj = tj.open(write_names(tmp_path / "top.gro", N_ATOMS), path)
    with raises(tj.OutputError):
        traj.select([0, 1])[0].save(tmp_path / "frame.gro")
    with raises(tj.OutputError):
        tj.convert(traj, tmp_path / "copy.h5md", topology=tmp_path / "copy.pdb")
