"""Written HDF5 trajectories are read back, by us and by MDAnalysis."""

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers import xtc_bytes
from helpers.golden_files import Adk, same_bits
from helpers.h5md_copies import write_h5md_copy
from helpers.made_files import mixed_trr, random_vectors
from helpers.made_hdf5 import truth_of, write_h5md
from helpers.messages import raises
from MDAnalysisTests import datafiles
from trajet import h5md
from trajet.h5md import direct_chunks, writing
from trajet.h5md.elements import default_chunk

BOTH: dict[str, Any] = {"velocities": True, "forces": True}
# Of eight equal files of 98 frames, so that steps do not go back: several batches.
EIGHT: dict[str, Any] = {"frames": np.arange(8 * 98).reshape(8, 98).T.ravel()}


@pytest.fixture(scope="module")
def full() -> tj.Trajectory:
    """Return positions, velocities, forces and cells."""
    return tj.open(None, datafiles.TRR_sub_sol, sidecar=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the output."""
    return tmp_path / "written.h5md"


def running_threads() -> list[str]:
    """Return the names of our threads that still run."""
    return [t.name for t in threading.enumerate() if t.name.startswith("trajet")]


@pytest.mark.parametrize("compression", [None, 1, 5, 9])
@pytest.mark.parametrize("chunk", [None, (1, 2000), (2, 100_000), (100, 3)])
def test_written_values_are_read_back(
    full: tj.Trajectory, path: Path, chunk: tuple[int, int] | None, compression: int | None
) -> None:
    """Every number is read back, in chunks of any shape, compressed or not."""
    atoms = np.arange(0, full.n_atoms, 17 if chunk is None or chunk[1] > 3 else 211)
    write_h5md_copy(path, full, atoms=atoms, chunk=chunk, compression=compression, **BOTH)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    want = full.read(atoms=atoms, **BOTH)
    got = tj.open(None, path).read(**BOTH)
    truth = truth_of(path)
    for name in ("positions", "velocities", "forces"):
        assert same_bits(getattr(got, name), getattr(want, name))
        assert same_bits(getattr(truth, name), getattr(want, name))
    assert same_bits(got.times, want.times)
    assert np.array_equal(got.steps, want.steps)
    assert np.allclose(got.cells, want.cells, rtol=1e-12)
    assert np.array_equal(truth.times, want.times)
    assert np.array_equal(truth.steps, want.steps)
    assert np.allclose(truth.cells, want.cells, rtol=2**-22)


def test_tables_have_the_published_layout(full: tj.Trajectory, path: Path) -> None:
    """Names, types and attributes of the tables are those of the specification."""
    write_h5md_copy(
        path, full, frames=[0, 2], atoms=[5, 1], chunk=(3, 2), compression=3, author="Ada"
    )
    with h5py.File(path) as file:
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert file["h5md/author"].attrs["name"] == "Ada"
        assert file["h5md/creator"].attrs["name"] == "trajet"
        assert file["h5md/creator"].attrs["version"] == tj.__version__
        group = file["particles/trajectory"]
        value = group["position/value"]
        assert (value.shape, value.maxshape, value.dtype) == ((2, 2, 3), (None, 2, 3), "<f4")
        assert (value.chunks, value.compression, value.shuffle) == ((3, 2, 3), "gzip", True)
        assert (value.compression_opts, value.attrs["unit"]) == (3, "Angstrom")
        assert group["box"].attrs["dimension"] == 3
        assert group["box"].attrs["boundary"].tolist() == ["periodic"] * 3
        edges = group["box/edges"]
        assert (edges["value"].shape, edges["value"].attrs["unit"]) == ((2, 3, 3), "Angstrom")
        # The specification requires one dataset with several names.
        for name in ("step", "time"):
            assert edges[name] == group[f"position/{name}"]
        assert group["position/time"].attrs["unit"] == "ps"
        assert "velocity" not in group


@pytest.mark.parametrize(
    ("n_atoms", "n_frames", "chunk"),
    [
        (1, 10, (10, 1)),
        (500, 98, (10, 500)),
        (500, 3, (3, 500)),
        (3341, 98, (1, 3341)),
        (21_845, 1000, (1, 21_845)),
        (21_846, 1000, (1, 10_923)),
        (1_000_000, 5, (1, 21_740)),
    ],
)
def test_default_chunks_have_bounded_sizes(
    n_atoms: int, n_frames: int, chunk: tuple[int, int]
) -> None:
    """They hold several frames up to 64 KiB, one up to 256 KiB, equal parts of larger ones."""
    assert default_chunk(n_atoms, n_frames) == chunk
    assert 12 * chunk[0] * chunk[1] <= 2**18


def test_any_frames_and_atoms_are_written(adk: Adk, path: Path) -> None:
    """They are chosen as in read(), in ascending order."""
    traj = tj.open(adk.psf, adk.xtc)
    for frames, atoms in ((slice(3, 90, 7), "name CA"), ([0, 1, 1, 5], [7, 7, 3]), (None, None)):
        write_h5md_copy(path, traj, frames=frames, atoms=atoms, compression=2, chunk=(4, 1000))
        chosen = None if atoms is None else traj.select(atoms).indices
        want = traj.read(frames=frames, atoms=chosen)
        got = tj.open(None, path).read()
        assert same_bits(got.positions, want.positions)
        assert same_bits(got.times, want.times)
        assert np.isnan(got.cells).all()
        with h5py.File(path) as file:
            assert file["particles/trajectory/box"].attrs["boundary"].tolist() == ["none"] * 3


@pytest.mark.parametrize(
    "options",
    [{"compression": 1, "chunk": (3, 800)}, {"chunk": (3, 800)}, {"chunk": (3, 3341)}, {}],
)
def test_threads_change_no_byte(adk: Adk, path: Path, options: dict[str, Any]) -> None:
    """One thread and seven read ahead, in batches that overwrite each other."""
    traj = tj.open(adk.psf, *[adk.xtc] * 8)
    want = traj.read(**EIGHT).positions
    written = set()
    for threads in (1, 2, 7):
        write_h5md_copy(path, traj, **EIGHT, threads=threads, **options)
        written.add(path.read_bytes())
        with h5py.File(path) as file:
            assert same_bits(file["particles/trajectory/position/value"][()], want)
    assert len(written) == 1


def test_threads_take_small_tasks_and_write_long_pieces(
    adk: Adk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of threads does not matter; if chunks divide frames, HDF5 writes whole chunks."""
    traj = tj.open(adk.psf, *[adk.xtc] * 8)
    read, write = writing.Content.read, direct_chunks.write_at
    frames: list[int] = []
    pieces: list[int] = []

    def noted(self: Any, name: str, numbers: Any, *more: Any) -> Any:
        frames.append(len(numbers))
        return read(self, name, numbers, *more)

    def counted(file: int, at: int, held: Any) -> None:
        pieces.append(len(held))
        write(file, at, held)

    monkeypatch.setattr(writing.Content, "read", noted)
    monkeypatch.setattr(direct_chunks, "write_at", counted)
    for chunk, most in (((1, 3341), 70), ((4, 3341), 70), ((1, 1000), 4 * 784), ((50, 100), 0)):
        frames.clear()
        pieces.clear()
        write_h5md_copy(path, traj, **EIGHT, threads=64, chunk=chunk)
        assert sum(frames) == 784
        assert len(pieces) <= most
        if most:
            assert max(frames) * 12 * 3341 <= 2**21
            assert sum(pieces) == 784 * 12 * 3341
        assert same_bits(
            tj.open(None, path).read(frames=[783]).positions, traj.read(frames=[783]).positions
        )


def test_incompressible_chunks_are_stored_as_they_are(path: Path, tmp_path: Path) -> None:
    """All readers know that they are not compressed."""
    bits = np.random.default_rng(1).integers(0, 2**32, (7, 900, 3), dtype=np.uint32)
    floats = np.where((bits >> 23) & 0xFF == 0xFF, np.uint32(0), bits).view(np.float32)
    source = write_h5md(tmp_path / "noise.h5md", floats, unit="Angstrom")
    write_h5md_copy(path, tj.open(None, source), compression=9, chunk=(2, 500))
    chunks: list[Any] = []
    with h5py.File(path) as file:
        file["particles/trajectory/position/value"].id.chunk_iter(chunks.append)
    assert {chunk.filter_mask for chunk in chunks} >= {2}
    assert all(chunk.size <= 2 * 500 * 12 for chunk in chunks)
    assert same_bits(tj.open(None, path).read().positions, floats)
    assert same_bits(truth_of(path).positions, floats)


def test_vectors_of_some_frames_have_steps_of_their_own(path: Path, tmp_path: Path) -> None:
    """They are NaN in the other frames."""
    mixed = tj.open(None, mixed_trr(tmp_path / "mixed.trr"))
    frames = np.flatnonzero(~np.isnan(mixed.read().positions[:, 0, 0]))
    write_h5md_copy(path, mixed, frames=frames, compression=1, chunk=(2, 20), **BOTH)
    want, got = mixed.read(frames=frames, **BOTH), tj.open(None, path).read(**BOTH)
    for name in ("positions", "velocities", "forces"):
        assert same_bits(getattr(got, name), getattr(want, name))
    assert np.array_equal(np.isnan(got.cells), np.isnan(want.cells))
    assert np.allclose(got.cells, want.cells, rtol=1e-12, equal_nan=True)
    with raises(tj.FormatError):
        write_h5md_copy(path, mixed)
    adk = tj.open(None, datafiles.XTC, sidecar=False)
    with raises(tj.FormatError):
        write_h5md_copy(path, adk, velocities=True)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name[0] != ".") == [
        "mixed.trr",
        "written.h5md",
    ]


