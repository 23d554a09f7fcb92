"""Trajectories that are being opened, which may take minutes, keep no other request waiting."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.asgi_requests import request, requested
from helpers.golden_files import Adk
from trajet.server import app as application
from trajet.server import frames
from trajet.server.frames import Frames, OpeningError
from trajet.server.table import Table
from trajet.trajectory import Trajectory

# Seconds within which other threads must do what is waited for.
PATIENCE = 60
N_FRAMES = 98


@pytest.fixture
def table(adk: Adk, tmp_path: Path) -> Table:
    """Return a table of `0.xtc` to `5.xtc`."""
    paths = [tmp_path / f"{k}.xtc" for k in range(6)]
    for path in paths:
        shutil.copy(adk.xtc, path)
    return Table(paths)


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
            found = [threads.submit(served.n_frames, name) for name in names]
            try:
                for _ in names:
                    assert self.begun.acquire(timeout=PATIENCE)
                yield
            finally:
                self.go_on.set()
            assert [one.result(PATIENCE) for one in found] == [N_FRAMES] * len(names)


def test_one_request_opens_a_trajectory(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others for it are refused meanwhile; those for others are answered."""
    served, slow = Frames(table), SlowFiles(monkeypatch)
    with slow.opening(served, "0.xtc"):
        for ask in (served.n_frames, served.index_of, lambda name: served.frame(name, 0, "")):
            with pytest.raises(OpeningError):
                ask("0.xtc")
        assert served.n_frames("1.xtc") == N_FRAMES
        assert served.frame("1.xtc", 3, "0,2")
    assert served.frame("0.xtc", 3, "0,2") == served.frame("1.xtc", 3, "0,2")
    served.close()


def test_few_are_opened_at_a_time(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that threads are left for those that are open; one that fails leaves its place."""
    served, slow = Frames(table), SlowFiles(monkeypatch)
    assert served.n_frames("5.xtc") == N_FRAMES
    with slow.opening(served, "0.xtc", "1.xtc", "2.xtc", "3.xtc"):
        with pytest.raises(OpeningError):
            served.n_frames("4.xtc")
        assert served.n_frames("5.xtc") == N_FRAMES
    assert served.n_frames("4.xtc") == N_FRAMES
    served.close()


def test_files_that_cannot_be_opened_leave_their_place(adk: Adk, tmp_path: Path) -> None:
    """Errors are those of the file, whatever was asked for before."""
    broken, sound = tmp_path / "broken.xtc", tmp_path / "sound.xtc"
    broken.write_bytes(b"nothing")
    shutil.copy(adk.xtc, sound)
    served = Frames(Table([broken, sound]))
    for _ in range(10):
        with pytest.raises(frames.RequestError, match="no trajectory that can be read"):
            served.n_frames("broken.xtc")
    assert served.n_frames("sound.xtc") == N_FRAMES
    served.close()


def test_clients_wait_without_a_thread(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than there are threads; in the end they are told to come again."""
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
    slow.go_on.clear()
    monkeypatch.setattr(application, "_OPENED_WITHIN", 0.0)
    with slow.opening(app.frames, "2.xtc"):
        refused = request(app, "/traj/numframes/2.xtc")
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
    app.close()
