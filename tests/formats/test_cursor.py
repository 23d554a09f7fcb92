"""Cursors: one frame at a time, in any order, equals reading at once, for every format."""

import gc
import multiprocessing
import threading
from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers import trr_bytes, xtc_bytes
from helpers.commands import wait_until
from helpers.messages import raises
from MDAnalysisTests import datafiles

FILES = {
    "xtc": (datafiles.TPR, datafiles.XTC),
    "trr": (datafiles.TPR, datafiles.TRR),
    "dcd": (datafiles.PSF, datafiles.DCD),
    "ncdf": (datafiles.PRMncdf, datafiles.NCDF),
    "h5md": (datafiles.TPR_xvf, datafiles.H5MD_xvf),
    "pdb": (datafiles.PDB_multiframe, datafiles.PDB_multiframe),
}


@pytest.fixture(scope="module", params=sorted(FILES))
def traj(request: pytest.FixtureRequest) -> tj.Trajectory:
    """Return a trajectory of each format."""
    return tj.open(*FILES[request.param])


def _walk(n_frames: int) -> list[int]:
    """Return frames in order, backwards, with strides and at random, enough to read ahead."""
    numbers = np.random.default_rng(3).integers(0, n_frames, 12)
    every = range(n_frames)
    return [*every, *reversed(every), *every[::2], *numbers.tolist(), *every[:5], 0, 0]


@pytest.mark.parametrize("atoms", [None, [7, 3, 7], []])
@pytest.mark.parametrize("read_ahead", [True, False])
def test_any_order_of_frames_is_that_of_reading_at_once(
    traj: tj.Trajectory, atoms: list[int] | None, read_ahead: bool
) -> None:
    """Positions, times, steps, cells and box vectors have the same bits."""
    block = traj.read(atoms=[0] if atoms == [] else atoms)
    with traj.cursor(atoms, read_ahead=read_ahead) as cursor:
        assert (cursor.n_frames, len(cursor), cursor.frame) == (traj.n_frames, traj.n_frames, -1)
        for frame in _walk(traj.n_frames):
            found = cursor.read(frame)
            assert found is cursor
            assert cursor.positions is not None
            if atoms != []:
                assert cursor.positions.tobytes() == block.positions[frame].tobytes()
            assert cursor.positions.shape == (cursor.n_atoms, 3)
            assert (cursor.frame, cursor.time) == (frame, block.times[frame])
            assert cursor.step == block.steps[frame]
            assert cursor.cell.tobytes() == block.cells[frame].tobytes()
            if block.vectors is None or np.isnan(block.vectors[frame]).all():
                assert cursor.vectors is None
            else:
                assert np.array_equal(cursor.vectors, block.vectors[frame])
            assert cursor.has_positions
            assert not cursor.has_velocities
        assert cursor.read(-1).frame == traj.n_frames - 1
        counts = cursor.counts
    assert (counts["frames_ahead"] > 0) == (read_ahead and atoms != [] and traj.n_frames > 5)


@pytest.mark.parametrize("name", ["trr", "h5md"])
def test_positions_velocities_and_forces_are_read_in_one_pass(name: str) -> None:
    """Each has the bits of a pass of its own; the bytes of the file are read once."""
    traj = tj.open(*FILES[name])
    alone = [traj.read().positions, traj.read(velocities=True).velocities]
    has_forces = name == "h5md"
    if has_forces:
        alone.append(traj.read(forces=True).forces)
    together = traj.read(velocities=True, forces=has_forces)
    cursor = traj.cursor(velocities=True, forces=True)
    of_frames: list[list[np.ndarray]] = [[], [], []]
    for frame in cursor:
        assert (frame.has_positions, frame.has_velocities) == (True, True)
        assert frame.has_forces == has_forces
        for values, field in zip(
            of_frames, (frame.positions, frame.velocities, frame.forces), strict=True
        ):
            assert field is not None
            values.append(field.copy())
    names = ["positions", "velocities", "forces"]
    for field, one, values in zip(names, alone, of_frames, strict=False):
        assert getattr(together, field).tobytes() == one.tobytes()  # type: ignore[union-attr]
        assert np.array(values).tobytes() == one.tobytes()  # type: ignore[union-attr]
    if not has_forces:
        assert np.isnan(of_frames[2]).all()
    if name == "trr":
        size = traj.path.stat().st_size
        cursor.close()
        assert size <= cursor.counts["bytes_read"] <= 1.05 * size
        assert cursor.counts["frames"] == traj.n_frames


