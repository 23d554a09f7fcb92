"""HDF5 on ranks of MPI, but for what wants an h5py that knows MPI (tests/mpio)."""

import re
import subprocess
import sys
import threading
from collections import defaultdict
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk, same_bits
from helpers.made_files import MADE
from helpers.made_hdf5 import tables_of, write_h5md
from helpers.started_ranks import assert_written_alike, run_on_ranks
from helpers.thread_ranks import ThreadRank, on_ranks
from hypothesis import given
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet import h5md
from trajet.h5md import mpio, parallel_writing
from trajet.h5md.library import parallel_h5py

BOTH: dict[str, Any] = {"velocities": True, "forces": True}


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 20), st.integers(0, 100))
def test_shares(n_frames: int, n_ranks: int, unit: int, more: int) -> None:
    """Every frame once, in order; whole chunks; as many calls on every rank; even shares."""
    plan = h5md.shares(n_frames, n_ranks, unit=unit, call=unit + more)
    assert len(plan) == n_ranks
    assert list(chain(*chain(*plan))) == list(range(n_frames))
    assert len({len(calls) for calls in plan}) == 1
    calls = list(chain(*plan))
    assert all(len(call) <= unit + more for call in calls)
    assert all(call.start % unit == 0 for call in calls if call)
    for own in plan:
        # Empty ones come last.
        assert all(after == range(0) or before for before, after in pairwise(own))
    units = [sum(-(-len(call) // unit) for call in calls) for calls in plan]
    assert max(units) - min(units) <= 1


@given(st.sets(st.integers(0, 400), min_size=1), st.integers(0, 50))
def test_atom_ranges(atoms: set[int], gap: int) -> None:
    """All wanted atoms are read, no long gap between them is, and stretches ascend."""
    wanted = np.array(sorted(atoms))
    spans = mpio.atom_ranges(wanted, gap)
    read = list(chain(*(range(*span) for span in spans)))
    assert read == sorted(set(read))
    assert atoms <= set(read)
    assert all(begin in atoms and end - 1 in atoms for begin, end in spans)
    assert all(later[0] - before[1] > gap for before, later in pairwise(spans))


@given(st.one_of(st.sets(st.integers(0, 99)), st.slices(99).map(lambda s: set(range(99)[s]))))
def test_strides(rows: set[int]) -> None:
    """The same rows, and one selection where their distances are equal."""
    wanted = np.array(sorted(rows), np.int64)
    found = mpio.strides(wanted)
    assert list(chain(*(range(a, a + step * n, step) for a, step, n in found))) == sorted(rows)
    assert len(found) <= 1 or len(set(np.diff(wanted))) > 1


def test_an_error_of_one_is_met_by_all() -> None:
    """That of the lowest rank; nobody goes on."""
    went_on = []

    def work(comm: ThreadRank) -> None:
        with h5md.raise_on_all(comm):
            if comm.rank in (1, 3):
                raise tj.FormatError(f"of rank {comm.rank}")
        went_on.append(comm.rank)

    errors = on_ranks(4, work)
    assert [str(error) for error in errors] == ["of rank 1"] * 4
    assert {type(error) for error in errors} == {tj.FormatError}
    assert went_on == []


def test_errors_that_cannot_be_sent() -> None:
    """Their words arrive."""

    class Local(Exception):
        pass

    def work(comm: ThreadRank) -> None:
        with h5md.raise_on_all(comm):
            raise Local("odd")

    for error in on_ranks(2, work):
        assert isinstance(error, tj.TrajetError)
        assert "Local: odd" in str(error)


def write_together(
    comm: ThreadRank,
    path: Path,
    source: Path,
    *,
    frames: Any = None,
    threads: int | None = None,
    progress: Any = None,
    **options: Any,
) -> None:
    """Write a file on one of the ranks."""
    if comm.rank:
        h5md.join_writing(comm)
        return
    traj = tj.open(None, source, sidecar=False)
    content = h5md.Content(traj.reader, options.pop("atoms", None), **options)
    numbers = traj.frame_numbers(frames)
    h5md.write_together(path, numbers, content, comm, threads=threads, progress=progress)


def written_together(
    path: Path, source: Path, size: int, **options: Any
) -> list[BaseException | None]:
    """Write a file on ranks that are threads."""
    return on_ranks(size, lambda comm: write_together(comm, path, source, **options))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": 2, "threads": 2},
        {"compression": 1, "chunk": (3, 700), "threads": 1},
        {"chunk": (1, 1000), "atoms": np.arange(5, 3000, 2)},
        {"frames": np.arange(1, 98, 3), "compression": 5, "chunk": (40, 4000)},
    ],
)
def test_together_as_alone(adk: Adk, tmp_path: Path, size: int, options: dict[str, Any]) -> None:
    """Every value, attribute and chunk is that of one process, also where ranks have no frame."""
    alone, path = tmp_path / "alone.h5md", tmp_path / "together.h5md"
    h5md.write(alone, tj.open(None, adk.xtc, sidecar=False), **options)
    assert written_together(path, adk.xtc, size, **options) == [None] * size
    assert tables_of(path) == tables_of(alone)
    assert sorted(p.name for p in tmp_path.iterdir()) == [alone.name, path.name]
    with h5py.File(path) as file:
        assert file["particles/trajectory/position/value"].id.get_num_chunks() > 0
    want, got = tj.open(None, alone).read(), tj.open(None, path).read()
    assert same_bits(got.positions, want.positions)


def test_all_vectors_together(tmp_path: Path) -> None:
    """Velocities, forces and boxes are written too; frames without are refused by number."""
    alone, path = tmp_path / "alone.h5md", tmp_path / "together.h5md"
    source = Path(datafiles.TRR_sub_sol)
    h5md.write(alone, tj.open(None, source, sidecar=False), compression=1, **BOTH)
    assert written_together(path, source, 3, compression=1, **BOTH) == [None] * 3
    assert "particles/trajectory/box/edges/value" in tables_of(path)
    assert tables_of(path) == tables_of(alone)
    mixed = MADE["made_mixed.trr"](tmp_path / "mixed.trr")
    positions = tj.open(None, mixed, sidecar=False).read().positions
    frames = np.flatnonzero(~np.isnan(positions[:, 0, 0]))
    errors = written_together(path, mixed, 2, frames=frames, velocities=True)
    assert len({str(error) for error in errors}) == 1
    assert re.search(r"frames? \d.* ha(s|ve) no velocities: choose", str(errors[0]))
    assert tables_of(path) == tables_of(alone)


def test_numbers_that_are_zero_or_cannot_be_packed(tmp_path: Path) -> None:
    """Chunks of zeros stand in the file like others, and so do such as would grow."""
    bits = np.random.default_rng(1).integers(0, 2**32, (20, 900, 3), dtype=np.uint32)
    floats = np.where((bits >> 23) & 0xFF == 0xFF, np.uint32(0), bits).view(np.float32)
    floats[3:9] = 0
    floats[17:] = 0
    source = write_h5md(tmp_path / "source.h5md", floats, unit="Angstrom")
    for compression in (None, 9):
        path = tmp_path / "together.h5md"
        options = {"compression": compression, "chunk": (2, 500)}
        assert written_together(path, source, 4, **options) == [None] * 4
        assert same_bits(tj.open(None, path).read().positions, floats)


def test_no_two_ranks_write_to_a_page(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither chunks nor tables: some file systems write whole pages."""
    write = parallel_writing.write_at
    pages: dict[int, set[int]] = defaultdict(set)

    def note(file: int, at: int, held: Any) -> None:
        pages[threading.get_ident()].update(range(at // 4096, (at + len(held) - 1) // 4096 + 1))
        write(file, at, held)

    monkeypatch.setattr(parallel_writing, "write_at", note)
    path = tmp_path / "together.h5md"
    assert written_together(path, adk.xtc, 3, compression=1, chunk=(1, 100)) == [None] * 3
    assert len(pages) == 3
    assert len(set.union(*pages.values())) == sum(map(len, pages.values()))


def failing_after(n: int) -> Any:
    """Return how tables are written to a disk that has no room after `n` writes."""
    write = parallel_writing._SparseFile.write
    calls = []

    def full(self: Any, data: Any) -> int:
        calls.append(len(data))
        if len(calls) > n and not self.given_up and np.frombuffer(data, np.uint8).any():
            raise OSError(28, "No space left on device")
        return write(self, data)

    return full


def test_a_rank_that_fails_ends_all(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad frame in the share of the last rank, a full disk: all raise it, and no file is left."""
    source = tmp_path / "bad.xtc"
    traj = tj.open(None, adk.xtc, sidecar=False)
    damaged = bytearray(adk.xtc.read_bytes())
    at = int(traj.reader.offsets()[95]) + 200
    damaged[at : at + 3000] = b"\xff" * 3000
    source.write_bytes(damaged)
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "together.h5md"
    path.write_text("precious")
    for error in written_together(path, source, 4):
        assert isinstance(error, tj.FormatError)
        assert "frame 95" in str(error)
    pwrite = parallel_writing.os.pwrite
    calls = []

    def full(file: int, held: Any, at: int) -> int:
        calls.append(at)
        if len(calls) > 40:
            raise OSError(28, "No space left on device")
        return pwrite(file, held, at)

    monkeypatch.setattr(parallel_writing.os, "pwrite", full)
    for error in written_together(path, adk.xtc, 4):
        assert isinstance(error, tj.OutputError)
        assert "No space left on device" in str(error)
    monkeypatch.undo()
    for failing in (1, 5):
        with monkeypatch.context() as context:
            context.setattr(parallel_writing._SparseFile, "write", failing_after(failing))
            for error in written_together(path, adk.xtc, 3, compression=1, chunk=(1, 50)):
                assert isinstance(error, tj.OutputError)
                assert "No space left on device" in str(error)
    errors = written_together(path, adk.xtc, 2, progress=lambda *_: {}["stop"])
    assert [type(error) for error in errors] == [KeyError] * 2
    assert path.read_text() == "precious"
    assert list(folder.iterdir()) == [path]


def test_a_file_that_changes_meanwhile(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another rank finds must be what rank 0 has opened."""
    source, path = tmp_path / "source.xtc", tmp_path / "out" / "together.h5md"
    source.write_bytes(adk.xtc.read_bytes())
    path.parent.mkdir()
    plain = parallel_writing._Lead.begin

    def begin(*arguments: Any) -> Any:
        told = plain(*arguments)
        source.write_bytes(adk.xtc.read_bytes()[:-4000])
        return told

    monkeypatch.setattr(parallel_writing._Lead, "begin", begin)
    for error in written_together(path, source, 2):
        assert isinstance(error, tj.StaleIndexError)
        assert "source.xtc" in str(error)
    assert list(path.parent.iterdir()) == []


def test_what_no_pool_writes(adk: Adk, tmp_path: Path) -> None:
    """It is refused, with what to do instead."""
    traj, pool = tj.open(None, adk.xtc, sidecar=False), tj.LocalPool()
    for name in ("a.xtc", "a.h5md"):
        with pytest.raises(ValueError, match="give threads instead"):
            tj.convert(traj, tmp_path / name, pool=pool)
    with pytest.raises(ValueError, match="give threads instead"):
        tj.split(traj, tmp_path / "parts", segments=2, pool=pool)
    assert list(tmp_path.iterdir()) == []


def test_h5py_without_mpi(adk: Adk, tmp_path: Path) -> None:
    """What is missing is said, with what to do; on all ranks."""
    path = write_h5md(tmp_path / "made.h5md", np.zeros((2, 5, 3), np.float32))
    with pytest.raises(tj.MissingPackageError, match=r"without MPI.*HDF5_MPI=ON.*parallel-hdf5"):
        parallel_h5py(str(path))
    for error in on_ranks(2, lambda comm: h5md.MpioFrames(path, comm)):
        assert isinstance(error, tj.MissingPackageError)
        assert str(path) in str(error)


def test_command_without_mpi4py(adk: Adk, tmp_path: Path) -> None:
    """The command says what is missing."""
    code = "import sys; sys.modules['mpi4py'] = None; import trajet.cli; trajet.cli.main()"
    target = tmp_path / "out.h5md"
    command = [sys.executable, "-c", code, "convert", str(adk.xtc), str(target), "--pool", "mpi"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "pip install 'trajet[mpi]'" in done.stderr
    assert not target.exists()


def test_chunks_of_old_libraries(tmp_path: Path) -> None:
    """HDF5 1.10 does not list chunks: they are asked for one by one, to the first missing one."""
    positions = np.random.default_rng(3).normal(size=(11, 53, 3)).astype(np.float32)
    layout = {"chunks": (2, 20, 2), "compression": 1, "maxshape": (None, 53, 3)}
    path = write_h5md(tmp_path / "made.h5md", positions, layout=layout)
    with h5py.File(path, "r+") as file:
        value = file["particles/trajectory/position/value"]
        value.resize(10**6, axis=0)
    listed = h5md.describe(path, allow_truncated_tail=True)["positions"]["storage"]["table"]
    asked = []

    class Old:
        def __init__(self, value: Any) -> None:
            self.shape, self.chunks, self.id = value.shape, value.chunks, self
            self._id = value.id

        def get_chunk_info_by_coord(self, at: tuple[int, ...]) -> Any:
            asked.append(at)
            return self._id.get_chunk_info_by_coord(at)

    with h5py.File(path) as file:
        table = h5md.tables.chunks(Old(file["particles/trajectory/position/value"]))
    assert sorted(table.tolist()) == sorted(listed.tolist())
    assert len(asked) == len(table) + 1


@pytest.mark.parametrize("options", [(), ("--compression", "2"), ("--select", "name CA")])
def test_command_on_ranks(adk: Adk, tmp_path: Path, options: tuple[str, ...]) -> None:
    """Every value, attribute and chunk is that of one process; one rank says so."""
    assert_written_alike(adk, tmp_path, options)


def test_one_line_says_what_is_wrong(adk: Adk, tmp_path: Path) -> None:
    """Not as many as there are ranks; and the code is 1."""
    out = tmp_path / "out.h5md"
    out.write_text("precious")
    for arguments, words in (
        ((adk.xtc, out), "is there already"),
        ((tmp_path / "none.xtc", tmp_path / "new.h5md"), "none.xtc"),
        ((adk.xtc, tmp_path / "no" / "new.dcd"), "there is no folder"),
    ):
        done = run_on_ranks(3, "-m", "trajet", "convert", *arguments, "--pool", "mpi", code=1)
        assert done.stderr.count("trajet: ") == 1
        assert words in done.stderr
    assert out.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]