def test_turned_boxes_keep_their_vectors(path: Path, tmp_path: Path) -> None:
    """Box vectors are not rotated to the usual orientation."""
    edges = np.tile(np.eye(3) * 4, (4, 1, 1))
    edges[2] = [[0, 4, 0], [5, 0, 0], [0, 0, 6]]
    source = write_h5md(tmp_path / "turned.h5md", random_vectors(4, 6), edges=edges)
    write_h5md_copy(path, tj.open(None, source))
    with h5py.File(path) as file:
        assert np.array_equal(file["particles/trajectory/box/edges/value"][()], edges * 10)


def test_invalid_outputs_are_errors(adk: Adk, path: Path) -> None:
    """These are meaningless options, descending steps, and paths that cannot be written."""
    traj = tj.open(adk.psf, adk.xtc)
    for options in (
        {"compression": 0},
        {"compression": 10},
        {"threads": 0},
        {"chunk": (0, 5)},
        {"chunk": (1000, 10**6)},
        {"frames": []},
        {"atoms": []},
        {"frames": slice(None, None, -1)},
    ):
        with raises((ValueError, tj.OutputError)):
            write_h5md_copy(path, traj, **options)
    with raises(ValueError):
        tj.convert(traj, path.with_suffix(".txt"))
    with raises(tj.OutputError):
        tj.convert(traj, path.parent / "none" / "a.h5md")
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupted_writing_leaves_the_old_file(adk: Adk, path: Path, threads: int) -> None:
    """Any exception leaves the file that was there before."""
    traj = tj.open(adk.psf, *[adk.xtc] * 10)
    numbers = np.zeros(980, np.int64)
    path.write_text("precious")
    seen = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_h5md_copy(path, traj, frames=numbers, threads=threads, progress=stop)
    assert running_threads() == []
    assert 0 < seen[0][0] < seen[1][0] < 980
    assert path.read_text() == "precious"
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    write_h5md_copy(path, traj, frames=numbers, threads=threads, progress=lambda *n: seen.append(n))
    assert seen[-1] == (980, 980)
    want = traj.read(frames=[0]).positions
    assert same_bits(tj.open(None, path).read(frames=[979]).positions, want)


