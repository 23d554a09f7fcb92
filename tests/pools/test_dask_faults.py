"""Workers of a real Dask scheduler fail, hang, come late or are killed."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trajet as tj
from distributed import Client, LocalCluster
from helpers import pool_laws
from helpers.commands import python, wait_until
from helpers.dask_cluster import (
    N_WORKERS,
    PATIENCE,
    address_in,
    broken_copy,
    change_copies,
    change_do,
    left_behind,
    run_plugins,
    started,
    undo,
)
from helpers.golden_files import Adk
from helpers.kept_members import in_a_process, kill_at_random, on_dask
from helpers.made_ensembles import bits_of_members, uneven_members
from helpers.made_hdf5 import tables_of
from helpers.messages import raises
from helpers.small_disk import small_disk
from trajet.pools.dask.dispatcher import Dispatcher
from trajet.pools.dask.plugins import TaskProgress
from trajet.pools.dask.submissions import SubmittedCopy
from trajet.pools.members import member_pool
from trajet.pools.tasks import Task
from trajet.pools.timing import RunTiming


def slow_down_copies(client: Client) -> None:
    """Have workers wait before each file."""

    def slowly(_work: Any, _number: int, _what: Any) -> None:
        time.sleep(0.1)

    change_copies(client, slowly)


def lose_copies(client: Client) -> None:
    """Remove the folder of each file before it is written."""

    def lose(_work: Any, _number: int, what: Any) -> None:
        import shutil

        shutil.rmtree(what.own.parent, ignore_errors=True)

    change_copies(client, lose)


def killing_one(client: Client) -> tuple[list[int], Callable[[int, int], None]]:
    """Return a list of a worker, and a progress function that takes it from there and kills it."""
    victims = sorted(client.run(os.getpid).values())[:1]

    def kill(done: int, _total: int) -> None:
        if done and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    return victims, kill


def test_error_of_a_worker_is_raised_in_the_client(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """It has its class and message; other tasks are dropped, and no file of numbers is left."""
    traj = tj.open(long_adk.psf, broken_copy(long_adk, tmp_path))
    before = set(tmp_path.iterdir())
    pool = tj.DaskPool(client, rows_in=tmp_path / "rows")
    with raises(tj.FormatError):
        tj.rmsd(traj.select("name CA"), pool=pool)
    assert set(tmp_path.iterdir()) == before


def test_progress_of_an_earlier_pass_is_ignored() -> None:
    """A cancelled task may read for a while; its key differs in the name of the pass alone."""
    part = SimpleNamespace(tasks=[Task(0, (0, 1), (0, 10))], sections=[])
    dispatcher = Dispatcher(None, None, "run-1", part, RunTiming(), {})
    (submit,) = dispatcher._dispatch.start({"tcp://here": 1})
    copy = submit.copy
    sent = dispatcher._sent[copy] = SubmittedCopy(copy, part.tasks, None)
    for name, address in (("run-0", None), ("run-1", "tcp://here")):
        message = TaskProgress([name, *copy], "tcp://here", "here", 1, 1, 0.0, 0.0, {})
        dispatcher._progressed(message)
        assert sent.address == address


def test_storage_that_fails_once_is_retried(client: Client, long_adk: Adk) -> None:
    """Each worker's third task fails, and the report counts the retries."""

    def fail(tasks: Any, _stop: Any) -> None:
        import errno

        tasks.calls = getattr(tasks, "calls", 0) + 1
        if tasks.calls == 3:
            raise OSError(errno.EIO, "a cable was pulled")

    traj = tj.open(long_adk.psf, long_adk.xtc)
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    change_do(client, fail)
    result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client, task_frames=4))
    assert result.values.tobytes() == here.tobytes()
    assert 1 <= len(result.report["retried"]) <= N_WORKERS
    assert all("a cable was pulled" in retry["error"] for retry in result.report["retried"])


