"""Who is there, and what all of them are told."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from trajet._trajet import WorkerError
from trajet.pools.dask.plugins import Member, Record, Recorder, take_record
from trajet.pools.work import MOST_ATTEMPTS, Brief

_log = logging.getLogger(__name__)


class Crew:
    """The workers of a cluster, as they come and go."""

    def __init__(self, client: Any, patience: float) -> None:
        """Wait for a first one, so many seconds.

        Raises
        ------
        WorkerError
            If none comes.
        """
        self._client, self._patience = client, patience
        self._numbers: dict[tuple[str, int], int] = {}
        # of each worker of Dask, by its address
        self.threads: dict[str, int] = client.nthreads()
        if not self.threads:
            where = client.scheduler.address
            _log.warning("no worker has come to %s yet: waiting %g s for one", where, patience)
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=patience)
            self.threads = client.nthreads()
        self._seen = time.monotonic()
        if not self.threads:
            raise self._nobody()

    def slots(self) -> list[str]:
        """Return the worker of each thread, which does a task at a time."""
        return [address for address, n in sorted(self.threads.items()) for _ in range(n)]

    def number(self, address: str, thread: int) -> int:
        """Return a number for a thread of a worker."""
        return self._numbers.setdefault((address, thread), len(self._numbers))

    def count(self) -> None:
        """See who is there.

        Raises
        ------
        WorkerError
            If nobody was there for too long.
        """
        self.threads = self._client.nthreads()
        now = time.monotonic()
        if self.threads:
            self._seen = now
        elif now - self._seen > self._patience:
            raise self._nobody()

    def _nobody(self) -> WorkerError:
        return WorkerError(
            f"no worker came to the scheduler {self._client.scheduler.address} in"
            f" {self._patience:g} s: start one with `dask worker`, or see why the batch system has"
            " not started any"
        )


@contextmanager
def briefed(client: Any, run: str) -> Iterator[Callable[[Brief], str]]:
    """Give what tells all workers of a pass, those that come later too, and returns its name."""
    names: list[str] = []

    def tell(brief: Brief) -> str:
        name, before = f"{run}-{len(names)}", names[-1] if names else None
        names.append(name)
        _register(client, Member(brief, name, before), name)
        return name

    try:
        yield tell
    finally:
        for name in names:
            # A worker that just died has nothing to forget.
            with suppress(Exception):
                client.unregister_worker_plugin(name)


@contextmanager
def recorded(client: Any, run: str) -> Iterator[Callable[[], Record]]:
    """Have the scheduler write down what becomes of the tasks of a run."""
    _register(client, Recorder(run, client.id), run)
    taken = False

    def take() -> Record:
        nonlocal taken
        record: Record = client.run_on_scheduler(take_record, run)
        taken = True
        return record

    try:
        yield take
    finally:
        if not taken:
            with suppress(Exception):
                take()


def _register(client: Any, plugin: Any, name: str) -> None:
    """Register a plugin of Dask, also while a worker dies."""
    for attempt in range(1, MOST_ATTEMPTS + 1):
        try:
            client.register_plugin(plugin, name=name)
            return
        except ModuleNotFoundError as error:
            raise WorkerError(
                f"the scheduler {client.scheduler.address} or a worker of it has no {error.name}:"
                " install trajet on all machines of the cluster"
            ) from error
        except OSError:
            if attempt == MOST_ATTEMPTS:
                raise
            time.sleep(0.5)
