"""Blocks and cursors ask for several frames at the same time, and return them one after another."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import range_server as faults
from helpers.golden_files import Adk, same_bits
from helpers.messages import raises
from helpers.range_server import RangeServer


@pytest.fixture(scope="module")
def local(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return adk.xtc with a unit cell."""
    path = tmp_path_factory.mktemp("cells") / "adk.xtc"
    read = tj.open(None, adk.xtc).read()
    cells = np.tile([90.0, 90, 90, 90, 90, 90], (len(read.frames), 1))
    tj.write(path, read.positions, times=read.times, steps=read.steps, cells=cells)
    return path


@pytest.fixture
def server(tmp_path: Path, local: Path) -> Iterator[RangeServer]:
    """Return a server of adk.xtc, each of whose answers takes a moment."""
    folder = tmp_path / "served"
    folder.mkdir()
    shutil.copyfile(local, folder / "adk.xtc")
    with RangeServer(folder, delay=0.02) as running:
        yield running


def opened(server: RangeServer, adk: Adk) -> tj.Trajectory:
    """Open it with 8 connections, without a request from here on in the counts."""
    traj = tj.open(
        adk.psf, server.url("adk.xtc"), allow_http=True, connections=8, merge_gap=0, sidecar=False
    )
    server.clear()
    return traj


TRANSFORMS: dict[str, Callable[[tj.Trajectory], tj.Trajectory]] = {
    "none": lambda traj: traj,
    "fit": lambda traj: traj.fit("name CA"),
    "nojump": lambda traj: traj.nojump(),
}


@pytest.mark.parametrize("size", [1, 3, 8, None])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_blocks_are_read_ahead(
    server: RangeServer, local: Path, adk: Adk, name: str, size: int | None
) -> None:
    """Each block has its own frames, whatever was read with it."""
    here = TRANSFORMS[name](tj.open(adk.psf, local, sidecar=False))
    there = TRANSFORMS[name](opened(server, adk))
    server.clear()
    frames = slice(10, 47)
    expected = here.read(frames=frames)
    columns = here.select("name CA").indices
    at = 0
    for block in there.blocks(size, frames=frames, atoms=columns):
        n = len(block.frames)
        assert size is None or n == min(size, 37 - at)
        assert same_bits(block.positions, expected.positions[at : at + n, columns])
        assert np.array_equal(block.frames, expected.frames[at : at + n])
        assert np.array_equal(block.times, expected.times[at : at + n])
        assert same_bits(block.cells, expected.cells[at : at + n])
        at += n
    assert at == 37
    # A transform that depends on the frames before reads them in order.
    assert (server.most_at_once > 3) == (name != "nojump")
    assert server.count() <= 2 * 37 + 8


def test_the_first_block_reads_no_more_than_itself(server: RangeServer, adk: Adk) -> None:
    """One block takes the requests of one block."""
    traj = opened(server, adk)
    next(traj.blocks(2, frames=slice(20, None)))
    assert server.count() <= 4


def test_published_data_sets_are_read_ahead(tmp_path: Path, adk: Adk) -> None:
    """Cursors, blocks, batches and pictures of them ask for several frames at the same time."""
    from obstore.store import LocalStore

    store = tj.Store(tmp_path / "md", create=True)
    store.add("run", tj.open(adk.psf, adk.xtc))
    store.publish("run", (LocalStore(tmp_path / "served", mkdir=True), "run"))
    expected = tj.open(None, adk.xtc).read(frames=slice(0, 40)).positions
    with RangeServer(tmp_path / "served", delay=0.02) as server:
        traj = tj.open(server.url("run"), allow_http=True, connections=8, merge_gap=0)
        traj.read(frames=[0])
        server.clear()
        cursor = traj.cursor()
        for frame in range(40):
            found = cursor.read(frame).positions
            assert found is not None and same_bits(found, expected[frame])
        assert server.most_at_once > 3
        server.clear()
        for block in traj.blocks(1, frames=slice(0, 40)):
            assert same_bits(block.positions[0], expected[block.frames[0]])
        assert server.most_at_once > 3


def test_cursors_read_ahead(server: RangeServer, local: Path, adk: Adk) -> None:
    """Forwards and backwards; a failure is that of the frame that is asked for."""
    expected = tj.open(None, local).read().positions
    cursor = opened(server, adk).cursor()
    for frame in [*range(50), *range(80, 60, -1)]:
        found = cursor.read(frame).positions
        assert found is not None and same_bits(found, expected[frame])
    assert server.most_at_once > 3
    server.always(lambda _: faults.error(404, ""))
    with raises(FileNotFoundError):
        for frame in range(20, 60):
            cursor.read(frame)
