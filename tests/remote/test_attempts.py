"""Requests while a trajectory is opened: made again after failures, and left on Ctrl-C."""

import _thread
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trajet as tj
from helpers import range_server as faults
from helpers.commands import wait_until
from helpers.golden_files import Adk
from helpers.messages import raises
from helpers.range_server import RangeServer
from hypothesis import given
from hypothesis import strategies as st
from trajet import cache
from trajet.remote import attempts
from trajet.remote.attempts import in_threads
from trajet.remote.failures import Failure


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, adk: Adk) -> Path:
    """Return a folder with a trajectory in two formats, a topology and a data set."""
    made = tmp_path_factory.mktemp("served")
    traj = tj.open(adk.psf, adk.xtc)
    tj.convert(traj, made / "run.xtc", frames=slice(30))
    tj.convert(traj, made / "run.h5md", frames=slice(5))
    shutil.copyfile(adk.psf, made / "top.psf")
    store = tj.Store(tmp_path_factory.mktemp("store") / "md", create=True)
    store.add("run", tj.open(made / "top.psf", made / "run.xtc"))
    from obstore.store import LocalStore

    store.publish("run", (LocalStore(made), "md/run"))
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[RangeServer]:
    """Return a server of the folder, and of it as a bucket "md"."""
    with RangeServer(folder) as running:
        yield running


OPENED: dict[str, tuple[str, ...]] = {
    "trajectory": ("run.xtc",),
    "several": ("top.psf", "run.xtc", "run.xtc"),
    "HDF5": ("run.h5md",),
    "data set": ("md/run",),
}


def opened(server: RangeServer, names: tuple[str, ...]) -> tj.Trajectory:
    """Open objects as who has not opened them before."""
    for kept in ("index", "topologies", "stores"):
        shutil.rmtree((cache.folder() or server.folder) / kept, ignore_errors=True)
    urls = [server.url(name) for name in names]
    first = [] if len(urls) > 1 or "." not in urls[0].rpartition("/")[2] else [None]
    return tj.open(*first, *urls, allow_http=True, connections=2)


def are_left() -> bool:
    """Return whether all threads of requests have ended."""
    return not any(thread.name == "trajet-remote" for thread in threading.enumerate())


@pytest.mark.parametrize("name", OPENED)
def test_ctrl_c_ends_opening_at_each_request(server: RangeServer, name: str) -> None:
    """No answer is waited for, whichever the request is."""
    number = 0
    while True:
        waits, ends = threading.Event(), threading.Event()

        def silent(answer: faults.Answer, waits: Any = waits, ends: Any = ends) -> faults.Answer:
            waits.set()
            ends.wait(60)
            return answer

        def interrupt(waits: Any = waits, ends: Any = ends) -> None:
            waits.wait()
            if not ends.is_set():
                _thread.interrupt_main()

        server.clear()
        server.on_request(number, silent)
        other = threading.Thread(target=interrupt)
        other.start()
        try:
            opened(server, OPENED[name])
        except KeyboardInterrupt:
            assert not ends.is_set()
            number += 1
            continue
        finally:
            ends.set()
            waits.set()
            other.join()
            wait_until(are_left)
        break
    assert number >= 3


SCRIPT = """
import sys, trajet as tj
print("begun", flush=True)
tj.open(None, *sys.argv[1:], allow_http=True, connections=16)
"""


def test_a_process_ends_by_ctrl_c_while_it_opens(server: RangeServer) -> None:
    """By the signal, and while its requests still wait."""
    server.always(lambda answer: (server.ended.wait(60), answer)[1])
    command = [sys.executable, "-c", SCRIPT, *(f"{server.url('run.xtc')}?{k}" for k in range(8))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: server.most_at_once == 8)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(30)
    assert process.returncode in (-signal.SIGINT, 130), errors
    assert not server.requests


def test_objects_are_asked_for_again_while_the_server_is_busy(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More often than a server that gives no answer, as the URL may be wrong."""
    from trajet.remote.objects import RemoteFile

    monkeypatch.setattr(RemoteFile, "pauses", (0.01,) * 8)
    server.on_request(0, faults.throttled(503), times=8)
    assert opened(server, ("run.xtc",)).n_frames == 30
    for fault, count in ((faults.throttled(429), 9), (faults.closed(), 4)):
        server.clear()
        server.always(fault)
        with raises(tj.RemoteError):
            opened(server, ("run.xtc",))
        assert server.count() == count


@given(
    st.lists(st.sampled_from(["ok", "busy", "transient", "refused", "missing"]), max_size=12),
    st.lists(st.just(0.0), max_size=8),
    st.booleans(),
)
def test_attempts_end_with_the_first_answer_or_after_all_pauses(
    kinds: list[str], pauses: list[float], is_opened: bool
) -> None:
    """As a naive loop over the answers."""
    answers = iter([*kinds, *["ok"] * 9])
    asked = []

    def request() -> str | Failure:
        asked.append(next(answers))
        return "ok" if asked[-1] == "ok" else (asked[-1], "")  # type: ignore[return-value]

    found = attempts.attempts(request, pauses, is_opened=is_opened)
    expected = []
    for number, kind in enumerate([*kinds, *["ok"] * 9]):
        expected.append(kind)
        is_last = number == len(pauses) or (not is_opened and number >= 3 and kind != "busy")
        if kind not in ("busy", "transient") or is_last:
            break
    assert asked == expected
    assert found == ("ok" if asked[-1] == "ok" else (asked[-1], ""))


@given(st.lists(st.integers(-3, 9), max_size=20), st.integers(1, 8))
def test_threads_give_the_results_in_order_or_the_first_error(items: list[int], most: int) -> None:
    """Negative numbers are errors; the first one counts, whatever the others did before."""

    def call(item: int) -> int:
        if item % 3 == 0:
            time.sleep(0.0005)
        if item < 0:
            raise ValueError(item)
        return 2 * item

    found: list[int] = []
    first = next((item for item in items if item < 0), None)
    if first is None:
        found = list(in_threads(call, items, most))
        assert found == [2 * item for item in items]
        return
    with raises(ValueError, first):
        found.extend(in_threads(call, items, most))


def test_threads_that_are_left_make_no_further_request() -> None:
    """Neither for other items, nor again."""
    asked: list[int] = []
    waits = threading.Event()

    def request() -> Failure:
        asked.append(1)
        waits.set()
        return "transient", ""

    def call(_: int) -> object:
        return attempts.attempts(request, (60.0,) * 8)

    run: Callable[[], object] = lambda: list(in_threads(call, range(9), 1))  # noqa: E731
    other = threading.Thread(target=lambda: (waits.wait(), _thread.interrupt_main()))
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    other.join()
    wait_until(are_left)
    assert asked == [1]
