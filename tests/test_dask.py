"""Workers of a real Dask scheduler: three processes beside it on this machine.

Functions that change workers are nested, so that they travel whole: workers know no tests.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pool_laws
import pytest
import trajet as tj
from distributed import Client, LocalCluster
from golden_files import Adk
from made_hdf5 import tables_of
from MDAnalysisTests.datafiles import TRR

N_WORKERS = 3
PATIENCE = 60


@contextmanager
def started(command: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Dask meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{command}", "--no-dashboard", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def until(condition: Callable[[], bool]) -> None:
    """Wait for what comes soon."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of a scheduler with three workers, each of which Dask starts again."""
    folder = tmp_path_factory.mktemp("dask")
    told = folder / "scheduler.json"
    place = ["--host", "127.0.0.1", "--scheduler-file", str(told)]
    alone = ["--nworkers", str(N_WORKERS), "--nthreads", "1", "--local-directory", str(folder)]
    with started("scheduler", "--port", "0", *place):
        # It may be there and not be written yet.
        until(lambda: told.exists() and told.read_text().rstrip().endswith("}"))
        address = json.loads(told.read_text())["address"]
        with started("worker", "--nanny", *place, *alone), Client(address) as client:
            client.wait_for_workers(N_WORKERS, timeout=PATIENCE)
            yield client


@pytest.fixture
def client(cluster: Client) -> Iterator[Client]:
    """Return the client, with all of its workers; what a test did to them is undone."""
    until(lambda: len(cluster.nthreads()) == N_WORKERS)
    yield cluster
    assert left_behind(cluster) == []
    cluster.run(undo)


def left_behind(client: Client) -> list[str]:
    """Return what the scheduler still knows of our runs."""

    def known(dask_scheduler: Any) -> list[str]:
        names = [*dask_scheduler.plugins, *dask_scheduler.worker_plugins]
        names += [str(key) for key in dask_scheduler.tasks]
        return [name for name in names if "trajet" in name]

    end = time.monotonic() + 10
    # Tasks that were cancelled go soon, not at once.
    while (names := client.run_on_scheduler(known)) and time.monotonic() < end:
        time.sleep(0.05)
    return names


def change_do(client: Client, first: Callable[..., None], workers: list[str] | None = None) -> None:
    """Have workers call `first(work, stop)` before each task; `work` is a place to keep things."""

    def change() -> None:
        from trajet.pools import work

        plain = work.Worker.do

        def do(self: Any, task: bytes, rows: Any, stop: Any = None) -> Any:
            first(work, stop)
            return plain(self, task, rows, stop)

        work.Worker.do = do  # type: ignore[method-assign]
        work.plain = plain  # type: ignore[attr-defined]

    client.run(change, workers=workers)


def _make_undo() -> Callable[[], None]:
    def undo() -> None:
        from trajet.pools import work

        if hasattr(work, "plain"):
            work.Worker.do = work.plain  # type: ignore[method-assign]
            del work.plain
        if hasattr(work, "plain_opening"):
            work.Worker.opening = work.plain_opening  # type: ignore[method-assign]
            del work.plain_opening, work.opened
        if hasattr(work, "plain_copy"):
            from trajet.conversion import files

            files.Copier.do = work.plain_copy  # type: ignore[method-assign]
            del work.plain_copy

    return undo


undo = _make_undo()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheduling": "static"},
        {"scheduling": "static", "oversubscription": 3, "threads": 2},
        {"oversubscription": 2},
        {"task_frames": 7, "threads": 2},
    ],
)
def test_bits_are_those_of_one_thread(
    client: Client, long_adk: Adk, options: dict[str, Any]
) -> None:
    """Rows, moments, histograms and wide rows, of all frames and of some."""
    pool = tj.DaskPool(client, **options)
    pool_laws.assert_same_bits(pool, tj.open(long_adk.psf, long_adk.xtc))


