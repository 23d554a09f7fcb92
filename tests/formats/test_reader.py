"""Arguments and errors of reading, and made XTC; test_formats.py has the laws of every format."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import MDAnalysis as mda
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk, Truth, all_of, assert_same, read_with_mdanalysis
from helpers.made_coordinates import MADE, Made
from helpers.messages import raises
from trajet.trajectory import array_pool

TRICLINIC = np.array([[3.1, 0, 0], [0.4, 2.9, 0], [-0.7, 0.9, 3.3]], np.float32)


def test_out_is_validated(adk: Adk, adk_truth: Truth) -> None:
    """An `out` of other shape, type or layout is refused and left unchanged."""
    traj = tj.open(None, adk.xtc)
    shape = (4, traj.n_atoms, 3)
    read_only = np.zeros(shape, np.float32)
    read_only.flags.writeable = False
    wrong = [
        np.zeros((5, traj.n_atoms, 3), np.float32),
        np.zeros((4, traj.n_atoms - 1, 3), np.float32),
        np.zeros((4, traj.n_atoms * 3), np.float32),
        np.zeros(shape, np.float64),
        np.zeros(shape, np.int32),
        np.zeros(shape, ">f4"),
        np.zeros(shape, np.float32, order="F"),
        np.zeros((8, traj.n_atoms, 3), np.float32)[::2],
        read_only,
    ]
    for out in wrong:
        with pytest.raises(ValueError):
            traj.read(frames=slice(0, 4), out=out)
        assert not out.any()
    out = np.zeros(shape, np.float32)
    traj.read(frames=slice(0, 4), out=out)
    assert np.array_equal(out, adk_truth.positions[:4])


def test_kept_views_of_blocks_stay(adk: Adk, adk_truth: Truth) -> None:
    """A view of one frame keeps the array of its block; a missing frame is refused."""
    traj = tj.open(None, adk.xtc)
    views = [block.positions[-1, ::2] for block in traj.blocks(10)]
    buffers = [memoryview(block.positions) for block in traj.blocks(10)]
    last = [*range(9, 98, 10), 97]
    assert all(map(np.array_equal, views, adk_truth.positions[last, ::2]))
    assert np.array_equal(np.concatenate([np.asarray(one) for one in buffers]), adk_truth.positions)
    with pytest.raises(tj.FrameError):
        list(traj.blocks(10, frames=[0, 98]))
    with pytest.raises(ValueError):
        list(traj.blocks(0))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays that loops over frames make."""
    shapes: list[tuple[int, ...]] = []

    class Recording:
        @staticmethod
        def empty(shape: tuple[int, ...], dtype: type) -> np.ndarray:
            shapes.append(shape)
            return np.empty(shape, dtype)

        float32 = np.float32

    monkeypatch.setattr(array_pool, "np", Recording)
    return shapes


def test_loops_that_keep_no_array_make_two(adk: Adk, made: list[tuple[int, ...]]) -> None:
    """The variable of the loop holds one array while the next frames are read into the other."""
    traj = tj.open(None, adk.xtc)
    assert sum(len(block.positions) for block in traj.blocks(5)) == 98
    assert made == [(5, 3341, 3)] * 2
    del made[:]
    total = 0.0
    for block in traj.blocks(1):
        mean = block.positions.mean(axis=1)
        total += float(mean.sum())
    assert made == [(1, 3341, 3)] * 2
    del made[:]
    with traj.cursor() as cursor:
        for frame in cursor:
            total += float(frame.positions.sum())
    assert made == [(3341, 3)]
    del made[:]
    with traj.cursor() as cursor:
        for frame in cursor:
            positions = frame.positions
            total += float(positions.sum())
    assert made == [(3341, 3)] * 2


def test_simultaneous_iterations_are_independent(adk: Adk, adk_truth: Truth) -> None:
    """Iterations disturb neither each other nor reads between them."""
    traj = tj.open(None, adk.xtc, request_size=100_000)
    atoms = np.arange(adk_truth.n_atoms)
    pairs = zip(traj.blocks(7), traj.blocks(7, frames=slice(None, None, -1)), strict=True)
    for k, (forth, back) in enumerate(pairs):
        here = np.arange(98)[7 * k : 7 * k + 7]
        assert_same(traj.read(frames=[5]), adk_truth, np.array([5]), atoms)
        assert_same(forth, adk_truth, here, atoms)
        assert_same(back, adk_truth, 97 - here, atoms)


def test_blocks_read_by_many_threads_are_independent(adk: Adk, adk_truth: Truth) -> None:
    """Each thread gets its own frames, whichever memory is reused."""
    parts = tj.open(None, adk.xtc).source.reader.parts((0, 1, 98), None)
    out = np.empty_like(adk_truth.positions)
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda begin: parts.read(begin, out[begin : begin + 3]), range(0, 98, 3)))
    assert np.array_equal(out, adk_truth.positions)
    for begin in (98, 99, 2**64 - 1):
        with raises(ValueError):
            parts.read(begin, out[:1])


