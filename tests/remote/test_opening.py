"""Trajectories that are being opened, which may take minutes, keep no other request waiting."""

import asyncio
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.asgi_requests import request, requested
from helpers.golden_files import Adk
from trajet.remote import stores
from trajet.server import app as application
from trajet.server import frames
from trajet.server.frames import Frames, OpeningError
from trajet.server.served_names import ServedNames
from trajet.trajectory import Trajectory

# Seconds within which other threads must do what is waited for.
PATIENCE = 60
N_FRAMES = 98


@pytest.fixture
def table(adk: Adk, tmp_path: Path) -> ServedNames:
    """Return a table of `0.xtc` to `5.xtc`."""
    paths = [tmp_path / f"{k}.xtc" for k in range(6)]
    for path in paths:
        shutil.copy(adk.xtc, path)
    return ServedNames(paths)


class SlowFiles:
    """Trajectories that are opened when `go_on` is set; `begun` counts those that wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()
        self.slow = set[str]()
        self._open = frames._open
        monkeypatch.setattr(frames, "_open", self.open)

    def open(self, target: str) -> Trajectory:
        """Open a trajectory."""
        if Path(target).name in self.slow:
            self.begun.release()
            assert self.go_on.wait(PATIENCE)
        return self._open(target)

    @contextmanager
    def opening(self, served: Frames, *names: str) -> Iterator[None]:
        """Open trajectories in threads, which end with the context."""
        self.slow.update(names)
        with ThreadPoolExecutor(len(names)) as threads:
            found = [threads.submit(served.open, name) for name in names]
            try:
                for _ in names:
                    assert self.begun.acquire(timeout=PATIENCE)
                yield
            finally:
                self.go_on.set()
            for one in found:
                one.result(PATIENCE)


def test_trajectories_are_read_while_others_are_opened(
    table: ServedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are not open are refused, which costs nothing."""
    served, slow = Frames(table), SlowFiles(monkeypatch)
    served.open("1.xtc")
    with slow.opening(served, "0.xtc"):
        for ask in (served.n_frames, served.index_of, lambda name: served.frame(name, 0, "")):
            with pytest.raises(OpeningError):
                ask("0.xtc")
        assert served.n_frames("1.xtc") == N_FRAMES
        assert served.frame("1.xtc", 3, "0,2")
    assert served.frame("0.xtc", 3, "0,2") == served.frame("1.xtc", 3, "0,2")
    served.close()