def test_workers_open_what_they_read_and_no_index(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Opens, requests and bytes are those of the tasks' own frames; MDAnalysis is not loaded."""
    paths = pool_laws.segments(long_adk.xtc, tmp_path / "parts", 20)
    traj = tj.open(long_adk.psf, *paths)
    report = tj.rmsd(traj.select("name CA"), reference="average", pool=tj.DaskPool(client)).report
    assert report["passes"] == 2
    assert {worker["process"] for worker in report["workers"]}.isdisjoint({os.getpid()})
    # Each worker opens a file once at most, for both passes, and looks at its head and tail then.
    assert all(worker["opens"] <= 20 for worker in report["workers"])
    assert sum(worker["opens"] for worker in report["workers"]) >= 20
    size = sum(path.stat().st_size for path in paths)
    opens = sum(worker["opens"] for worker in report["workers"])
    most = 2 * size / 2**18 + 2 * len(report["tasks"]) + 2 * opens
    # A task in two files asks for the rest of each.
    assert report["requests"] <= most + 2 * 2 * len(paths)
    assert 2 * size <= report["bytes_read"] <= 2 * size + 2 * 4096 * opens + 2 * 20 * 2**15
    assert not any(client.run(lambda: "MDAnalysis" in sys.modules).values())


def test_workers_are_told_once_a_pass(client: Client, long_adk: Adk) -> None:
    """The reference and the atoms go to each worker once, and not with each task."""

    def count() -> None:
        from trajet.pools.dask import plugins

        plain = plugins.Member.setup
        plugins.told = []

        def setup(self: Any, worker: Any) -> None:
            plugins.told.append(self.name)
            plain(self, worker)

        plugins.Member.setup = setup

    def told() -> list[str]:
        from trajet.pools.dask import plugins

        return plugins.told

    def largest(dask_scheduler: Any) -> int:
        from distributed.protocol.pickle import dumps

        tasks = dask_scheduler.tasks.items()
        return max(len(dumps(state.run_spec)) for key, state in tasks if "trajet" in key[0])

    client.run(count)
    sizes = []
    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, lambda *_: __import__("time").sleep(0.01))
    result = tj.rmsd(
        traj,
        reference="average",
        pool=tj.DaskPool(client),
        progress=lambda *_: sizes.append(client.run_on_scheduler(largest)),
    )
    assert result.report["tasks"]
    for names in client.run(told).values():
        assert len(names) == len(set(names)) == 2
    # The reference alone has 12 bytes an atom.
    assert sizes and max(sizes) < 12 * traj.n_atoms


def test_static_blocks_stay_where_they_are(client: Client, long_adk: Adk) -> None:
    """A worker each, of neighbouring frames."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    pool = tj.DaskPool(client, scheduling="static", oversubscription=4)
    change_do(client, lambda *_: __import__("time").sleep(0.02))
    report = tj.rmsd(traj.select("name CA"), pool=pool).report
    assert [worker["tasks"] for worker in report["workers"]] == [4, 4, 4]
    by_worker = [task["worker"] for task in report["tasks"]]
    assert len(by_worker) == 12
    assert all(len(set(by_worker[k : k + 4])) == 1 for k in (0, 4, 8))


def test_tasks_of_wide_rows_are_small(client: Client, long_adk: Adk) -> None:
    """At most 64 MiB of rows, though a static worker has 72 MB to do."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    pairs = traj.select(range(245)), traj.select(range(245, 490))
    pool = tj.DaskPool(client, scheduling="static")
    result = tj.distances(*pairs, frames=slice(0, 450), pool=pool)
    assert sum(task["frames"] for task in result.report["tasks"]) == 450
    assert max(task["frames"] for task in result.report["tasks"]) <= 2**26 // (8 * 245 * 245)