@pytest.mark.parametrize("threads", [1, 3])
def test_errors_of_frames_read_ahead_leave_no_file(adk: Adk, path: Path, threads: int) -> None:
    """The damaged frame is named, and frames written before it are removed."""
    data = bytearray(adk.xtc.read_bytes())
    last = len(data) - len(xtc_bytes.pieces(bytes(data))[-1])
    damaged = path.with_name("damaged.xtc")
    damaged.write_bytes(data)
    traj = tj.open(None, *[adk.xtc] * 7, damaged, sidecar=False)
    data[last + xtc_bytes.SMALLIDX] = 77
    damaged.write_bytes(data)
    seen: list[int] = []
    with raises(tj.FormatError):
        write_h5md_copy(path, traj, **EIGHT, threads=threads, progress=lambda n, _: seen.append(n))
    assert 0 < seen[-1] < 8 * 98
    assert running_threads() == []
    assert list(path.parent.iterdir()) == [damaged]


def test_failed_sync_leaves_no_file(adk: Adk, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system reports the error once, to any caller; the file must not get its name."""
    failed: list[str] = []

    def sync(_: int) -> None:
        if not failed:
            failed.append(threading.current_thread().name)
            raise OSError(errno.EIO, "no disk")

    monkeypatch.setattr(os, "fsync", sync)
    traj = tj.open(adk.psf, adk.xtc)
    with raises(tj.OutputError):
        write_h5md_copy(path, traj, frames=np.zeros(980, np.int64))
    assert failed[0].startswith("trajet-sync")
    assert list(path.parent.iterdir()) == []


def test_unreadable_piece_is_named(path: Path, tmp_path: Path) -> None:
    """The error does not name the joined file, which does not exist then."""
    traj, numbers = tj.open(None, datafiles.XTC, sidecar=False), np.arange(10)
    content = h5md.Content(traj.source.reader, np.arange(500), chunk=(2, 500))
    folder = tmp_path / "parts"
    folder.mkdir()
    parts = [(folder / f"{k}.h5md", 4 if k < 2 else 2) for k in range(3)]

    def join(damage: Callable[[Path], object]) -> None:
        for (part, n_frames), begin in zip(parts, (0, 4, 8), strict=True):
            some = slice(begin, begin + n_frames)
            write_h5md_copy(part, traj, frames=some, atoms=range(500), chunk=(2, 500))
        damage(parts[1][0])
        h5md.join(path, parts, numbers, content, force=False, progress=None)

    def lose_a_chunk(part: Path) -> None:
        with h5py.File(part) as file:
            chunk = file["particles/trajectory/position/value"].id.get_chunk_info(1)
        os.truncate(part, chunk.byte_offset + 100)

    def other(part: Path) -> None:
        write_h5md_copy(part, traj, frames=[4, 5], atoms=range(500), chunk=(2, 500))

    for damage in (Path.unlink, lambda part: part.write_bytes(b"no HDF5"), lose_a_chunk, other):
        with raises(tj.OutputError):
            join(damage)
        assert sorted(tmp_path.iterdir()) == [folder]
    join(lambda _: None)
    assert same_bits(tj.open(None, path).read().positions, traj.read(atoms=range(500)).positions)
    assert list(folder.iterdir()) == []
