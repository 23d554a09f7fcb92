"""Members of an ensemble share the workers of a pool, with the bits of runs one by one."""

import contextlib
import os
import shutil
import signal
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.extent import IS_LONG
from helpers.golden_files import Adk
from helpers.made_ensembles import UNEVEN, bits_of_members, uneven_members
from helpers.messages import raises
from trajet.pools import worker_processes
from trajet.pools.jobs import do_job
from trajet.pools.members import each_member, jobs, member_pool, queues, threads
from trajet.pools.members.member_pool import PassResults, TaskResult
from trajet.pools.tasks import TaskOutcome

ATOMS = "name CA and resid 1:40"
# Timeout of a test, s: far more than any needs.
HANGS = 120
POOLS = (tj.LocalPool(threads=2), tj.ProcessPool(workers=2))


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """Fail a test that takes too long, or leaves threads behind."""

    def hang(*_: object) -> None:
        raise TimeoutError(f"no end after {HANGS} s")

    before = signal.signal(signal.SIGALRM, hang)
    known = set(threading.enumerate())
    signal.alarm(HANGS)
    try:
        yield
        left = [one.name for one in threading.enumerate() if one not in known]
        assert not [name for name in left if name.startswith("ThreadPoolExecutor")]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the small files of tests into many tasks."""
    monkeypatch.setattr(member_pool, "MIN_BYTES", 1)


@pytest.fixture(scope="module")
def ensemble(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> tj.Ensemble:
    """Return an ensemble with a long member among short ones."""
    return uneven_members(adk, tmp_path_factory.mktemp("members"))


@pytest.fixture(scope="module")
def one_by_one(ensemble: tj.Ensemble) -> list[bytes | None]:
    """Return the bits that one thread computes."""
    return bits_of_members(ensemble, pool=tj.LocalPool(threads=1))


@pytest.mark.parametrize(
    "pool", [*POOLS, tj.LocalPool(threads=5), tj.LocalPool(threads=2, task_frames=3)], ids=repr
)
def test_bits_are_those_of_members_one_by_one(
    ensemble: tj.Ensemble,
    one_by_one: list[bytes | None],
    pool: tj.Pool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With few tasks and many; progress counts members."""
    for least in (member_pool.MIN_BYTES, 1):
        monkeypatch.setattr(member_pool, "MIN_BYTES", least)
        seen: list[tuple[int, int]] = []
        found = bits_of_members(ensemble, pool=pool, progress=lambda *n, seen=seen: seen.append(n))
        assert found == one_by_one
        assert seen == [(k, len(UNEVEN)) for k in range(1, len(UNEVEN) + 1)]


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_jumps_and_functions_have_the_bits_of_one_thread(
    pool: tj.Pool, tmp_path: Path, small_tasks: None
) -> None:
    """Jumps are counted through all frames of a member, whatever its tasks."""
    walk = np.random.default_rng(1)
    for replica, n_frames in enumerate((3, 60, 12)):
        positions = walk.normal(0, 3, (n_frames, 5, 3)).cumsum(axis=0) % 20
        cells = [20, 20, 20, 90, 90, 90]
        times = np.arange(n_frames)
        tj.write(tmp_path / f"{replica}.xtc", positions, times=times, cells=cells)
    ensemble = tj.ensemble(str(tmp_path / "{replica}.xtc"))
    atoms = ensemble.nojump()
    jobs = [tj.msd.job(atoms), tj.apply.job(atoms, lambda x: x.std(axis=0))]
    here, there = (
        [one.result.values.tobytes() for result in results for one in result.outcomes if one.result]
        for results in (tj.run(jobs, pool=tj.LocalPool(threads=1)), tj.run(jobs, pool=pool))
    )
    assert here == there
    assert len(here) == 2 * 3