def test_report(client: Client, long_adk: Adk) -> None:
    """The scheduler's record has every task, and its time holds that inside of it."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    report = tj.rmsd(traj.select("name CA"), reference="average", pool=tj.DaskPool(client)).report
    assert report["pool"] == "dask"
    assert report["scheduler"] == client.scheduler.address
    assert report["retried"] == []
    assert "distributed" in report["versions"]
    assert {worker["address"] for worker in report["workers"]} <= set(client.nthreads())
    for worker in report["workers"]:
        stages = [worker[name] for name in report["stages"] if name not in ("t_io", "t_total")]
        assert sum(stages) == pytest.approx(worker["t_total"])
    changes = Counter(
        tuple(change[name] for name in ("pass", "task", "copy", "start", "finish"))
        for change in report["transitions"]
    )
    assert report["transitions_left_out"] == 0
    assert len(report["tasks"]) > 2 * N_WORKERS
    for task in report["tasks"]:
        assert task["t_scheduler"] >= task["t_end"] - task["t_begin"] - 0.005
        assert task["t_waiting"] == task["t_scheduler"] - (task["t_end"] - task["t_begin"])
        assert changes[task["pass"], task["task"], task["copy"], "processing", "memory"] == 1
    given = {change["address"] for change in report["transitions"] if change["address"]}
    assert given >= {worker["address"] for worker in report["workers"]}
    json.loads(report.to_json())


def broken_copy(adk: Adk, folder: Path) -> Path:
    """Return a copy of the trajectory with a corrupt frame, and without a kept index."""
    broken = folder / "broken.xtc"
    data = bytearray(adk.xtc.read_bytes())
    offset = int(tj.open(None, adk.xtc).reader.offsets()[500])
    data[offset + 100 : offset + 400] = bytes(300)
    broken.write_bytes(data)
    return broken


def test_an_error_of_a_worker_is_raised_here(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """With its class and words; other tasks are dropped, and no file of rows is left."""
    traj = tj.open(long_adk.psf, broken_copy(long_adk, tmp_path))
    before = set(tmp_path.iterdir())
    pool = tj.DaskPool(client, rows_in=tmp_path / "rows.npy")
    with pytest.raises(tj.FormatError, match="frame 500 at byte"):
        tj.rmsd(traj.select("name CA"), pool=pool)
    assert set(tmp_path.iterdir()) == before


def test_a_storage_that_fails_once_is_asked_again(client: Client, long_adk: Adk) -> None:
    """Each worker's third task fails; the report says so."""

    def fail(work: Any, _stop: Any) -> None:
        import errno

        work.calls = getattr(work, "calls", 0) + 1
        if work.calls == 3:
            raise OSError(errno.EIO, "a cable was pulled")

    traj = tj.open(long_adk.psf, long_adk.xtc)
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    change_do(client, fail)
    result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client, task_frames=4))
    assert result.values.tobytes() == here.tobytes()
    assert 1 <= len(result.report["retried"]) <= N_WORKERS
    assert all("a cable was pulled" in retry["error"] for retry in result.report["retried"])


def test_a_storage_that_always_fails_is_an_error(client: Client, long_adk: Adk) -> None:
    """After three attempts."""

    def fail(_work: Any, _stop: Any) -> None:
        import errno

        raise OSError(errno.EIO, "a cable was cut")

    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, fail)
    with pytest.raises(OSError, match="a cable was cut") as caught:
        tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    assert any("during the task of frames" in note for note in caught.value.__notes__)


def test_a_straggler_is_overtaken(client: Client, long_adk: Adk) -> None:
    """An idle worker does its task; it stops reading, and the report names it."""

    def hang(work: Any, stop: Any) -> None:
        import time

        end = time.monotonic() + 60
        while not stop.is_set and time.monotonic() < end:
            time.sleep(0.02)
        work.stopped = stop.is_set
        raise KeyboardInterrupt

    def stopped() -> bool:
        from trajet.pools import work

        return getattr(work, "stopped", False)

    traj = tj.open(long_adk.psf, long_adk.xtc)
    slow = sorted(client.nthreads())[0]
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    change_do(client, hang, workers=[slow])
    result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    assert result.values.tobytes() == here.tobytes()
    named = [straggler["address"] for straggler in result.report["repeated"]]
    assert slow in named
    for straggler in result.report["repeated"]:
        assert set(straggler["rules"]) <= {"median", "fastest"}
        assert straggler["rules"]
        assert straggler["answered_by"] == straggler["also_on"] != slow
    until(lambda: all(client.run(stopped, workers=[slow]).values()))