def test_reads_do_not_share_memory(adk: Adk) -> None:
    """read() without `out` returns a new array each time."""
    traj = tj.open(None, adk.xtc)
    first, second = traj.read(frames=[0]), traj.read(frames=[0])
    assert not np.shares_memory(first.positions, second.positions)


def test_selections_are_those_of_mdanalysis(adk: Adk) -> None:
    """They are evaluated on frame 0 and know their trajectory."""
    traj = tj.open(adk.psf, adk.xtc)
    universe = mda.Universe(str(adk.psf), traj.read(frames=[0]).positions)
    for text in (
        "name CA",
        "all",
        "protein and not name H*",
        "resid 30-59 and backbone",
        "prop x > 3.0",
        "around 6.0 resid 100",
        "index 17",
    ):
        selection = traj.select(text)
        assert selection.indices.dtype == np.int64
        assert np.array_equal(selection.indices, universe.select_atoms(text).indices)
        assert selection.n_atoms == len(selection.indices)
        assert selection.trajectory is traj


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.name)
def test_made_files_are_decoded(made: Made, tmp_path: Path) -> None:
    """Every branch of the encoder is decoded: magic 1995, 2023, and both in one file."""
    coordinates = made.coordinates()
    path = xtc_bytes.write_xtc(
        tmp_path / "made.xtc", coordinates, precision=made.precision, box=TRICLINIC
    )
    truth = read_with_mdanalysis(path, tmp_path)
    frames, atoms = all_of(truth)
    rng = np.random.default_rng(10)
    scattered = rng.integers(0, truth.n_atoms, size=9)
    old = xtc_bytes.pieces(path.read_bytes())
    new = [xtc_bytes.with_magic_2023(piece) for piece in old]
    files = {
        "1995.xtc": old,
        "2023.xtc": new,
        "mixed.xtc": [(old, new)[k % 2][k] for k in range(len(old))],
    }
    for name, parts in files.items():
        copy = tmp_path / name
        copy.write_bytes(b"".join(parts))
        traj = tj.open(None, copy)
        assert_same(traj.read(), truth, frames, atoms)
        assert_same(traj.read(frames=frames[::-1]), truth, frames[::-1], atoms)
        assert_same(traj.read(atoms=scattered), truth, frames, scattered)
        for atom in {0, truth.n_atoms // 3, truth.n_atoms // 2, truth.n_atoms - 1}:
            assert_same(traj.read(atoms=[atom]), truth, frames, np.array([atom]))


def test_precision_may_change_between_frames(tmp_path: Path) -> None:
    """Each frame is scaled by its own precision."""
    data = b""
    for k, precision in enumerate((1000.0, 10.0, 12345.0)):
        made = MADE[-1 - k].coordinates()[:, :10] % 5.0
        path = xtc_bytes.write_xtc(tmp_path / f"{k}.xtc", made, precision=precision)
        data += path.read_bytes()
    joined = tmp_path / "joined.xtc"
    joined.write_bytes(data)
    truth = read_with_mdanalysis(joined, tmp_path)
    assert truth.n_frames == 12
    assert_same(tj.open(None, joined).read(), truth, *all_of(truth))


def test_extreme_steps_and_times_are_read(tmp_path: Path) -> None:
    """They may be negative, huge, repeated or descending."""
    steps = [0, -1, 2**31 - 1, -(2**31), 5, 5]
    times = [0.0, -3.25, 3.4e38, 1e-45, 7.0, 7.0]
    x = np.zeros((6, 12, 3), np.float32)
    path = xtc_bytes.write_xtc(tmp_path / "odd.xtc", x, steps=steps, times=times)
    truth = read_with_mdanalysis(path, tmp_path)
    traj = tj.open(None, path)
    assert traj.steps.tolist() == steps
    assert np.array_equal(traj.times, np.array(times, np.float32).astype(np.float64))
    assert_same(traj.read(), truth, *all_of(truth))


def test_cells_equal_mdanalysis(tmp_path: Path) -> None:
    """Cells are lengths and angles as MDAnalysis computes them; a missing cell is NaN."""
    boxes = [
        np.zeros((3, 3)),
        np.diag([3.0, 4.0, 5.0]),
        TRICLINIC,
        np.array([[5.0, 0, 0], [0, 5.0, 0], [2.5, 2.5, 3.5355339]]),
        np.array([[6.0, 0, 0], [-2.0, 5.656854, 0], [-2.0, -2.828427, 4.898979]]),
        np.zeros((3, 3)),
    ]
    x = np.random.default_rng(11).uniform(0, 3, (1, 15, 3))
    data = b""
    for k, box in enumerate(boxes):
        data += xtc_bytes.write_xtc(tmp_path / f"{k}.xtc", x, box=box).read_bytes()
    path = tmp_path / "cells.xtc"
    path.write_bytes(data)
    truth = read_with_mdanalysis(path, tmp_path)
    assert np.isnan(truth.cells).all(axis=1).tolist() == [True, False, False, False, False, True]
    assert_same(tj.open(None, path).read(), truth, *all_of(truth))


def test_atom_count_that_changes_is_refused(tmp_path: Path) -> None:
    """The error names the frame with both counts."""
    rng = np.random.default_rng(12)
    for first, second in ((137, 149), (149, 137), (5, 7), (7, 131)):
        head = xtc_bytes.write_xtc(tmp_path / "head.xtc", rng.uniform(0, 3, (2, first, 3)))
        tail = xtc_bytes.write_xtc(tmp_path / "tail.xtc", rng.uniform(0, 3, (1, second, 3)))
        path = tmp_path / f"{first}-{second}.xtc"
        path.write_bytes(head.read_bytes() + tail.read_bytes())
        with raises(tj.FormatError):
            tj.open(None, path)


def test_two_counts_of_one_frame_must_agree(tmp_path: Path) -> None:
    """The atom count is stored twice in a frame; a contradiction is refused."""
    x = np.random.default_rng(13).uniform(0, 3, (3, 20, 3))
    data = xtc_bytes.write_xtc(tmp_path / "made.xtc", x).read_bytes()
    for frame in xtc_bytes.walk(data):
        for count in (19, 21, 9, 0, -1):
            path = tmp_path / "broken.xtc"
            path.write_bytes(
                xtc_bytes.with_field(data, frame.start + xtc_bytes.NATOMS_AGAIN, count)
            )
            with pytest.raises(tj.FormatError):
                tj.open(None, path, sidecar=False).read()


def test_wrong_files_are_errors(tmp_path: Path) -> None:
    """Missing, folder, empty, foreign: each has the exception that Python has for it."""
    missing = tmp_path / "missing.xtc"
    with raises(FileNotFoundError) as caught:
        tj.open(None, missing)
    assert type(caught.value) is FileNotFoundError
    with raises(IsADirectoryError):
        tj.open(None, tmp_path)
    empty = tmp_path / "empty.xtc"
    empty.touch()
    for tail in (False, True):
        with raises(tj.FormatError):
            tj.open(None, empty, allow_truncated_tail=tail)
    text = tmp_path / "text.xtc"
    text.write_text("This is not a trajectory, however long it may be.\n" * 100)
    with raises(tj.FormatError):
        tj.open(None, text)
    pipe = tmp_path / "pipe.xtc"
    os.mkfifo(pipe)
    for device in (pipe, Path(os.devnull)):
        with raises((tj.TrajetError, OSError)):
            tj.open(None, device)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.xtc", "pipe.xtc", "text.xtc"]


def test_exceptions_are_related() -> None:
    """Each error is a TrajetError, and the builtin that Python users expect."""
    for error, builtin in (
        (tj.FormatError, ValueError),
        (tj.TruncatedError, tj.FormatError),
        (tj.SelectionError, ValueError),
        (tj.FrameError, IndexError),
        (tj.OutputError, OSError),
    ):
        assert issubclass(error, tj.TrajetError)
        assert issubclass(error, builtin)
    assert not issubclass(tj.TrajetError, OSError)


def test_invalid_selections_are_errors(adk: Adk) -> None:
    """The message names a selection without atoms, or one that cannot be parsed."""
    traj = tj.open(adk.psf, adk.xtc)
    unusable = ("nonsense of a selection", "name CA and (", "resid 1-")
    for text in ("name NOSUCHATOM", "resid 99999", *unusable):
        with raises(tj.SelectionError):
            traj.select(text)
    with pytest.raises(tj.SelectionError):
        traj.select([])
    with pytest.raises(tj.SelectionError):
        tj.open(None, adk.xtc).select("name CA")


def test_topology_of_another_system_is_refused(adk: Adk, tmp_path: Path) -> None:
    """The error names the number of atoms of both."""
    other = xtc_bytes.write_xtc(tmp_path / "other.xtc", np.zeros((1, 333, 3)))
    with raises(tj.SelectionError):
        tj.open(adk.psf, other).select("name CA")


def test_threads_read_the_same(adk: Adk) -> None:
    """Their number is given, or chosen by the amount of data."""
    traj = tj.open(None, adk.xtc)
    frames = np.resize(np.arange(97, -1, -3), 600)
    one = traj.read(frames=frames, threads=1)
    assert one.positions.nbytes > tj.trajectory.MUCH_BYTES
    for threads in (None, 3, 700):
        many = traj.read(frames=frames, threads=threads)
        np.testing.assert_array_equal(many.positions, one.positions)
        np.testing.assert_array_equal(many.times, one.times)
        np.testing.assert_array_equal(many.cells, one.cells)
    with raises(ValueError):
        traj.read(threads=0)
