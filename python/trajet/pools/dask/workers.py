"""Tracks workers and broadcasts the setup of a run to them."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Never
from weakref import WeakKeyDictionary, WeakValueDictionary

from distributed.protocol.pickle import dumps

from trajet._trajet import WorkerError
from trajet.pools.dask.plugins import (
    Recorder,
    RunPlugin,
    SchedulerRecord,
    TaskProgress,
    end_run,
    set_up,
)
from trajet.pools.jobs import JobSpec
from trajet.pools.tasks import WorkerSpec

if TYPE_CHECKING:
    from distributed import Client


# Workers of which one must answer, and the seconds to wait for that.
_PROBED, _PROBE = 3, 2.0

_log = logging.getLogger(__name__)


class Workers:
    """Workers of a cluster, as they join and leave."""

    def __init__(self, client: "Client", patience: float) -> None:
        """Wait at most `patience` seconds for a first worker.

        Raises
        ------
        WorkerError
            If none comes.
        """
        self._client, self._patience = client, patience
        self._numbers: dict[tuple[str, int], int] = {}
        # threads of each Dask worker, by its address
        self.threads: dict[str, int] = client.nthreads()
        if not self.threads:
            where = client.scheduler.address
            _log.warning("no worker has come to %s yet: waiting %g s for one", where, patience)
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=patience)
            self.threads = client.nthreads()
        self._seen = time.monotonic()
        if not self.threads:
            raise self._no_worker()
        # whether results come from the workers directly, not through the scheduler
        self.direct: bool = client.direct_to_workers
        if self.direct is None:
            self.direct = client.sync(_reaches, client, list(self.threads)[:_PROBED])

    def slots(self) -> list[str]:
        """Return the address of the worker of each thread; a thread runs one task at a time."""
        return [address for address, n in sorted(self.threads.items()) for _ in range(n)]

    def number(self, address: str, thread: int) -> int:
        """Return the number of a thread of a worker, in the order of first use."""
        return self._numbers.setdefault((address, thread), len(self._numbers))

    def refresh(self) -> None:
        """Update the list of workers.

        Raises
        ------
        WorkerError
            If there was no worker for too long.
        """
        self.threads = self._client.nthreads()
        now = time.monotonic()
        if self.threads:
            self._seen = now
        elif now - self._seen > self._patience:
            raise self._no_worker()

    def _no_worker(self) -> WorkerError:
        return WorkerError(
            f"no worker came to the scheduler {self._client.scheduler.address} in"
            f" {self._patience:g} s: start one with `dask worker`, or see why the batch system has"
            " not started any"
        )


async def _reaches(client: "Client", addresses: Iterable[str]) -> bool:
    """Return whether one of some workers can be reached from here, as in most clusters."""

    async def reach(address: str) -> None:
        client.rpc.reuse(address, await client.rpc.connect(address, timeout=_PROBE))

    end = time.monotonic() + _PROBE
    pending = {asyncio.ensure_future(reach(address)) for address in addresses}
    is_reached = False
    # Dask waits for ever to close a connection to a worker that hangs: it is not waited for.
    while pending and not is_reached and (left := end - time.monotonic()) > 0:
        done, pending = await asyncio.wait(
            pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
        )
        is_reached = any(one.exception() is None for one in done)
    for one in pending:
        one.cancel()
    return is_reached


class _ProgressListener:
    """Receives progress messages of workers, for all runs of a client while it is connected.

    There is one subscription a connection: Dask keeps every handler that it is given, and delays
    what a client sends within 10 ms of subscribing.
    """

    def __init__(self, client: "Client") -> None:
        self.topic = f"trajet-{client.id}"
        self.runs: WeakValueDictionary[str, Run] = WeakValueDictionary()
        # connection of the current subscription
        self._connection: object = None

    def listen(self, client: "Client") -> None:
        """Subscribe once a connection: a restarted scheduler has forgotten the subscription."""
        connection = client.scheduler_comm
        if connection is not self._connection:
            client.subscribe_topic(self.topic, self._received)
            self._connection = connection

    # The message has the fields of a `TaskProgress`.
    def _received(self, event: tuple[float, Iterable[object]]) -> None:
        message = TaskProgress._make(event[1])
        run = self.runs.get(str(message.key[0]).rpartition("-")[0])
        if run is not None and run.on_progress is not None:
            run.on_progress(message)


_subscribed: WeakKeyDictionary["Client", _ProgressListener] = WeakKeyDictionary()
_subscribing = Lock()


def _listener_of(client: "Client") -> _ProgressListener:
    # Runs may begin on several threads.
    with _subscribing:
        if client not in _subscribed:
            _subscribed[client] = _ProgressListener(client)
        listener = _subscribed[client]
        listener.listen(client)
        return listener


class Run:
    """A run that is registered with the scheduler and the workers until it ends."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._name = f"trajet-{secrets.token_hex(6)}"
        self._passes = 0
        # called with progress messages of workers, on Dask's thread
        self.on_progress: Callable[[TaskProgress], None] | None = None
        self._listener = _listener_of(client)
        self._listener.runs[self._name] = self
        with _naming_hosts(client):
            client.register_plugin(Recorder(self._name, client.id), name=self._name)

    def announce(self, spec: WorkerSpec | JobSpec[Never, object], n_workers: int) -> str:
        """Broadcast the setup of a pass or of jobs to all workers, also to later ones.

        A worker that hangs is not waited for: it gets the setup when it goes on.

        Parameters
        ----------
        n_workers
            Tasks that the workers run at a time, about.

        Returns
        -------
        str
            The name of its tasks.
        """
        before = f"{self._name}-{self._passes - 1}" if self._passes else None
        name = f"{self._name}-{self._passes}"
        self._passes += 1
        plugin = dumps(RunPlugin(spec, name, before, self._listener.topic, n_workers))
        with _naming_hosts(self._client):
            self._client.run_on_scheduler(set_up, self._name, name, plugin)
        return name

    def end(self) -> SchedulerRecord:
        """Remove the run; return the record of the scheduler."""
        record: SchedulerRecord = self._client.run_on_scheduler(end_run, self._name)
        return record


@contextmanager
def started_run(client: "Client") -> Iterator[Run]:
    """Register a run, and remove it if it fails."""
    run = Run(client)
    try:
        yield run
    except BaseException:
        # Otherwise the scheduler has forgotten the run with its client.
        if client.status == "running":
            with suppress(Exception):
                run.end()
        raise


@contextmanager
def _naming_hosts(client: "Client") -> Iterator[None]:
    """Say of a missing package that it is missing on the cluster."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise WorkerError(
            f"the scheduler {client.scheduler.address} or a worker of it has no {error.name}:"
            " install trajet on all machines of the cluster"
        ) from error
