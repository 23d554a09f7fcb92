"""A worker process that dies, or sends what no worker sends, at any byte of its answer."""

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trajet as tj
from helpers.forked_processes import children
from helpers.golden_files import Adk
from helpers.messages import raises
from trajet.pools import processes, worker_main
from trajet.pools.dispatch import Copy
from trajet.pools.worker_processes import WorkerProcesses, start_new

SIZE = 300_000
NEW, FORKED = tj.ProcessPool(workers=1), tj.ProcessPool(workers=1, fork=True)


def pipes_and_files() -> Counter[str]:
    """Return the open pipes and files; connections of other tests come and go."""
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/self/fd/{number}")
            if not name.startswith(("socket:", "anon_inode:", "/proc/")):
                found[name] += 1
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    """Each test leaves no process, no file in memory and no open pipe.

    What earlier tests left to the garbage collector is closed before, or meanwhile.
    """
    processes.end_kept()
    gc.collect()
    children_before, open_before = children(), pipes_and_files()
    yield
    processes.end_kept()
    assert children() <= children_before
    assert not pipes_and_files() - open_before
    assert not list(Path("/dev/shm").glob(f"trajet-{os.getpid()}-*"))


def cut_at(n: int, how: Callable[[], object], size: int) -> bytes:
    """Have this worker send `n` bytes of its answer only, and then do something else."""
    write, left = os.write, n

    def write_some(pipe: int, data: bytes | memoryview) -> int:
        nonlocal left
        if pipe < 3:
            return write(pipe, data)
        sent = memoryview(data)[: max(left, 0)]
        left -= len(data)
        done = 0
        while done < len(sent):
            done += write(pipe, sent[done:])
        if left <= 0:
            how()
        return len(data)

    os.write = write_some  # type: ignore[assignment]
    return bytes(size)


def kill_self() -> None:
    """End this process as the kernel does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def cuts(n: int) -> list[int]:
    """Return places in a message: in its length, in front of, at and behind the size of a pipe."""
    chosen = [0, 1, 7, 8, 9, 65_535, 65_536, 65_544, SIZE - 1, SIZE]
    return [*chosen, *random.Random(n).choices(range(SIZE), k=max(0, n - len(chosen)))][:n]


@pytest.mark.kills(10)
def test_forked_worker_killed_at_any_byte_is_an_error(kills: int) -> None:
    """Also while its answer is larger than the pipe has room for."""
    for n in cuts(kills):
        with raises(tj.WorkerError):
            FORKED.map(partial(cut_at, n, kill_self), [SIZE])


@pytest.mark.kills(2)
def test_new_worker_killed_at_any_byte_is_an_error(kills: int) -> None:
    """The next call has processes of its own."""
    for n in cuts(kills) if kills > 2 else [3, 65_544]:
        with raises(tj.WorkerError):
            NEW.map(partial(cut_at, n, kill_self), [SIZE])


def test_answer_that_was_sent_whole_counts() -> None:
    """A worker that dies after the last byte of its answer has done its work."""

    def answer(sent: int) -> bytes:
        worker_main._write = lambda pipe, data, real=worker_main._write: (  # type: ignore[misc]
            real(pipe, data),
            kill_self() if len(data) > 8 else None,
        )[0]
        return bytes(sent)

    assert FORKED.map(answer, [SIZE]) == [bytes(SIZE)]


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff" * 8,
        b"\x7f" + bytes(6) + b"\x7f",
        (5).to_bytes(8, "little") + b"abcde",
        (1000).to_bytes(8, "little") + b"abcde",
    ],
)
def test_answer_that_is_none_is_an_error(sent: bytes) -> None:
    """Such as a length that is larger than memory, and a worker that closes its pipe and lives."""

    def spoil(data: bytes) -> None:
        def write(pipe: int, _: bytes) -> None:
            os.write(pipe, data)
            os.close(pipe)
            time.sleep(60)

        worker_main._write = write

    with raises(tj.WorkerError):
        FORKED.map(spoil, [sent])


def test_death_is_noticed_while_others_hold_the_pipe(tmp_path: Path) -> None:
    """Processes that a worker started may live on."""

    def leave(_: int) -> None:
        if os.fork():
            kill_self()
        tmp_path.joinpath("pid").write_text(str(os.getpid()))
        time.sleep(60)
        os._exit(0)

    try:
        with raises(tj.WorkerError):
            FORKED.map(leave, [1])
    finally:
        while not (path := tmp_path / "pid").exists() or not path.read_text():
            time.sleep(0.01)
        os.kill(int(path.read_text()), signal.SIGKILL)


def test_errors_that_cannot_be_pickled_arrive() -> None:
    """As well as those whose class only a script knows, and results that cannot be unpickled."""

    class OfScriptError(Exception):
        pass

    class TwoArgumentsError(Exception):
        def __init__(self, one: str, two: str) -> None:
            super().__init__(one + two)

    def fail(number: int) -> object:
        if number == 0:
            raise OfScriptError("of a script")
        if number == 1:
            raise TwoArgumentsError("two ", "arguments")
        if number == 2:
            raise SystemExit(3)
        return (type(number),)

    with raises(OfScriptError) as caught:
        FORKED.map(fail, [0])
    assert "in fail" in str(caught.value.__cause__)
    with raises(tj.WorkerError):
        FORKED.map(fail, [1])
    with pytest.raises(SystemExit):
        FORKED.map(fail, [2])
    assert FORKED.map(fail, [3]) == [(int,)]


def test_large_items_and_results_travel() -> None:
    """Pipes have room for 64 KiB; both directions are busy at the same time."""
    items = [np.full(400_000, n) for n in range(6)]
    pool = tj.ProcessPool(workers=3, fork=True)
    found = pool.map(lambda item: item + 1, items)
    assert [one.tobytes() for one in found] == [(item + 1).tobytes() for item in items]


def test_worker_without_work_ends_and_another_starts() -> None:
    """A worker that leaves while a call is on its way has not begun the call."""

    def hurry(_: int) -> int:
        worker_main._IDLE = 0.0
        return os.getpid()

    (first,) = NEW.map(hurry, [0])
    deadline = time.monotonic() + 60
    while os.waitid(os.P_PID, first, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # As if it had ended a moment later: the pool gives it the call.
    assert processes._kept is not None
    processes._kept.limit = lambda *_: None  # type: ignore[method-assign]
    (second,) = NEW.map(lambda _: os.getpid(), [0])
    assert first != second


def test_forked_child_has_workers_of_its_own() -> None:
    """It does not talk to those of its parent."""
    (worker,) = NEW.map(lambda _: os.getpid(), [0])
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        code = 1
        try:
            (own,) = FORKED.map(lambda _: os.getppid(), [0])
            code = 0 if own == os.getpid() and processes._kept is None else 2
        finally:
            os._exit(code)
    os.close(reading)
    os.close(writing)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert NEW.map(lambda _: os.getpid(), [0]) == [worker]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_a_run_whose_worker_stops_in_the_middle(
    adk: Adk, tmp_path: Path, number: signal.Signals
) -> None:
    """The worker is stopped and sends no more; the command has its exit code, and no child."""
    script = f"""