def test_refused_requests_close_no_trajectory(
    table: ServedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those that are open nor those that are being opened, however many are refused."""
    monkeypatch.setattr(frames, "_TRAJECTORIES", 2)
    served, slow = Frames(table), SlowFiles(monkeypatch)
    served.open("0.xtc")
    with slow.opening(served, "1.xtc"):
        for _ in range(3):
            for name in ("2.xtc", "3.xtc", "4.xtc", "5.xtc"):
                with pytest.raises(OpeningError):
                    served.n_frames(name)
        assert served.n_frames("0.xtc") == N_FRAMES
        # The one that is being opened keeps its place.
        served.open("2.xtc")
        served.open("3.xtc")
    assert served.n_frames("1.xtc") == served.n_frames("3.xtc") == N_FRAMES
    for name in ("0.xtc", "2.xtc"):
        with pytest.raises(OpeningError):
            served.n_frames(name)
    served.close()


def test_files_that_cannot_be_opened_take_no_place(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors are those of the file, whatever was asked for before."""
    monkeypatch.setattr(frames, "_TRAJECTORIES", 1)
    broken, sound = tmp_path / "broken.xtc", tmp_path / "sound.xtc"
    broken.write_bytes(b"nothing")
    shutil.copy(adk.xtc, sound)
    app = application.App(ServedNames([broken, sound]), lambda _: None)
    for _ in range(10):
        refused = request(app, "/traj/numframes/broken.xtc")
        assert (refused.status, b"no trajectory" in refused.body) == (404, True)
    assert request(app, "/traj/numframes/sound.xtc").body == b"98"
    app.close()


def test_trajectories_are_opened_in_turn(
    adk: Adk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clients of each replica of an ensemble that has more of them than are kept open."""
    paths = [tmp_path / f"{k}.xtc" for k in range(20)]
    for path in paths:
        path.hardlink_to(adk.xtc)
    monkeypatch.setattr(frames, "_TRAJECTORIES", 8)
    lock, opened, now = threading.Lock(), list[str](), Counter[str]()
    at_a_time = set[int]()
    real = frames._open

    def slow(target: str) -> Trajectory:
        with lock:
            opened.append(target)
            now[target] += 1
            at_a_time.add(now.total())
            assert now[target] == 1
        time.sleep(0.1)
        try:
            return real(target)
        finally:
            with lock:
                now[target] -= 1

    monkeypatch.setattr(frames, "_open", slow)
    app = application.App(ServedNames(paths), lambda _: None)

    async def client(name: str) -> list[bytes]:
        return [(await requested(app, f"/traj/numframes/{name}")).body for _ in range(3)]

    async def ask_all() -> list[list[bytes]]:
        return await asyncio.gather(*(client(path.name) for path in paths for _ in range(2)))

    assert asyncio.run(ask_all()) == [[b"98"] * 3] * 40
    # Once for each of the rounds at most.
    assert len(opened) <= 3 * len(paths), len(opened)
    assert max(at_a_time) <= application._OPENINGS
    app.close()


def test_file_that_grows_all_the_time_is_read(
    table: ServedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is open, as it was after the request came, also if it has changed since."""
    opened = list[str]()
    real = frames._open

    def changing(target: str) -> Trajectory:
        opened.append(target)
        found = real(target)
        os.utime(target, ns=(len(opened), len(opened)))
        return found

    monkeypatch.setattr(frames, "_open", changing)
    app = application.App(table, lambda _: None)
    for path in ("/traj/numframes/0.xtc", "/file/0.xtc.trajet-index", "/traj/numframes/0.xtc"):
        assert request(app, path).status == 200
    assert len(opened) == 3
    app.close()


def test_clients_get_an_answer_before_they_give_up() -> None:
    """The server tells them to come again; trajet's own client waits for so many seconds."""
    patience = float(str(stores._CLIENT["read_timeout"]).removesuffix("s"))
    assert patience >= application._OPENED_WITHIN + 3


def test_clients_wait_without_a_thread(table: ServedNames, monkeypatch: pytest.MonkeyPatch) -> None:
    """More requests than threads; those that wait too long get 503 with Retry-After."""
    app, slow = application.App(table, lambda _: None), SlowFiles(monkeypatch)

    async def ask_many() -> list[bytes]:
        many = [requested(app, "/traj/numframes/0.xtc") for _ in range(20)]
        waiting = asyncio.gather(*many)
        assert await asyncio.to_thread(slow.begun.acquire, timeout=PATIENCE)
        other = await requested(app, "/traj/numframes/1.xtc")
        slow.go_on.set()
        return [other.body, *(answer.body for answer in await waiting)]

    slow.slow.add("0.xtc")
    assert asyncio.run(ask_many()) == [b"98"] * 21
    app.close()


def test_clients_are_told_to_come_again(
    table: ServedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a trajectory, or those before it, are opened for long; others are read meanwhile."""
    app, slow = application.App(table, lambda _: None), SlowFiles(monkeypatch)
    monkeypatch.setattr(application, "_OPENED_WITHIN", 0.1)
    slow.slow.update(f"{k}.xtc" for k in range(4))
    app.frames.open("5.xtc")

    async def ask_all() -> list[bytes]:
        first = asyncio.gather(*(requested(app, f"/traj/numframes/{k}.xtc") for k in range(4)))
        for _ in range(4):
            assert await asyncio.to_thread(slow.begun.acquire, timeout=PATIENCE)
        for name in ("0.xtc", "4.xtc", "4.xtc"):
            refused = await requested(app, f"/traj/numframes/{name}")
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        found = [await requested(app, "/traj/numframes/5.xtc")]
        slow.go_on.set()
        found += [*await first, await requested(app, "/traj/numframes/4.xtc")]
        return [answer.body for answer in found]

    assert asyncio.run(ask_all()) == [b"98"] * 6
    app.close()