def test_frames_say_what_they_hold(tmp_path: Path) -> None:
    """A frame of a TRR file without positions or velocities is NaN, and says so."""
    x = np.random.default_rng(1).uniform(0, 2, (8, 5, 3))
    holds = [True, False, True, True, True, True, False, True]
    # Frames without positions have velocities.
    frames = [one if there else None for one, there in zip(x, holds, strict=True)]
    path = trr_bytes.write_trr(tmp_path / "some.trr", frames)
    cursor = tj.open(None, path).cursor(velocities=True, forces=True)
    for frame in [*range(8), 1, 6, 2]:
        cursor.read(frame)
        assert cursor.has_positions == holds[frame]
        assert (cursor.has_velocities, cursor.has_forces) == (not holds[frame], False)
        assert cursor.positions is not None
        assert np.isnan(cursor.positions).all() != holds[frame]
    empty = tj.open(None, path).cursor([], velocities=True, forces=True)
    assert [empty.read(k).has_positions for k in range(8)] == holds


def test_cells_are_read_without_decoding() -> None:
    """Without atoms a frame costs its header: cells and times of 10 frames of 47,681 atoms."""
    traj = tj.open(datafiles.TPR, datafiles.XTC)
    cursor = traj.cursor([])
    cells = np.array([frame.cell for frame in cursor])
    assert np.array_equal(cells, traj.read(atoms=[0]).cells)
    assert cursor.counts["bytes_read"] < 1024 * traj.n_frames
    assert cursor.counts["atoms_decoded"] == 0


def test_transformed_frames_equal_those_of_reading_at_once() -> None:
    """Also where frames depend on those before, and without atoms."""
    traj = tj.open(datafiles.TPR, datafiles.XTC)
    for made in (traj.whole().fit("name CA"), traj.nojump(), traj.repair("protein")):
        some = made.select("resid 1-3 or resid 3000")
        expected = some.read()
        cursor = some.cursor()
        for frame in [7, 2, 0, 1, 2, 3, 4, 5, 6, 9]:
            cursor.read(frame)
            assert cursor.positions is not None
            assert cursor.positions.tobytes() == expected.positions[frame].tobytes()
            assert np.array_equal(cursor.cell, expected.cells[frame])
    assert np.array_equal(traj.nojump().cursor([]).read(5).cell, traj.read([5], [0]).cells[0])


def test_kept_arrays_stay(traj: tj.Trajectory) -> None:
    """Arrays of a frame and views of them are not those of later frames."""
    with traj.cursor() as cursor:
        kept = [frame.positions for frame in cursor]
        views = [frame.positions[1:3, 0] for frame in cursor if frame.positions is not None]
    expected = traj.read().positions
    assert np.array_equal(np.array(kept), expected)
    assert np.array_equal(np.array(views), expected[:, 1:3, 0])


def test_out_receives_the_positions() -> None:
    """An array of the caller is filled, until the next frame; one of another shape is refused."""
    cursor = tj.open(*FILES["dcd"]).cursor([1, 2])
    out = np.zeros((2, 3), np.float32)
    assert cursor.read(3, out).positions is out
    before = out.copy()
    assert out.any()
    assert not np.array_equal(cursor.read(4).positions, before)
    assert np.array_equal(out, before)
    for wrong in (np.zeros((3, 3), np.float32), np.zeros((2, 3), np.float32).T):
        with raises(ValueError):
            cursor.read(3, wrong)
    with raises(tj.FrameError):
        cursor.read(98)
    cursor.close()
    with raises(ValueError):
        cursor.read(0)


