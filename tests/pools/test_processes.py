"""Pools of other processes of this machine give the results of one thread."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import IO

import numpy as np
import pytest
import trajet as tj
from helpers import pool_laws
from helpers.forked_processes import children
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.pools import shared
from trajet.pools.worker_processes import _widen


@pytest.mark.parametrize(
    ("workers", "threads", "task_frames"),
    [
        (3, 1, 7),
        pytest.param(1, 1, None, marks=pytest.mark.long),
        pytest.param(2, 2, 1, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("fork", [False, pytest.param(True, marks=pytest.mark.long)])
def test_bits_are_those_of_one_thread(
    thrice_adk: Adk, workers: int, threads: int, task_frames: int | None, fork: bool
) -> None:
    """Every analysis is compared, which other pools do in long tests alone."""
    pool = tj.ProcessPool(workers=workers, threads=threads, task_frames=task_frames, fork=fork)
    pool_laws.assert_same_bits(pool, tj.open(thrice_adk.psf, thrice_adk.xtc))


FORKED = tj.ProcessPool(workers=2, fork=True)


def test_forked_processes_give_the_bits_of_one_thread_and_end(long_adk: Adk) -> None:
    """They end with the run, also where it fails."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as known:
        assert known.pid in children()
        known.kill()
    before = children()
    pool = tj.ProcessPool(workers=3, task_frames=7, fork=True)
    traj = tj.open(long_adk.psf, long_adk.xtc)
    for name in ("rmsd, average", "apply"):
        pool_laws.assert_same_bits(pool, traj, [name])
        assert children() == before
    with pytest.raises(ZeroDivisionError) as raised:
        FORKED.map(lambda number: 1 // number, [2, 1, 0])
    assert raised.value.__notes__ == ["item 2 of map"]
    assert children() == before
    with raises(tj.TrajetError):
        FORKED.map(lambda _: os.kill(os.getpid(), signal.SIGKILL), [1, 2])
    assert children() == before


def test_forked_processes_end_after_their_parent_is_killed(tmp_path: Path) -> None:
    """Also while they compute."""
    script = f"""
import os, pathlib, time
import trajet as tj
def work(number):
    path = pathlib.Path({str(tmp_path)!r}, f"{{number}}.begun")
    path.write_text(str(os.getpid()))
    path.rename(path.with_suffix(".pid"))
    time.sleep(60)
tj.ProcessPool(workers=2, fork=True).map(work, range(2))
"""
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        while len(found := sorted(tmp_path.glob("*.pid"))) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    left = {int(path.read_text()) for path in found}
    end = time.monotonic() + 30
    while left and time.monotonic() < end:
        left = {process for process in left if Path("/proc", str(process), "exe").exists()}
        time.sleep(0.05)
    assert left == set()


def test_forked_processes_have_what_this_one_has_imported() -> None:
    """Other processes import it themselves; none is this process."""
    module = ModuleType("made_here")
    sys.modules[module.__name__] = module

    def seen(_: int) -> tuple[int, bool]:
        return os.getpid(), "made_here" in sys.modules

    try:
        found = FORKED.map(seen, range(8))
    finally:
        del sys.modules[module.__name__]
    assert {is_there for _, is_there in found} == {True}
    assert os.getpid() not in {process for process, _ in found}


def test_forked_processes_read_while_a_cursor_reads_ahead(long_adk: Adk) -> None:
    """They wait for no thread of this process, and neither does it for them."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    cursor = traj.cursor(traj.select("name CA").indices)
    known = traj.select("name CA").read().positions
    for frame in range(20):
        cursor.read(frame)
    path = long_adk.xtc

    def read(frame: int) -> bytes:
        own = tj.open(long_adk.psf, path)
        return own.cursor(own.select("name CA").indices).read(frame).positions.tobytes()

    numbers = range(0, 900, 100)
    assert FORKED.map(read, numbers) == [known[number].tobytes() for number in numbers]
    for frame in range(20, 40):
        assert cursor.read(frame).positions.tobytes() == known[frame].tobytes()


def test_workers_open_only_files_of_their_tasks(long_adk: Adk, tmp_path: Path) -> None:
    """Opens and requests are those of the tasks' own frames."""
    paths = pool_laws.segments(long_adk.xtc, tmp_path / "parts", 20)
    traj = tj.open(long_adk.psf, *paths)
    result = tj.rmsd(traj.select("name CA"), pool=tj.ProcessPool(workers=2))
    report = result.report
    assert len(report["workers"]) <= 2
    assert {worker["process"] for worker in report["workers"]}.isdisjoint({os.getpid()})
    # Each worker opens a file at most once, and reads its head and tail then.
    assert all(worker["opens"] <= 20 for worker in report["workers"])
    assert report["opens"] <= 20 + 2 * 20
    size = sum(path.stat().st_size for path in paths)
    most = size / 2**18 + 2 * len(report["tasks"]) + 2 * 2 * 20
    assert report["requests"] <= most


def test_error_of_a_worker_is_raised_in_the_caller(long_adk: Adk, tmp_path: Path) -> None:
    """It has its class and message."""
    broken = tmp_path / "broken.xtc"
    data = bytearray(long_adk.xtc.read_bytes())
    traj = tj.open(None, long_adk.xtc)
    offset = int(traj.source.reader.offsets()[500])
    data[offset + 100 : offset + 400] = bytes(300)
    broken.write_bytes(data)
    traj = tj.open(long_adk.psf, broken)
    with raises(tj.FormatError):
        tj.rmsd(traj.select("name CA"), pool=tj.ProcessPool(workers=2))


def test_dead_process_ends_the_run(long_adk: Adk) -> None:
    """The run ends soon, with an error that names the cause."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    atoms = traj.select("name CA")
    pool = tj.ProcessPool(workers=2, task_frames=1)
    here = os.getpid()

    def kill(_: np.ndarray) -> float:
        # One frame is computed here, which tells the shape.
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0.0

    with raises(tj.WorkerError):
        tj.apply(atoms, kill, pool=pool)
    # The next run has processes of its own.
    assert tj.rmsd(atoms, pool=pool).values.shape == (980,)


def test_process_killed_between_runs_is_replaced() -> None:
    """The run after it knows that it has ended."""
    pool = tj.ProcessPool(workers=1)
    (first,) = pool.map(lambda _: os.getpid(), [0])
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    (second,) = pool.map(lambda _: os.getpid(), [0])
    assert first != second


def test_workers_release_jobs_when_they_are_done(tmp_path: Path) -> None:
    """Every worker closes files that a function holds, before it does anything else."""
    path = tmp_path / "held"
    path.touch()

    def holds() -> bool:
        """Return whether this process has the file open."""
        return str(path) in {os.path.realpath(one.path) for one in os.scandir("/proc/self/fd")}

    class Holding:
        def __call__(self, _: int) -> bool:
            return holds()

        def __getstate__(self) -> str:
            return str(path)

        def __setstate__(self, name: str) -> None:
            self.file, self.cycle = open(name), self  # noqa: SIM115

    pool = tj.ProcessPool(workers=2)
    assert set(pool.map(Holding(), range(20))) == {True}
    assert set(pool.map(lambda _: holds(), range(20))) == {False}


def test_rows_go_to_the_disk_if_memory_is_full(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file is left in either place; if both are full, it is a MemoryError."""
    reserved, full = shared._reserved, [Path("/dev/shm")]

    def reserved_unless_full(kept: ExitStack, place: Path, size: int) -> IO[bytes]:
        if place in full:
            raise OSError(errno.ENOSPC, "full")
        return reserved(kept, place, size)

    monkeypatch.setattr(shared, "_reserved", reserved_unless_full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    pool = tj.ProcessPool(workers=2)
    assert tj.rmsd(atoms, pool=pool).values.tobytes() == tj.rmsd(atoms).values.tobytes()
    full.append(tmp_path)
    with raises(MemoryError):
        tj.rmsd(atoms, pool=pool)
    assert not list(tmp_path.iterdir())
    assert not list(Path("/dev/shm").glob(f"trajet-*-{os.getpid()}-*"))


def test_rows_are_collected_on_systems_other_than_linux(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without /proc, files in memory and posix_fallocate, in a file that is removed."""
    monkeypatch.setattr(shared, "_OPEN_FILES", tmp_path / "no-proc")
    monkeypatch.setattr(shared, "in_memory", lambda: None)
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    values = tj.rmsd(atoms, pool=tj.ProcessPool(workers=2)).values
    assert values.tobytes() == tj.rmsd(atoms).values.tobytes()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("n_workers", "size"), [(1, 2**20), (64, 2**18), (1000, 2**16)])
def test_pipes_of_tasks_are_wide_unless_there_are_many(n_workers: int, size: int) -> None:
    """All of them together take 16 MiB, or what the system gives a pipe by itself."""
    reading, writing = os.pipe()
    try:
        _widen(writing, n_workers)
        assert fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ) == size
        os.set_blocking(writing, False)
        assert os.write(writing, bytes(2 * size)) == size
    finally:
        os.close(reading)
        os.close(writing)