def test_storage_that_always_fails_is_an_error(client: Client, long_adk: Adk) -> None:
    """There are three attempts."""

    def fail(_work: Any, _stop: Any) -> None:
        import errno

        raise OSError(errno.EIO, "a cable was cut")

    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, fail)
    with raises(OSError) as caught:
        tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    assert any("during the task of frames" in note for note in caught.value.__notes__)


def test_straggler_is_overtaken(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """An idle worker does its task; the straggler stops reading, and the report names it."""
    begun = tmp_path / "begun"

    def wait(_work: Any, _stop: Any) -> None:
        end = time.monotonic() + 30
        while not begun.exists() and time.monotonic() < end:
            time.sleep(0.02)

    def hang(tasks: Any, stop: Any) -> None:
        begun.touch()
        end = time.monotonic() + 60
        while not stop.is_set and time.monotonic() < end:
            time.sleep(0.02)
        tasks.stopped = stop.is_set
        raise KeyboardInterrupt

    def stopped() -> bool:
        from trajet.pools import tasks

        return getattr(tasks, "stopped", False)

    traj = tj.open(long_adk.psf, long_adk.xtc)
    slow = sorted(client.nthreads())[0]
    others = set(client.nthreads()) - {slow}
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    change_do(client, wait, workers=sorted(others))
    change_do(client, hang, workers=[slow])
    result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    assert result.values.tobytes() == here.tobytes()
    repeated = result.report["repeated"]
    hung = [late for late in repeated if (late["address"], late["state"]) == (slow, "running")]
    assert hung
    assert all(late["also_on"] in others for late in hung)
    # If the machine is slow, others may be late too: then either of two may answer, or another
    # worker that Dask chose. The one that hangs answers nothing.
    for late in repeated:
        assert set(late["rules"]) <= {"median", "fastest"}
        assert late["rules"]
        assert late["also_on"] != late["address"]
        assert late["answered_by"] in others
    wait_until(lambda: all(client.run(stopped, workers=[slow]).values()))


def test_worker_that_sends_no_rows_is_overtaken(client: Client, long_adk: Adk) -> None:
    """Its tasks are computed again, and the report names gathering as the reason."""

    def hold(dask_worker: Any) -> None:
        import asyncio

        plain = dask_worker.handlers["get_data"]

        async def get_data(comm: Any, **options: Any) -> Any:
            await asyncio.sleep(8)
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


def hang_in_opening(
    client: Client, slow: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Have a worker open a file in its first task until the function that is returned is called.

    Other workers begin when this process knows that it is opening.
    """
    known, released = folder / "known", folder / "released"
    plain = Dispatcher.on_progress

    def on_progress(self: Dispatcher, message: TaskProgress) -> None:
        plain(self, message)
        if message.worker == slow and message.opening:
            known.touch()

    monkeypatch.setattr(Dispatcher, "on_progress", on_progress)

    def wait(_tasks: Any, _stop: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not known.exists() and time.monotonic() < end:
            time.sleep(0.02)

    def hang(tasks: Any, stop: Any) -> None:
        begin = time.monotonic()
        if not hasattr(tasks, "plain_opening"):
            tasks.plain_opening = tasks.Worker.opening
            tasks.opener = stop
        opener = tasks.opener
        tasks.Worker.opening = lambda _self, task: (
            time.monotonic() - begin if task is opener else 0.0
        )
        # Cancelling the task does not end the opening.
        while not released.exists() and time.monotonic() < begin + 2 * PATIENCE:
            time.sleep(0.02)
        tasks.opened = True
        raise KeyboardInterrupt

    def opened() -> bool:
        from trajet.pools import tasks

        return hasattr(tasks, "opened")

    def release() -> None:
        released.touch()
        wait_until(lambda: all(client.run(opened, workers=[slow]).values()))

    change_do(client, wait, workers=sorted(set(client.nthreads()) - {slow}))
    change_do(client, hang, workers=[slow])
    return release


def test_worker_that_opens_late_is_named(
    client: Client, long_adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads no frame and nobody waits for it: its progress messages alone are known."""
    traj = tj.open(long_adk.psf, long_adk.xtc)
    slow = sorted(client.nthreads())[0]
    here = tj.rmsd(traj.select("name CA"), pool=tj.LocalPool()).values
    release = hang_in_opening(client, slow, tmp_path, monkeypatch)
    try:
        result = tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    finally:
        release()
    assert result.values.tobytes() == here.tobytes()
    assert slow in [straggler["address"] for straggler in result.report["repeated"]]
    (late,) = [worker for worker in result.report["workers"] if worker["address"] == slow]
    assert late["frames"] == late["tasks"] == 0
    assert late["t_open"] == pytest.approx(late["t_total"])
    assert slow_in(result.report)[slow] == "opening"
    # On a busy machine others may be late, too.
    workers = [entry for entry in result.report["stragglers"] if "task" not in entry]
    (entry,) = [entry for entry in workers if entry["worker"] == late["worker"]]
    assert entry["host"] == late["host"] == socket.gethostname()


def test_opening_is_reported_by_the_thread_that_opens(
    long_adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other thread of its process waits and does not report it."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    local = {"n_workers": 2, "threads_per_worker": 2, "dashboard_address": ":0"}
    with LocalCluster(**local) as two, Client(two) as client:
        slow = sorted(client.nthreads())[0]
        release = hang_in_opening(client, slow, tmp_path, monkeypatch)
        try:
            report = tj.rmsd(atoms, pool=tj.DaskPool(client)).report
        finally:
            release()
    copies = [entry for entry in report["repeated"] if entry["address"] == slow]
    assert len(copies) >= 2
    (late,) = [worker for worker in report["workers"] if worker["address"] == slow]
    assert 0 < late["t_open"] == pytest.approx(late["t_total"])


def test_conversion_that_fails_leaves_nothing(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """A frame, the disk of a worker, or the end may fail; the old file is unchanged."""
    broken = broken_copy(long_adk, tmp_path)
    pool = tj.DaskPool(client)
    for name in ("out.trr", "out.h5md"):
        with raises(tj.FormatError):
            tj.convert(
                tj.open(None, broken, sidecar=False),
                tmp_path / name,
                frames=slice(490, 580),
                pool=pool,
            )
    traj = tj.open(None, long_adk.xtc)

    lose_copies(client)
    with raises(tj.OutputError):
        tj.convert(traj, tmp_path / "out.xtc", pool=pool)
    client.run(undo)
    assert list(tmp_path.iterdir()) == [broken]
    old = tmp_path / "old.xtc"
    old.write_bytes(b"old")
    with raises(tj.OutputError):
        tj.convert(traj, old, pool=pool)
    with raises(ValueError):
        tj.convert(traj, tmp_path / "out.xtc", pool=tj.LocalPool())
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.xtc", "old.xtc"]


def test_copy_that_fails_leaves_nothing(client: Client, long_adk: Adk, tmp_path: Path) -> None:
    """Neither files nor their folder are left; the error names the output file."""
    broken = broken_copy(long_adk, tmp_path)
    out, pool = tmp_path / "out", tj.DaskPool(client)
    for options in ({"segments": 4, "format": "trr"}, {"frames_per_segment": 98, "format": "h5md"}):
        with raises(tj.FormatError):
            tj.split(tj.open(None, broken, sidecar=False), out, pool=pool, **options)

    lose_copies(client)
    for kind in ("xtc", "h5md"):
        # Any of the parts is the first that fails.
        with pytest.raises(tj.OutputError):
            tj.split(
                tj.open(None, long_adk.xtc), out, frames_per_segment=98, format=kind, pool=pool
            )
    client.run(undo)
    assert list(tmp_path.iterdir()) == [broken]
    parts = tj.split(tj.open(None, long_adk.xtc), out, segments=4, pool=pool)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with raises(tj.OutputError):
        tj.split(tj.open(None, long_adk.xtc), out, segments=4, pool=pool)
    assert len(parts) == len(before) == 4
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_storage_that_fails_once_is_retried_for_a_copy(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Each worker's first file fails, and the report of that file counts the retry."""

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


def test_worker_killed_in_a_copy_leaves_nothing(
    client: Client, long_adk: Adk, tmp_path: Path
) -> None:
    """Another worker writes its file."""
    slow_down_copies(client)
    victims, kill = killing_one(client)
    traj, pool = tj.open(None, long_adk.xtc), tj.DaskPool(client)
    tj.split(traj, tmp_path / "there", segments=20, pool=pool, progress=kill)
    assert victims == []
    tj.split(traj, tmp_path / "here", segments=20)
    pool_laws.assert_same_files(tmp_path / "there", tmp_path / "here")


@pytest.mark.parametrize("kind", ["h5md", pytest.param("xtc", marks=pytest.mark.long)])
def test_worker_killed_in_a_conversion_changes_no_byte(
    client: Client, long_adk: Adk, tmp_path: Path, kind: str
) -> None:
    """Another worker writes its pieces; the output is that of one process, and no piece is left."""
    slow_down_copies(client)
    victims, kill = killing_one(client)
    atoms, some = tj.open(None, long_adk.xtc).select(range(500)), slice(0, 98)
    out, here = (tmp_path / name / f"one.{kind}" for name in ("out", "here"))
    for path, pool, progress in ((out, tj.DaskPool(client), kill), (here, None, None)):
        path.parent.mkdir()
        tj.convert(atoms, path, frames=some, pool=pool, progress=progress)
        assert list(path.parent.iterdir()) == [path]
    assert victims == []
    if kind == "xtc":
        assert out.read_bytes() == here.read_bytes()
    else:
        assert tables_of(out) == tables_of(here)


@pytest.mark.parametrize("kind", ["xtc", "h5md"])
def test_interrupted_conversion_leaves_the_old_file(
    client: Client, long_adk: Adk, tmp_path: Path, kind: str
) -> None:
    """Workers are writing, or their pieces are being joined; afterwards workers are idle."""
    old = tmp_path / f"old.{kind}"
    old.write_bytes(b"old")
    atoms = tj.open(None, long_adk.xtc).select(range(500))
    for moment in (0.2, 0.7):

        def interrupt(done: int, total: int, moment: float = moment) -> None:
            if done >= moment * total:
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            tj.convert(
                atoms,
                old,
                frames=slice(0, 98),
                force=True,
                pool=tj.DaskPool(client),
                progress=interrupt,
            )
        assert old.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [old]
        wait_until(lambda: not any(client.call_stack().values()))


@pytest.mark.parametrize("kind", ["trr", "h5md"])
def test_full_disk_at_the_end_leaves_the_old_file(
    client: Client, long_adk: Adk, tmp_path: Path, kind: str
) -> None:
    """The error names the output, not a piece of it, which had room."""
    old = tmp_path / f"old.{kind}"
    old.write_bytes(b"old")
    traj, some = tj.open(None, long_adk.xtc), slice(0, 98)
    with small_disk(2**20), raises(tj.OutputError):
        tj.convert(traj, old, frames=some, force=True, pool=tj.DaskPool(client))
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


def test_conversion_whose_scheduler_dies_leaves_nothing(long_adk: Adk, tmp_path: Path) -> None:
    """It is an error, without waiting for another scheduler."""
    traj = tj.open(None, long_adk.xtc)
    at = ["--host", "127.0.0.1"]
    scheduler_file = tmp_path / "scheduler.json"
    out = tmp_path / "out"
    out.mkdir()
    file = ["--scheduler-file", str(scheduler_file)]
    with started("scheduler", "--port", "0", *at, *file) as scheduler:
        address = address_in(scheduler_file)
        with started("worker", *at, *file, "--nthreads", "1"), Client(address) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            slow_down_copies(client)
            with pytest.raises(tj.WorkerError):
                tj.convert(
                    traj,
                    out / "one.trr",
                    pool=tj.DaskPool(client),
                    progress=lambda done, _: scheduler.kill() if done else None,
                )
            assert list(out.iterdir()) == []


def test_interrupt_stops_the_workers(client: Client, long_adk: Adk) -> None:
    """Ctrl-C ends the run, and the reading of the workers."""

    def hang(tasks: Any, stop: Any) -> None:

        while not stop.is_set:
            time.sleep(0.02)
        raise KeyboardInterrupt

    traj = tj.open(long_adk.psf, long_adk.xtc)
    change_do(client, hang)
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tj.rmsd(traj.select("name CA"), pool=tj.DaskPool(client))
    wait_until(lambda: not any(client.call_stack().values()))


@pytest.mark.kills(1)
def test_killed_worker_changes_nothing(client: Client, long_adk: Adk, kills: int) -> None:
    """One worker is killed per run, at a random moment; Dask restarts it for the next run."""

    def slowly(_work: Any, _stop: Any) -> None:

        time.sleep(0.02)

    traj = tj.open(long_adk.psf, long_adk.xtc)
    atoms = traj.select("name CA")
    here = tj.rmsd(atoms, reference="average", pool=tj.LocalPool()).values
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(kills):
        wait_until(lambda: len(client.nthreads()) == N_WORKERS)
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


@pytest.mark.kills(1)
def test_members_of_a_killed_client_go_on_with_the_same_bits(
    client: Client, adk: Adk, tmp_path: Path, kills: int
) -> None:
    """The client is killed at random moments between the first and the last result."""
    address = client.scheduler.address
    kill_at_random(adk, tmp_path, lambda folder: in_a_process(on_dask, folder, address), kills)
    wait_until(lambda: left_behind(client) == [])


@pytest.mark.kills(1)
def test_members_survive_a_killed_worker(
    client: Client, adk: Adk, tmp_path: Path, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is killed when members are done; bits are those of runs one by one."""
    monkeypatch.setattr(member_pool, "MIN_BYTES", 1)
    ensemble = uneven_members(adk, tmp_path)
    here = bits_of_members(ensemble, pool=tj.LocalPool(threads=1))
    assert bits_of_members(ensemble, pool=tj.DaskPool(client)) == here
    for _ in range(kills):
        wait_until(lambda: len(client.nthreads()) == N_WORKERS)
        victim = random.choice(sorted(client.run(os.getpid).values()))
        timer = threading.Timer(random.uniform(0.0, 0.6), os.kill, [victim, signal.SIGKILL])
        timer.start()
        assert bits_of_members(ensemble, pool=tj.DaskPool(client)) == here
        timer.join()


def test_members_go_on_beside_a_worker_that_hangs(
    client: Client, adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle worker does its task as well; the result is there while it still hangs."""
    monkeypatch.setattr(member_pool, "MIN_BYTES", 1)
    ensemble = uneven_members(adk, tmp_path)
    here = bits_of_members(ensemble, pool=tj.LocalPool(threads=1))
    hangs, released = tmp_path / "hangs", tmp_path / "released"

    def hang(*_: object) -> None:
        hangs.touch()
        end = time.monotonic() + PATIENCE
        while not released.exists() and time.monotonic() < end:
            time.sleep(0.02)

    wait_until(lambda: len(client.nthreads()) == N_WORKERS)
    victim = min(client.nthreads())
    change_do(client, hang, workers=[victim])
    try:
        begin = time.monotonic()
        assert bits_of_members(ensemble, pool=tj.DaskPool(client)) == here
        assert hangs.exists()
        assert time.monotonic() - begin < PATIENCE
    finally:
        released.touch()
        # Before the folder is removed, whose files the worker looks for.
        wait_until(lambda: not any(client.call_stack().values()))


def test_stopped_worker_stops_no_run(client: Client, long_adk: Adk) -> None:
    """Runs that begin while a worker hangs end without it; it takes part again when it goes on."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    here = tj.rmsd(atoms, pool=tj.LocalPool(threads=1)).values.tobytes()
    wait_until(lambda: len(client.nthreads()) == N_WORKERS)
    address = min(client.nthreads())
    victim = client.run(os.getpid)[address]
    woken = threading.Event()

    def wake() -> None:
        woken.set()
        os.kill(victim, signal.SIGCONT)

    waker = threading.Timer(PATIENCE, wake)
    waker.start()
    os.kill(victim, signal.SIGSTOP)
    try:
        pool = tj.DaskPool(client)
        for _ in range(2):
            assert tj.rmsd(atoms, pool=pool).values.tobytes() == here
        assert not woken.is_set()
        # It goes on within a run, whose setup and tasks it gets only then.
        soon = threading.Timer(0.5, os.kill, (victim, signal.SIGCONT))
        soon.start()
        assert tj.rmsd(atoms, pool=pool).values.tobytes() == here
        soon.join()
    finally:
        waker.cancel()
        os.kill(victim, signal.SIGCONT)
    wait_until(lambda: victim in client.run(os.getpid).values())
    wait_until(lambda: not any(client.run(run_plugins).values()))
    pool = tj.DaskPool(client, scheduling="static")
    report = tj.rmsd(atoms, pool=pool).report
    (found,) = (worker for worker in report["workers"] if worker["address"] == address)
    assert found["tasks"] > 0


def test_client_that_dies_leaves_nothing(client: Client, long_adk: Adk) -> None:
    """The setup of the workers and the records of the scheduler are removed."""
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
    wait_until(lambda: left_behind(client) == [])
    wait_until(lambda: not any(client.run(run_plugins).values()))


def test_workers_that_come_late_or_never_are_waited_for(
    long_adk: Adk, caplog: pytest.LogCaptureFixture
) -> None:
    """A log message states for how long the run waits."""
    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    local = {"n_workers": 0, "threads_per_worker": 2, "dashboard_address": ":0"}
    with LocalCluster(**local) as few, Client(few) as client:
        with raises(tj.WorkerError):
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
    with raises(tj.WorkerError):
        tj.rmsd(atoms, pool=tj.DaskPool(client))


def test_stragglers_are_reported_after_a_restart_of_the_scheduler(long_adk: Adk) -> None:
    """The client subscribes again, because the new scheduler does not know its subscribers."""

    def hang(_work: Any, stop: Any) -> None:
        end = time.monotonic() + 10
        while not stop.is_set and time.monotonic() < end:
            time.sleep(0.02)

    atoms = tj.open(long_adk.psf, long_adk.xtc).select("name CA")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    at = ["--host", "127.0.0.1", "--port", port]
    two = [address, "--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1"]
    with started("scheduler", *at) as first, Client(address, timeout=PATIENCE) as client:
        # Workers end before their scheduler, which they would look for.
        with started("worker", *two):
            client.wait_for_workers(2, timeout=PATIENCE)
            here = tj.rmsd(atoms, pool=tj.DaskPool(client)).values
        connection = client.scheduler_comm
        first.kill()
        first.wait(PATIENCE)
        with started("scheduler", *at), started("worker", *two):
            wait_until(
                lambda: client.status == "running" and client.scheduler_comm is not connection
            )
            client.wait_for_workers(2, timeout=PATIENCE)
            slow = sorted(client.nthreads())[0]
            change_do(client, hang, workers=[slow])
            result = tj.rmsd(atoms, pool=tj.DaskPool(client))
            assert result.values.tobytes() == here.tobytes()
            assert slow in [late["address"] for late in result.report["repeated"]]


INTERRUPTED_CLOSE = """
import os
from pathlib import Path
from distributed import LocalCluster
from trajet.pools.dask import dask_client

def interrupted(self, timeout=None):
    raise KeyboardInterrupt

def is_running(process):
    try:
        return "\\nState:\\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False

def main():
    LocalCluster.close = interrupted
    try:
        with dask_client(None, 2) as client:
            workers = client.run(os.getpid).values()
    except KeyboardInterrupt:
        while any(map(is_running, workers)):
            pass
        print("killed", len(workers), flush=True)
    # The cluster was never closed.
    os._exit(0)

if __name__ == "__main__":
    main()
"""


def test_interrupted_close_kills_the_workers(tmp_path: Path) -> None:
    """Workers that lived on would log that the folder of the cluster is gone."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED_CLOSE, encoding="utf-8")
    done = python(script, code=None)
    assert done.stdout == "killed 2\n"
    assert "Failed to remove" not in done.stderr