def test_a_worker_that_sends_no_rows_is_overtaken(client: Client, long_adk: Adk) -> None:
    """What it has done is done again, and the report says that it was its gathering."""

    def hold(dask_worker: Any) -> None:
        import asyncio

        plain = dask_worker.handlers["get_data"]

        async def get_data(comm: Any, **options: Any) -> Any:
            await asyncio.sleep(20)
            return await plain(comm, **options)

        dask_worker.handlers["get_data"] = get_data
        dask_worker.plain = plain

    def release(dask_worker: Any) -> None:
        dask_worker.handlers["get_data"] = dask_worker.plain

    traj = tj.open(long_adk.psf, long_adk.xtc)
    slow = sorted(client.nthreads())[0]
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    client.run(hold, workers=[slow])
    try:
        result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    finally:
        client.run(release, workers=[slow])
    assert result.values.tobytes() == here.tobytes()
    named = {straggler["state"]: straggler["address"] for straggler in result.report["repeated"]}
    assert named["gathering"] == slow
    (held,) = [worker for worker in result.report["workers"] if worker["address"] == slow]
    assert held["frames"] == 0
    assert held["t_comm"] > 0
    assert slow_in(result.report)[slow] == "gathering"


def slow_in(report: tj.Report) -> dict[str, str]:
    """Return the stage of each worker that a report names as a straggler, by address."""
    address = {worker["worker"]: worker["address"] for worker in report["workers"]}
    workers = [entry for entry in report["stragglers"] if "task" not in entry]
    return {address[entry["worker"]]: entry["stage"] for entry in workers}


def test_a_worker_that_opens_late_is_named(client: Client, long_adk: Adk) -> None:
    """It comes to no frame and is waited for by nobody: what it says meanwhile is what is known."""

    def hang(work: Any, stop: Any) -> None:
        import time

        begin = time.monotonic()
        if not hasattr(work, "plain_opening"):
            work.plain_opening = work.Worker.opening
        work.Worker.opening = property(lambda _: time.monotonic() - begin)
        # Nothing ends an opening.
        while time.monotonic() < begin + 3 or not stop.is_set:
            time.sleep(0.02)
        work.opened = True
        raise KeyboardInterrupt

    def opened() -> bool:
        from trajet.pools import work

        return hasattr(work, "opened")

    traj = tj.open(long_adk.psf, long_adk.xtc)
    slow = sorted(client.nthreads())[0]
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    change_do(client, hang, workers=[slow])
    result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    assert result.values.tobytes() == here.tobytes()
    assert slow in [straggler["address"] for straggler in result.report["repeated"]]
    (late,) = [worker for worker in result.report["workers"] if worker["address"] == slow]
    assert late["frames"] == late["tasks"] == 0
    assert late["t_open"] == pytest.approx(late["t_total"])
    assert slow_in(result.report)[slow] == "opening"
    (entry,) = [entry for entry in result.report["stragglers"] if "task" not in entry]
    assert entry["host"] == late["host"] == socket.gethostname()
    until(lambda: all(client.run(opened, workers=[slow]).values()))


def change_copies(client: Client, first: Callable[..., None]) -> None:
    """Have workers call `first(work, number, what)` before each file; `work` as for `change_do`."""

    def change() -> None:
        from trajet.conversion import files
        from trajet.pools import work

        plain = files.Copier.do
        work.files = []  # type: ignore[attr-defined]

        def do(self: Any, what: Any, threads: int, show: Any) -> Any:
            work.files.append(what.path.name)
            first(work, len(work.files), what)
            return plain(self, what, threads, show)

        files.Copier.do = do  # type: ignore[method-assign]
        work.plain_copy = plain  # type: ignore[attr-defined]

    client.run(change)