def test_large_members_are_cut_and_small_ones_are_one_task(
    ensemble: tj.Ensemble, small_tasks: None
) -> None:
    """Reports say who did what; a small member is done by one thread."""
    both, have_met = threading.Barrier(2, timeout=HANGS), threading.Event()

    def meet(_: Any, frame: int) -> float:
        # Only the long member has these frames: its two threads meet once, however fast one is.
        if frame >= 50 and not have_met.is_set():
            both.wait()
            have_met.set()
        return 0.0

    job = tj.apply.job(ensemble.select(ATOMS), meet, thread_safe=True)
    (result,) = tj.run([job], pool=tj.LocalPool(threads=2))
    reports: list[Any] = [one.result.report for one in result.outcomes if one.result is not None]
    assert [report["parameters"]["n_frames"] for report in reports] == list(UNEVEN)
    assert len(reports[1]["tasks"]) >= 16
    assert [worker["worker"] for worker in reports[1]["workers"]] == [0, 1]
    assert sum(worker["frames"] for worker in reports[1]["workers"]) == UNEVEN[1]
    assert [(r["pool"], r["threads"]) for r in reports[1:3]] == [("local", 2), ("local", 1)]


N_DAMAGED = 6


@pytest.fixture(scope="module")
def sound(adk: Adk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with members of twelve frames."""
    folder = tmp_path_factory.mktemp("sound")
    tj.convert(tj.open(None, adk.xtc), folder / "0.xtc", frames=slice(0, 12))
    shutil.copy(adk.psf, folder / "top.psf")
    for k in range(1, N_DAMAGED):
        shutil.copy(folder / "0.xtc", folder / f"{k}.xtc")
    return folder


def members_in(folder: Path) -> tj.Ensemble:
    """Return the ensemble of a folder."""
    return tj.ensemble(str(folder / "{replica}.xtc"), topology=folder / "top.psf")


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_a_member_that_fails_is_named_or_left_out(
    sound: Path, tmp_path: Path, pool: tj.Pool, small_tasks: None
) -> None:
    """Wherever it stands, while tasks of others wait: no run hangs, no other is damaged."""
    expected = bits_of_members(members_in(sound), pool=tj.LocalPool(threads=1))
    whole = (sound / "0.xtc").read_bytes()
    for damaged in range(N_DAMAGED) if IS_LONG else (0, 2, N_DAMAGED - 1):
        folder = tmp_path / str(damaged)
        shutil.copytree(sound, folder)
        data = bytearray(whole)
        # Behind the header of the seventh frame, so that its index is sound.
        at = len(data) // 12 * 6
        data[at : at + 2000] = b"\xff" * 2000
        (folder / f"{damaged}.xtc").write_bytes(data)
        ensemble = members_in(folder)
        with pytest.raises(tj.FormatError) as caught:
            bits_of_members(ensemble, pool=pool)
        note = f"in member {damaged + 1} of {N_DAMAGED} (replica={damaged})"
        assert caught.value.__notes__[-1] == note
        found = bits_of_members(ensemble, pool=pool, keep_going=True)
        left_out = {damaged, N_DAMAGED + damaged}
        assert found == [None if k in left_out else one for k, one in enumerate(expected)]


@pytest.mark.parametrize("pool", POOLS, ids=repr)
@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupt_ends_all_members(
    ensemble: tj.Ensemble, pool: tj.Pool, after: int, small_tasks: None
) -> None:
    """Progress is called by the thread of the caller; the next run is sound."""

    def interrupt(done: int, _: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bits_of_members(ensemble, pool=pool, progress=interrupt)
    assert None not in bits_of_members(ensemble, pool=pool)


def slowly(positions: np.ndarray) -> np.ndarray:
    """Take a while for each frame."""
    time.sleep(0.05)
    return positions.mean(axis=0)


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_a_signal_ends_members_that_compute(ensemble: tj.Ensemble, pool: tj.Pool) -> None:
    """Large and small ones: within a frame, not at their end."""
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        tj.apply(ensemble.select(ATOMS), slowly, pool=pool)
    timer.join()


def test_a_worker_that_dies_is_the_error_of_its_member(
    ensemble: tj.Ensemble, tmp_path: Path, small_tasks: None
) -> None:
    """Members that were in the same batch are computed again, one by one."""
    long = max(UNEVEN)
    traj = tj.open(None, ensemble[1].trajectories[0])
    last = traj.select([0]).read(frames=[long - 1]).positions[0, 0, 0]

    def kill_at_the_last_frame(positions: np.ndarray) -> np.ndarray:
        if positions[0, 0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return positions.mean(axis=0)

    pool = tj.ProcessPool(workers=2)
    job = tj.apply.job(ensemble.select("index 0"), kill_at_the_last_frame)
    with raises(tj.WorkerError) as caught:
        tj.run([job], pool=pool)
    assert caught.value.__notes__[-1] == f"in member 2 of {len(UNEVEN)} (replica=1)"
    (result,) = tj.run([job], pool=pool, keep_going=True)
    assert [one.result is None for one in result.outcomes] == [k == 1 for k in range(len(UNEVEN))]
    assert None not in bits_of_members(ensemble, pool=pool)


def test_few_files_are_open(adk: Adk, tmp_path: Path) -> None:
    """At most 32 files of 40 members on two workers; one topology is parsed."""
    tj.convert(tj.open(adk.psf, adk.xtc), tmp_path / "0.xtc", frames=slice(0, 2))
    for k in range(1, 40):
        os.link(tmp_path / "0.xtc", tmp_path / f"{k}.xtc")
    ensemble = tj.ensemble(str(tmp_path / "{replica}.xtc"), topology=adk.psf)
    for pool in POOLS:
        most = 0

        def count(*_: int) -> None:
            nonlocal most
            n_open = 0
            for one in os.listdir("/proc/self/fd"):
                with contextlib.suppress(OSError):
                    n_open += os.readlink(f"/proc/self/fd/{one}").startswith(str(tmp_path))
            most = max(most, n_open)

        result: Any = tj.rmsd(ensemble.select(ATOMS), pool=pool, progress=count)
        assert np.asarray([one.result.values for one in result.outcomes]).shape == (40, 2)
        assert most <= 32
    assert ensemble.n_parsed_topologies == 1


class _Faulty:
    """A pool that does jobs at once, and fails at one of its calls."""

    kind = "faulty"
    n_threads = 2

    def __init__(self, fails_at: int, error: BaseException) -> None:
        self.calls, self._fails_at, self._error = 0, fails_at, error

    def do_jobs(
        self, spec: Any, jobs: Sequence[Any], progress: Any = None, take: Any = None
    ) -> list[Any]:
        """Do jobs; see `trajet.pools.jobs.JobPool`. It fails after half of them."""
        self.calls += 1
        worker, unwanted = spec.begin(), set[int]()
        for number, job in enumerate(jobs):
            if self.calls == self._fails_at and number == len(jobs) // 2:
                raise self._error
            if number not in unwanted:
                done = do_job(worker, job, 1, lambda _: None).by(worker=0)
                unwanted.update(take(number, done))
        return []

    run = tj.LocalPool.run


@pytest.mark.parametrize("fails_at", range(1, 6))
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("gone")], ids=repr)
def test_no_driver_waits_for_ever_when_a_pool_fails(
    ensemble: tj.Ensemble,
    one_by_one: list[bytes | None],
    fails_at: int,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At each call: an interrupt ends all; after another error members are tried one by one."""
    # Few members are open, so that there are many batches.
    monkeypatch.setattr(jobs, "_OPEN", 2)
    monkeypatch.setattr(jobs, "_OPEN_OF_WORKER", 1)
    pool: Any = _Faulty(fails_at, error)
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            bits_of_members(ensemble, pool=pool)
    else:
        found = bits_of_members(ensemble, pool=pool, keep_going=True)
        # A batch of several members is done again; the error of one alone is that of its member.
        failed = {k % len(UNEVEN) for k, one in enumerate(found) if one is None}
        assert len(failed) <= 1
        assert all(one in (None, other) for one, other in zip(found, one_by_one, strict=True))
    assert pool.calls >= fails_at


@pytest.mark.parametrize("taken", range(4))
@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_a_caller_may_stop_at_any_member(pool: Any, taken: int) -> None:
    """Those that are open end, whether their tasks wait, run or are about to be given."""
    ended: list[int] = []

    def work(member: int, own: tj.Pool | None) -> None:
        try:
            if isinstance(pool, tj.ProcessPool):
                assert isinstance(own, jobs._MemberOnJobs)
                own._members.do([], lambda *_: True)
        except member_pool.StoppedError:
            pass
        finally:
            ended.append(member)

    with closing(each_member(pool, [1.0] * 60, work)) as done:
        for _ in range(taken):
            next(done)
    # Members that were not open were not begun.
    assert taken <= len(ended) <= taken + jobs._OPEN < 60


def test_a_task_beside_one_that_fails_is_no_interrupt(
    ensemble: tj.Ensemble, small_tasks: None
) -> None:
    """The error of a function is raised, while another task of the same member is stopped."""
    both, failed = threading.Barrier(2, timeout=HANGS), threading.Event()

    def fail(positions: Any, frame: int) -> float:
        # Only the long member has these frames.
        if frame >= 50 and not failed.is_set():
            if both.wait() == 0:
                failed.set()
                raise ValueError("this frame is refused")
            failed.wait(HANGS)
            # Its task is stopped when the error has come to the pool.
            time.sleep(0.2)
        return 0.0

    pool = tj.LocalPool(threads=2)
    with raises(ValueError):
        tj.apply(ensemble.select(ATOMS), fail, thread_safe=True, pool=pool)


def test_members_of_unknown_size_come_first_and_are_cut() -> None:
    """A remote object may be the largest of all."""
    large = 64 * member_pool.MIN_BYTES
    sizes = [1.0, None, large, None]
    assert member_pool.largest_first(sizes) == [1, 3, 2, 0]
    counts = member_pool.task_counts(sizes, 2)
    assert counts[0] == 1
    assert counts[1] == counts[2] == counts[3] > 8
    assert member_pool.task_counts([None, 1.0], 2) == [32, 1]
    assert member_pool.task_counts([None], 1000) == [16_000]


class _Growing(_Faulty):
    """A cluster that has no worker at first, then one, and eight in its second batch."""

    def __init__(self) -> None:
        super().__init__(0, OSError())
        self.n_workers = 0
        self.jobs: list[int] = []

    @property
    def n_threads(self) -> int:
        """Threads of the workers that are there, and 1 before."""
        return max(1, self.n_workers)

    def await_worker(self) -> None:
        """Have a worker join."""
        self.n_workers = 1

    def do_jobs(self, spec: Any, jobs: Sequence[Any], *options: Any, **named: Any) -> list[Any]:
        """Do jobs; see `trajet.pools.jobs.JobPool`."""
        assert self.n_workers
        self.n_workers = 8
        self.jobs.append(len(jobs))
        return super().do_jobs(spec, jobs, *options, **named)


def test_batches_grow_with_the_workers_of_a_cluster(
    ensemble: tj.Ensemble, one_by_one: list[bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker is awaited; those that join later get tasks in the next batch."""
    monkeypatch.setattr(member_pool, "MIN_BYTES", 1)
    monkeypatch.setattr(jobs, "_OPEN", 2)
    pool: Any = _Growing()
    many = tj.ensemble(
        [{"topology": one.topology, "trajectory": one.trajectories} for one in ensemble]
    )
    assert bits_of_members(many, pool=pool) == one_by_one
    # The first batch is cut for one worker, later members for eight.
    assert pool.jobs[0] < max(pool.jobs)


@pytest.mark.parametrize("pool", POOLS, ids=repr)
def test_few_states_are_held_beside_the_merged_ones(
    ensemble: tj.Ensemble, pool: tj.Pool, small_tasks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are merged as they arrive, not at the end of a batch."""
    made: list[weakref.ref[TaskOutcome]] = []
    held: list[int] = []
    do_task, answer, plain = threads.do_task, worker_processes._answer, PassResults.take

    def note(result: Any) -> None:
        if isinstance(result, TaskResult) and result.outcome is not None:
            made.append(weakref.ref(result.outcome))

    def done_here(*arguments: Any) -> Any:
        note(result := do_task(*arguments))
        return result

    def received(*arguments: Any) -> Any:
        found = answer(*arguments)
        note(getattr(found.value, "result", None))
        return found

    def take(self: Any, number: int, result: Any) -> None:
        held.append(sum(one() is not None for one in made[:]))
        plain(self, number, result)

    monkeypatch.setattr(threads, "do_task", done_here)
    monkeypatch.setattr(worker_processes, "_answer", received)
    monkeypatch.setattr(PassResults, "take", take)
    (result,) = tj.run([tj.rmsf.job(ensemble.select("index 0:9"))], pool=pool)
    assert len(result.outcomes) == len(UNEVEN)
    # One of each worker, and that which was taken before.
    assert len(held) > 16
    assert max(held) <= 4


def test_tasks_of_a_member_do_not_begin_after_one_has_failed(
    ensemble: tj.Ensemble, tmp_path: Path, small_tasks: None
) -> None:
    """On processes, too: those that no process has yet are left out."""
    failed, log = tmp_path / "failed", tmp_path / "log"
    # There may be no call after the failure.
    log.touch()

    def fail_at_frame_50(_: Any, frame: int) -> float:
        # Only the long member has these frames.
        if frame == 50:
            failed.touch()
            raise ValueError("this frame is refused")
        if frame > 50:
            until = time.monotonic() + HANGS
            while not failed.exists() and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(0.02)
            with log.open("a") as file:
                file.write("x")
        return 0.0

    (result,) = tj.run(
        [tj.apply.job(ensemble.select("index 0"), fail_at_frame_50)],
        pool=tj.ProcessPool(workers=2),
        keep_going=True,
    )
    assert [one.result is None for one in result.outcomes] == [k == 1 for k in range(len(UNEVEN))]
    assert len(log.read_text()) <= (UNEVEN[1] - 50) // 2


def test_a_worker_runs_no_task_of_a_member_that_failed_there() -> None:
    """Each gets the error of the first, as ranks of MPI learn of errors at the end."""
    worker = queues.MemberTasks().begin()
    task = queues.MemberTask(b"no pickle", b"", 1)
    first = worker.do(task, 1, lambda _: None)
    assert first.error is not None
    assert worker.do(task, 1, lambda _: None).error is first.error
    # Errors of few members are kept, as are their setups.
    for k in range(20):
        worker.do(queues.MemberTask(b"no pickle either: %d" % k, b"", 1), 1, lambda _: None)
    assert len(worker._errors) <= queues._KEPT
    assert worker.do(task, 1, lambda _: None).error is not first.error


def test_the_setup_of_a_member_that_ended_is_not_that_of_another() -> None:
    """A worker that still has a task of it finds no file, and reads none of another."""
    members = jobs.MembersOnJobs(tj.ProcessPool(workers=1), [1.0, 1.0])
    with members.spec_of(b"first") as first:
        assert isinstance(first, Path)
        assert first.read_bytes() == b"first"
    with members.spec_of(b"second") as second:
        assert second != first
        late = queues.MemberTaskWorker().do(
            queues.MemberTask(first, b"", 1), threads=1, show=lambda _: None
        )
        assert isinstance(late.error, FileNotFoundError)
