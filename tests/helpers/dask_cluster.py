"""A real Dask scheduler with three workers, as processes on this machine.

Functions that change workers are nested, so that they are pickled by value: workers cannot import
the tests.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest
import trajet as tj
from distributed import Client
from distributed.comm import CommClosedError

from helpers.commands import wait_until
from helpers.golden_files import Adk

N_WORKERS = 3
PATIENCE = 60
# Processes of Dask look at themselves every 10 to 500 ms: an idle cluster takes a fifth of a core.
SELDOM = {
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "2s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__MEMORY__MONITOR_INTERVAL": "2s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}


def pytest_configure() -> None:
    """Have Dask look seldom, in this process and in those that it starts."""
    os.environ.update(SELDOM)
    dask.config.refresh()


@contextmanager
def started(command: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of Dask in the background."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{command}", "--no-dashboard", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Workers are forked from a process that has imported everything, also those that come
        # after a kill: half of the time of these tests.
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "forkserver"},
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


def address_in(file: Path) -> str:
    """Return the address of a scheduler, which writes it into a file when it has started."""
    # The file may exist before it is complete.
    wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
    return json.loads(file.read_text())["address"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of a scheduler with three workers, each of which Dask restarts."""
    folder = tmp_path_factory.mktemp("dask")
    scheduler_file = folder / "scheduler.json"
    place = ["--host", "127.0.0.1", "--scheduler-file", str(scheduler_file)]
    alone = ["--nworkers", str(N_WORKERS), "--nthreads", "1", "--local-directory", str(folder)]
    with started("scheduler", "--port", "0", *place):
        address = address_in(scheduler_file)
        with started("worker", "--nanny", *place, *alone), Client(address) as client:
            client.wait_for_workers(N_WORKERS, timeout=PATIENCE)
            yield client


@pytest.fixture
def client(cluster: Client) -> Iterator[Client]:
    """Return the client with all of its workers, and undo the changes of a test to them."""
    wait_until(lambda: len(cluster.nthreads()) == N_WORKERS)
    yield cluster
    assert left_behind(cluster) == []
    wait_until(lambda: is_undone(cluster))


def is_undone(client: Client) -> bool:
    """Undo changes in all workers; return False if one died and the scheduler still lists it."""
    try:
        client.run(undo)
    except CommClosedError:
        return False
    return True


def left_behind(client: Client) -> list[str]:
    """Return the records of our runs that the scheduler still has."""

    def known(dask_scheduler: Any) -> list[str]:
        names = [*dask_scheduler.plugins, *dask_scheduler.worker_plugins]
        names += [str(key) for key in dask_scheduler.tasks]
        return [name for name in names if "trajet" in name]

    end = time.monotonic() + 10
    # Cancelled tasks disappear soon, not at once.
    while (names := client.run_on_scheduler(known)) and time.monotonic() < end:
        time.sleep(0.05)
    return names


def _make_run_plugins() -> Callable[..., list[str]]:
    def run_plugins(dask_worker: Any) -> list[str]:
        return [name for name in dask_worker.plugins if "trajet" in name]

    return run_plugins


# Returns the names of the plugins of our runs in a worker.
run_plugins = _make_run_plugins()


def change_do(client: Client, first: Callable[..., None], workers: list[str] | None = None) -> None:
    """Have workers call `first(tasks, stop)` before each task; `tasks` is a store of their own."""

    def change() -> None:
        from trajet.pools import tasks

        plain = tasks.Worker.do

        def do(self: Any, task: bytes, rows: Any, stop: Any = None) -> Any:
            first(tasks, stop)
            return plain(self, task, rows, stop)

        tasks.Worker.do = do  # type: ignore[method-assign]
        tasks.plain = plain  # type: ignore[attr-defined]

    client.run(change, workers=workers)


def change_copies(client: Client, first: Callable[..., None]) -> None:
    """Have workers call `first(tasks, number, what)` before each file; see `change_do`."""

    def change() -> None:
        from trajet.conversion import files
        from trajet.pools import tasks

        plain = files.Copier.do
        tasks.files = []  # type: ignore[attr-defined]

        def do(self: Any, what: Any, threads: int, show: Any) -> Any:
            tasks.files.append(what.path.name)
            first(tasks, len(tasks.files), what)
            return plain(self, what, threads, show)

        files.Copier.do = do  # type: ignore[method-assign]
        tasks.plain_copy = plain  # type: ignore[attr-defined]

    client.run(change)


def _make_undo() -> Callable[[], None]:
    def undo() -> None:
        from trajet.pools import tasks

        if hasattr(tasks, "plain"):
            tasks.Worker.do = tasks.plain  # type: ignore[method-assign]
            del tasks.plain
        if hasattr(tasks, "plain_opening"):
            tasks.Worker.opening = tasks.plain_opening  # type: ignore[method-assign]
            del tasks.plain_opening, tasks.opener, tasks.opened
        if hasattr(tasks, "plain_copy"):
            from trajet.conversion import files

            files.Copier.do = tasks.plain_copy  # type: ignore[method-assign]
            del tasks.plain_copy

    return undo


undo = _make_undo()


def broken_copy(adk: Adk, folder: Path) -> Path:
    """Return a copy of the trajectory with a corrupt frame, and without a kept index."""
    broken = folder / "broken.xtc"
    data = bytearray(adk.xtc.read_bytes())
    offset = int(tj.open(None, adk.xtc).source.reader.offsets()[500])
    data[offset + 100 : offset + 400] = bytes(300)
    broken.write_bytes(data)
    return broken