import os, pathlib, signal, sys
from trajet import signals
from trajet.pools import worker_main, processes
import trajet.pools.worker_processes as parent

def stop(pipe, data):
    os.write(pipe, bytes(data)[:3])
    pathlib.Path({str(tmp_path)!r}, "pid").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)

worker_main._write = stop
processes.start_new = parent.start_forked
sys.argv = ["trajet", "rmsd", {str(adk.psf)!r}, {str(adk.xtc)!r}, "--select", "name CA",
    "--pool", "processes", "--workers", "1", "--quiet"]
from trajet.cli import main
main()
"""
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as run:
        while not (path := tmp_path / "pid").exists() or not path.read_text():
            assert run.poll() is None
            time.sleep(0.02)
        run.send_signal(number)
        _, message = run.communicate(timeout=60)
    by = " by SIGTERM" if number == signal.SIGTERM else ""
    assert (run.returncode, message) == (128 + number, f"trajet: interrupted{by}\n")
    assert not Path("/proc", path.read_text(), "exe").exists()


@pytest.mark.parametrize("n_workers", [1, 2])
def test_call_behind_one_whose_worker_dies_is_done_by_another(n_workers: int) -> None:
    """Workers that hold two calls lose only the one that they do; answers come once."""
    workers = WorkerProcesses(start_new)
    workers.limit(n_workers, calls_of_each=2)
    for number in range(8):
        call = partial(os._exit, 3) if number in (0, 4) else partial(str, number)
        workers.submit(Copy(number, 0), call)
    assert workers.have_calls
    answers: list[Any] = []
    while workers.have_calls:
        answers += workers.wait()
    workers.end()
    values = {copy.task: value for copy, value, error in answers if error is None}
    assert values == {number: str(number) for number in (1, 2, 3, 5, 6, 7)}
    errors = {copy.task: str(error) for copy, _, error in answers if error is not None}
    assert errors == dict.fromkeys((0, 4), " (exit code 3)")
    assert len(answers) == 8