def test_copies_are_those_of_one_process(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Byte for byte, in every format; workers know no topology, and open what they read."""
    paths = pool_laws.segments(long_adk.xtc, tmp_path / "parts", 20)
    traj = tj.open(long_adk.psf, *paths)
    pool = tj.DaskPool(client, threads=2)
    there = pool_laws.divisions(traj, tmp_path / "there", pool)
    here = pool_laws.divisions(traj, tmp_path / "here")
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    for name, parts in here.items():
        assert [part.n_frames for part in there[name]] == [part.n_frames for part in parts]
        assert [part.remarks for part in there[name]] == [part.remarks for part in parts]
    reports = [part.report for part in there["xtc"]]
    assert {report["pool"] for report in reports} == {"dask"}
    workers = [worker for report in reports for worker in report["workers"]]
    assert {worker["process"] for worker in workers}.isdisjoint({os.getpid()})
    assert {worker["address"] for worker in workers} <= set(client.nthreads())
    assert sum(worker["frames"] for worker in workers) == 980
    # Each opens a file once at most.
    assert 20 <= sum(worker["opens"] for worker in workers) <= 20 + 6
    assert not any(client.run(lambda: "MDAnalysis" in sys.modules).values())


@pytest.mark.parametrize("name", [*pool_laws.DIVISIONS, "continuous"])
def test_copies_of_any_format(client: Client, adk: Adk, tmp_path: Path, name: str) -> None:
    """Also where frames of a chain were dropped, and of some atoms."""
    source, parts = tj.open(None, adk.xtc), tmp_path / "parts"
    if name == "continuous":
        parts.mkdir()
        for k, frames in enumerate((slice(0, 60), slice(31, 98))):
            tj.convert(source, parts / f"{k}.xtc", frames=frames)
    else:
        tj.split(source, parts, **pool_laws.DIVISIONS[name])
    traj = tj.open(None, *sorted(parts.iterdir()), continuous=name == "continuous")
    some = traj.select(range(5, 3000, 3))
    for subject, folder in ((traj, "all"), (some, "some")):
        for pool, where in ((tj.DaskPool(client), "there"), (None, "here")):
            out = tmp_path / where / folder
            tj.split(subject, out, frames_per_segment=14, allow_loss=True, pool=pool)
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    assert traj.n_frames == 98
    assert len(list((tmp_path / "there").rglob("*.*"))) == 2 * 7


def test_conversions_are_those_of_one_process(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Byte for byte, of stretches that workers write; each is open once, and frames are counted."""
    traj, pool = tj.open(None, long_adk.xtc), tj.DaskPool(client)
    for where in ("there", "here"):
        (tmp_path / where).mkdir()
    seen: list[tuple[int, int]] = []
    there = pool_laws.conversions(traj, tmp_path / "there", pool)
    here = pool_laws.conversions(traj, tmp_path / "here")
    pool_laws.assert_same_conversions(tmp_path / "there", tmp_path / "here")
    for name, one in here.items():
        other = there[name]
        assert (other.n_frames, other.n_atoms) == (one.n_frames, one.n_atoms)
        assert other.remarks == one.remarks
        assert other.size == (tmp_path / "there" / name).stat().st_size
    report = there["coarse.xtc"].report
    assert report["pool"] == "dask"
    assert report["frames"] == 980
    assert {worker["address"] for worker in report["workers"]} <= set(client.nthreads())
    assert len(report["workers"]) <= N_WORKERS
    assert report["opens"] <= 1 + N_WORKERS

    def show(done: int, total: int) -> None:
        seen.append((done, total))

    again = {"force": True, "allow_loss": True}
    tj.convert(traj, tmp_path / "there" / "all.dcd", **again, pool=pool, progress=show)
    assert seen == sorted(seen)
    assert seen[-1] == (980, 980)


def test_velocities_in_some_frames_alone(client: Client, tmp_path: Path) -> None:
    """TRR says so; stretches of H5MD have vectors of all frames, and refuse others."""
    tj.convert(tj.open(None, TRR), tmp_path / "without.trr", velocities=False)
    traj, pool = tj.open(None, tmp_path / "without.trr", TRR), tj.DaskPool(client)
    for kind in ("trr", "dcd"):
        whole = [tmp_path / f"{where}.{kind}" for where in ("there", "here")]
        for path, writer in zip(whole, (pool, None), strict=True):
            tj.convert(traj, path, allow_loss=True, pool=writer)
        assert whole[0].read_bytes() == whole[1].read_bytes()
    out, some = tmp_path / "out.h5md", traj.select(range(20))
    frames = [*range(5), *range(15, 20)]
    # A stretch a frame, some without; one stretch with both.
    for atoms, words in ((traj, "none of the 1 frames has"), (some, "some of the frames have no")):
        with pytest.raises(tj.FormatError, match=f"{words} velocities"):
            tj.convert(atoms, out, frames=frames, allow_loss=True, pool=pool)
        assert not out.exists()
    tj.convert(traj, out, frames=slice(10, None), allow_loss=True, pool=pool)
    alone = tj.convert(tj.open(None, TRR), tmp_path / "alone.h5md", allow_loss=True)
    assert tables_of(out) == tables_of(alone.path)


def test_a_conversion_that_fails_leaves_nothing(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Whatever fails: a frame, the disk of a worker, or the end; what stood there still does."""
    broken = broken_copy(long_adk, tmp_path)
    pool = tj.DaskPool(client)
    for name in ("out.trr", "out.h5md"):
        with pytest.raises(tj.FormatError, match="frame 500 at byte"):
            tj.convert(
                tj.open(None, broken, sidecar=False),
                tmp_path / name,
                frames=slice(490, 580),
                pool=pool,
            )
    traj = tj.open(None, long_adk.xtc)

    def lose(_work: Any, _number: int, what: Any) -> None:
        import shutil

        shutil.rmtree(what.own.parent, ignore_errors=True)

    change_copies(client, lose)
    with pytest.raises(tj.OutputError, match=r"out\.xtc: cannot be written: No such"):
        tj.convert(traj, tmp_path / "out.xtc", pool=pool)
    client.run(undo)
    assert list(tmp_path.iterdir()) == [broken]
    old = tmp_path / "old.xtc"
    old.write_bytes(b"old")
    with pytest.raises(tj.OutputError, match=r"old\.xtc: is there already"):
        tj.convert(traj, old, pool=pool)
    with pytest.raises(ValueError, match="give threads instead of this pool"):
        tj.convert(traj, tmp_path / "out.xtc", pool=tj.LocalPool())
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.xtc", "old.xtc"]


def test_a_copy_that_fails_leaves_nothing(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Neither files nor their folder; an error names the file that was to be."""
    broken = broken_copy(long_adk, tmp_path)
    out, pool = tmp_path / "out", tj.DaskPool(client)
    for options in ({"segments": 4, "format": "trr"}, {"frames_per_segment": 98, "format": "h5md"}):
        with pytest.raises(tj.FormatError, match="frame 500 at byte"):
            tj.split(tj.open(None, broken, sidecar=False), out, pool=pool, **options)

    def lose(_work: Any, _number: int, what: Any) -> None:
        import shutil

        shutil.rmtree(what.own.parent, ignore_errors=True)

    change_copies(client, lose)
    for kind in ("xtc", "h5md"):
        with pytest.raises(
            tj.OutputError, match=rf"out/long-0\d+\.{kind}: cannot be written: No such"
        ):
            tj.split(
                tj.open(None, long_adk.xtc), out, frames_per_segment=98, format=kind, pool=pool
            )
    client.run(undo)
    assert list(tmp_path.iterdir()) == [broken]
    parts = tj.split(tj.open(None, long_adk.xtc), out, segments=4, pool=pool)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(tj.OutputError, match=r"-000\.xtc: is there already"):
        tj.split(tj.open(None, long_adk.xtc), out, segments=4, pool=pool)
    assert len(parts) == len(before) == 4
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_storage_that_fails_once_is_asked_again_for_a_copy(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Each worker's first file fails; the report of that file says so."""

    def fail(_work: Any, number: int, _what: Any) -> None:
        import errno

        if number == 1:
            raise OSError(errno.EIO, "a cable was pulled")

    change_copies(client, fail)
    traj = tj.open(None, long_adk.xtc)
    parts = tj.split(traj, tmp_path / "there", segments=12, pool=tj.DaskPool(client))
    tj.split(traj, tmp_path / "here", segments=12)
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    retried = [retry for part in parts for retry in part.report["retried"]]
    assert 1 <= len(retried) <= N_WORKERS
    assert all("a cable was pulled" in retry["error"] for retry in retried)


def test_a_worker_killed_in_a_copy(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Its file is written by another, and nothing is left of its own."""

    def slowly(_work: Any, _number: int, _what: Any) -> None:
        import time

        time.sleep(0.1)

    change_copies(client, slowly)
    victims = sorted(client.run(os.getpid).values())[:1]

    def kill(done: int, _total: int) -> None:
        if done and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    traj, pool = tj.open(None, long_adk.xtc), tj.DaskPool(client)
    tj.split(traj, tmp_path / "there", segments=20, pool=pool, progress=kill)
    assert victims == []
    tj.split(traj, tmp_path / "here", segments=20)
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")


def test_interrupt(client: Client, long_adk: Adk) -> None:
    """Ctrl-C ends the run, and the reading of the workers."""

    def hang(work: Any, stop: Any) -> None:
        import time

        while not stop.is_set:
            time.sleep(0.02)
        raise KeyboardInterrupt

    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, hang)
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    until(lambda: not any(client.call_stack().values()))


@pytest.mark.kills(3)
def test_a_killed_worker_changes_nothing(client: Client, long_adk: Adk, kills: int) -> None:
    """At random moments, of each run one; Dask starts it again, and it takes part again."""

    def slowly(_work: Any, _stop: Any) -> None:
        import time

        time.sleep(0.02)

    traj = tj.open(long_adk.psf, long_adk.xtc)
    atoms = traj.select("name CA")
    here = tj.rmsd(atoms, reference="average", pool=tj.LocalPool()).values
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(kills):
        until(lambda: len(client.nthreads()) == N_WORKERS)
        client.run(undo)
        change_do(client, slowly)
        processes = client.run(os.getpid)
        moment = chance.uniform(0.0, 0.95)
        killed: list[int] = []

        def kill(
            done: int,
            total: int,
            moment: float = moment,
            killed: list[int] = killed,
            victim: int = chance.choice(sorted(processes.values())),
        ) -> None:
            if done >= moment * total and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        pool = tj.DaskPool(client, task_frames=4)
        result = tj.rmsd(atoms, reference="average", pool=pool, progress=kill)
        assert len(killed) == 1
        assert result.values.tobytes() == here.tobytes()


def test_rows_in_a_file(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Rows are in the file and mapped from it; states need none."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    fours = np.arange(400).reshape(-1, 4)
    here = tj.dihedrals(traj, fours, features=True, pool=tj.LocalPool())
    path = tmp_path / "rows.npy"
    pool = tj.DaskPool(client, rows_in=path)
    there = tj.dihedrals(traj, fours, features=True, pool=pool)
    assert there.values.tobytes() == here.values.tobytes()
    assert isinstance(there.values.base, np.memmap)
    assert np.load(path).tobytes() == here.values.tobytes()
    # The next result replaces the file and leaves the first one as it is.
    tj.dihedrals(traj, fours[::-1], features=True, pool=pool)
    assert there.values.tobytes() == here.values.tobytes()
    assert np.load(path).tobytes() != here.values.tobytes()
    path.unlink()
    tj.rmsf(traj.select("name CA"), pool=pool)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(tj.OutputError, match="no folder"):
        tj.rmsd(traj, pool=tj.DaskPool(client, rows_in=tmp_path / "none" / "rows.npy"))


def test_rows_in_a_file_take_no_memory(client: Client, adk: Adk, tmp_path: Path) -> None:
    """The client's peak is a few fetches, not the rows: a sixtieth of the papers' 8.5 GB here."""
    script = """
import sys
import numpy as np
import trajet as tj
from distributed import Client
from trajet.pools.dask import leader

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

leader._MOST_FETCHED = 2**20
address, path, *files = sys.argv[1:]
with Client(address) as client:
    traj = tj.open(None, *files)
    fours = np.arange(848).reshape(-1, 4)
    pool = tj.DaskPool(client, rows_in=path, task_frames=100)
    run = lambda frames: tj.dihedrals(traj, fours, features=True, frames=frames, pool=pool)
    run(slice(0, 100))
    before = peak()
    rows = run(slice(None)).values
    print(rows.nbytes, 1024 * (peak() - before))
"""
    (tmp_path / "adk0.xtc").write_bytes(adk.xtc.read_bytes() * 105)
    files = [str(tmp_path / f"adk{k}.xtc") for k in range(4)]
    for other in files[1:]:
        Path(other).symlink_to(files[0])
    address, rows = client.scheduler.address, tmp_path / "rows.npy"
    done = subprocess.run(
        [sys.executable, "-c", script, address, str(rows), *files],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    size, grown = map(int, done.stdout.split())
    assert size > 8.5e9 / 64
    assert grown < size / 4
    kept = np.load(rows, mmap_mode="r")
    here = tj.dihedrals(
        tj.open(None, *files),
        np.arange(848).reshape(-1, 4),
        features=True,
        frames=slice(0, None, 997),
        pool=tj.LocalPool(),
    )
    assert kept[::997].tobytes() == here.values.tobytes()


def test_a_client_that_dies_leaves_nothing(client: Client, long_adk: Adk) -> None:
    """Neither what workers were told nor what the scheduler wrote down."""
    code = """
import os, signal, sys
import trajet as tj
from distributed import Client
client = Client(sys.argv[1])
atoms = tj.open(None, sys.argv[2]).select(range(50))
tj.rmsd(atoms, pool=tj.DaskPool(client), progress=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""
    change_do(client, lambda *_: __import__("time").sleep(0.05))
    command = [sys.executable, "-c", code, client.scheduler.address, str(long_adk.xtc)]
    assert subprocess.run(command, timeout=PATIENCE, check=False).returncode == -signal.SIGKILL
    until(lambda: left_behind(client) == [])

    def plugins(dask_worker: Any) -> list[str]:
        return [name for name in dask_worker.plugins if "trajet" in name]

    until(lambda: not any(client.run(plugins).values()))


def test_workers_that_come_late_or_never(long_adk: Adk, caplog: pytest.LogCaptureFixture) -> None:
    """They are waited for, which is said."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    local = {"n_workers": 0, "threads_per_worker": 2, "dashboard_address": ":0"}
    with LocalCluster(**local) as few, Client(few) as client:
        with pytest.raises(tj.WorkerError, match=r"no worker came .* in 0\.2 s"):
            tj.rmsd(atoms, pool=tj.DaskPool(client, wait_for_workers=0.2))
        assert "waiting 0.2 s" in caplog.text
        timer = threading.Timer(0.5, few.scale, [1])
        timer.start()
        result = tj.rmsd(atoms, pool=tj.DaskPool(client))
        assert "waiting 60 s" in caplog.text
        here = tj.rmsd(atoms, pool=tj.LocalPool()).values
        assert result.values.tobytes() == here.tobytes()
        # Its two threads do a task each.
        assert len({worker["process"] for worker in result.report["workers"]}) == 1
        assert {worker["tasks"] > 0 for worker in result.report["workers"]} == {True}
        assert len(result.report["workers"]) == 2
    with pytest.raises(tj.WorkerError, match="client of Dask is closed"):
        tj.rmsd(atoms, pool=tj.DaskPool(client))


def test_what_means_nothing_is_refused(
    client: Client, long_adk: Adk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once."""
    with pytest.raises(ValueError, match="oversubscription must be at least 1"):
        tj.DaskPool(client, oversubscription=0)
    with pytest.raises(ValueError, match="dynamic or static"):
        tj.DaskPool(client, scheduling="random")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="how large tasks are"):
        tj.DaskPool(client, oversubscription=2, task_frames=2)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(tj.MissingPackageError, match=r"trajet\[dask\]"):
        tj.rmsd(tj.open(None, long_adk.xtc).select([1, 2, 3]), pool=tj.DaskPool(client))


def test_the_command_line(client: Client, adk: Adk, tmp_path: Path) -> None:
    """By the address of a scheduler, and with workers of this machine."""
    here = tj.rmsd(tj.open(adk.psf, adk.xtc).select("name CA")).values
    choices = [["--scheduler", client.scheduler.address], ["--workers", "2"]]
    for k, choice in enumerate(choices):
        out = tmp_path / f"{k}.npz"
        what = ["rmsd", adk.psf, adk.xtc, "--select", "name CA", "-o", out, "--quiet"]
        command = [sys.executable, "-m", "trajet", *what, "--pool", "dask", *choice]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with np.load(out) as kept:
            assert kept["values"].tobytes() == here.tobytes()
    tj.split(tj.open(None, adk.xtc), tmp_path / "here", segments=3)
    what = ["split", adk.xtc, "--segments", "3", "-o", tmp_path / "there"]
    copy = [sys.executable, "-m", "trajet", *what, "--pool", "dask", *choices[0]]
    done = subprocess.run(copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("98 frames in 3 files") == 1
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")
    command[-2:] = ["--scheduler", "tcp://127.0.0.1:9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tcp://127.0.0.1:9: no Dask scheduler answers there" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    command[-2:] = ["--scheduler", client.scheduler.address, "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "leave --workers out" in done.stderr