def test_cursors_without_fields_read_times(capfd: pytest.CaptureFixture[str]) -> None:
    """No thread reads ahead what nobody asked for, so that none can fail."""
    traj = tj.open(*FILES["dcd"])
    cursor = traj.cursor([1, 2], positions=False)
    assert [frame.time for frame in cursor] == traj.times.tolist()
    assert cursor.counts["frames_ahead"] == 0
    assert capfd.readouterr().err == ""


def test_threads_that_share_a_cursor_are_an_error() -> None:
    """Two threads must not read frames at the same time; the error says what to do."""
    cursor = tj.open(*FILES["dcd"]).cursor()
    stop = threading.Event()
    raised: list[BaseException] = []

    def use() -> None:
        while not stop.is_set():
            try:
                for frame in range(0, 98, 7):
                    cursor.read(frame)
            except RuntimeError as error:
                raised.append(error)
                stop.set()

    users = [threading.Thread(target=use) for _ in range(3)]
    for user in users:
        user.start()
    stop.wait(60)
    stop.set()
    for user in users:
        user.join()
    assert "another thread" in str(raised[0])


def test_a_damaged_frame_is_an_error_when_it_is_asked_for(tmp_path: Path) -> None:
    """Frames before and after it are read, although it was met while reading ahead."""
    x = np.random.default_rng(2).uniform(0, 3, (40, 20, 3))
    path = xtc_bytes.write_xtc(tmp_path / "damaged.xtc", x)
    traj = tj.open(None, path)
    expected = traj.read().positions
    offsets = traj.source.reader.offsets()
    content = bytearray(path.read_bytes())
    content[int(offsets[25]) : int(offsets[25]) + 4] = b"\0\0\0\0"
    path.write_bytes(content)
    cursor = traj.cursor()
    for frame in range(40):
        if frame == 25:
            with raises(tj.TrajetError):
                cursor.read(frame)
        else:
            assert np.array_equal(cursor.read(frame).positions, expected[frame])


def _child(cursor: tj.Cursor, frames: range, done: "multiprocessing.Queue[float]") -> None:
    done.put(float(sum(float(np.sum(cursor.read(frame).positions)) for frame in frames)))


def test_a_forked_process_reads_on_its_own() -> None:
    """The thread that reads ahead is the parent's; parent and child read the same numbers."""
    cursor = tj.open(*FILES["dcd"]).cursor()
    for frame in range(20):
        cursor.read(frame)
    fork = multiprocessing.get_context("fork")
    done: multiprocessing.Queue[float] = fork.Queue()
    child = fork.Process(target=_child, args=(cursor, range(20, 60), done))
    child.start()
    found = done.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    own = sum(float(np.sum(cursor.read(frame).positions)) for frame in range(20, 60))
    assert found == own


def test_threads_end_with_their_cursors() -> None:
    """Closing a cursor, or dropping it, leaves no thread behind; threads may share a cursor."""
    traj = tj.open(*FILES["dcd"])

    def n_ahead() -> int:
        names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
        return names.count("trajet-ahead")

    # Cursors of other tests, which only the garbage collector finds.
    gc.collect()
    before = n_ahead()
    cursors = [traj.cursor() for _ in range(3)]
    for cursor in cursors:
        for frame in range(10):
            cursor.read(frame)
    # A thread gets its name after it has begun.
    wait_until(lambda: n_ahead() == before + 3)
    cursors[0].close()
    assert n_ahead() == before + 2
    del cursor, cursors
    assert n_ahead() == before
    shared = traj.cursor([5])
    expected = traj.read(atoms=[5]).positions
    wrong: list[int] = []

    def use(frames: range) -> None:
        out = np.empty((1, 3), np.float32)
        native = shared._native
        for frame in frames:
            native.read(frame, out)
            if not np.array_equal(out, expected[frame]):
                wrong.append(frame)

    users = [threading.Thread(target=use, args=(range(k, 98, 3),)) for k in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert wrong == []
