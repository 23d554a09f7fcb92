"""Dask clusters on this machine, and clients of running schedulers."""

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from trajet import signals
from trajet._trajet import MissingPackageError, WorkerError, available_threads
from trajet.output import folder_in

if TYPE_CHECKING:
    from distributed import Client, LocalCluster, Security
    from tornado.platform.asyncio import BaseAsyncIOLoop as IOLoop


# Seconds for a scheduler to answer.
_PATIENCE = 10.0
# Seconds after which the thread that starts a cluster waits for its event loop.
_BEFORE_WAITING = 0.3


def distributed() -> ModuleType:
    """Return the package `distributed`.

    Raises
    ------
    MissingPackageError
        If it is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingPackageError(
            "a Dask cluster needs distributed: pip install 'trajet[dask]'"
        ) from error
    module: ModuleType = distributed
    return module


@contextmanager
def dask_client(
    scheduler: str | None = None, workers: int | None = None, threads: int = 1
) -> Iterator["Client"]:
    """Make a client of a scheduler by its address, or of workers of this machine while it is used.

    Each worker has `threads` threads, and does as many tasks at once. Other users of the machine
    cannot use them: scheduler and workers listen on 127.0.0.1 alone, refuse connections without
    the certificate that is made for this cluster, serve no dashboard, and keep their files in a
    folder of this user. A cluster at `scheduler` is as safe as it was started.

    Raises
    ------
    WorkerError
        If no scheduler answers there.
    """
    module = distributed()
    if scheduler is None:
        with _cluster(module, workers or available_threads(), threads) as client:
            yield client
        return
    try:
        client = module.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"{scheduler}: no Dask scheduler answers there within {_PATIENCE:g} s ({error}): is it"
            " running, and is the address right?"
        ) from error
    with client:
        yield client


@contextmanager
def _cluster(module: ModuleType, workers: int, threads: int) -> Iterator["Client"]:
    """Make a client of workers of this machine while it is used."""

    def make(folder: Path, loop: "IOLoop") -> "LocalCluster":
        return module.LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            # Without TLS, other users could send code to run.
            host="127.0.0.1",
            protocol="tls://",
            security=_security(module, folder),
            # Each has a small HTTP server in any case: any free port of this machine alone.
            dashboard_address=None,
            scheduler_kwargs={
                "dashboard": False,
                "dashboard_address": "127.0.0.1:0",
                "local_directory": str(folder),
            },
            worker_dashboard_address="127.0.0.1:0",
            loop=loop,
            preload="trajet.pools.dask.worker_preload",
            local_directory=str(folder),
            env={"TMPDIR": str(folder)},
        )

    import dask

    place = dask.config.get("temporary-directory", None)
    with (
        folder_in(None if place is None else Path(place)) as folder,
        # By default workers share a folder that another user may have made; what they spill there
        # is read back as pickles. This folder also removes the files of killed workers.
        dask.config.set({"temporary-directory": str(folder)}),
        _without_broken_handshakes(),
    ):
        cluster = _start_cluster(partial(make, folder))
        with (
            # Workers that outlived an interrupted `close` would log that their folder is gone.
            _killed_if_interrupted(cluster, folder),
            closing(cluster),
            module.Client(cluster) as client,
            # A worker would end only after its task.
            _killed_if_interrupted(cluster, folder),
        ):
            yield client


@contextmanager
def _without_broken_handshakes() -> Iterator[None]:
    """Do not log connections that workers begin and break off as they end."""

    def is_other(record: logging.LogRecord) -> bool:
        return "TLS handshake failed" not in record.getMessage()

    log = logging.getLogger("distributed.comm.tcp")
    log.addFilter(is_other)
    try:
        yield
    finally:
        log.removeFilter(is_other)


def _security(module: ModuleType, folder: Path) -> "Security":
    """Return a new key and its certificate, in files of a folder that only this user can read.

    OpenSSL reads files. Dask makes them anew for each connection if it has the texts, in the folder
    of temporary files, where a process that is ended leaves them.
    """
    security: Security = module.Security.temporary()
    for role in ("client", "scheduler", "worker"):
        for name in ("tls_ca_file", f"tls_{role}_key", f"tls_{role}_cert"):
            path = folder / f"{name}.pem"
            if not path.exists():
                path.write_text(getattr(security, name), encoding="ascii")
            setattr(security, name, str(path))
    return security


@contextmanager
def _killed_if_interrupted(cluster: "LocalCluster", folder: Path) -> Iterator[None]:
    """Kill the workers of a cluster at a KeyboardInterrupt; do not log that `folder` is gone."""
    try:
        yield
    except KeyboardInterrupt:
        logging.getLogger("distributed.diskutils").addFilter(
            lambda record: str(folder) not in record.getMessage()
        )
        for nanny in list(cluster.workers.values()):
            nanny.auto_restart = False
            if nanny.pid is not None:
                with suppress(OSError):
                    os.kill(nanny.pid, signal.SIGKILL)
        raise


def _start_cluster(make: Callable[["IOLoop"], "LocalCluster"]) -> "LocalCluster":
    """Return the cluster that `make` returns for an event loop.

    It is called in a thread, whose processes do not receive Ctrl-C.
    """
    from distributed.deploy.spec import close_clusters
    from distributed.utils import LoopRunner

    made: Future[LocalCluster] = Future()
    loops: list[IOLoop] = []

    def work() -> None:
        try:
            with signals.kept_from_children(tracker=True):
                runner = LoopRunner()
                runner.start()
                loops.append(runner.loop)
                made.set_result(make(runner.loop))
        except (OSError, RuntimeError, TimeoutError) as error:
            # Dask's error says that a process did not start, its cause why.
            why = error.__cause__ or error
            failed = WorkerError(
                f"Dask could not start a cluster on this machine ({type(why).__name__}: {why}):"
                " see the limits of open files, processes and memory (ulimit -a), or give the"
                " address of a running scheduler"
            )
            failed.__cause__ = error
            made.set_exception(failed)
        except BaseException as error:
            made.set_exception(error)

    # A daemon: an interrupt does not wait for its end.
    thread = threading.Thread(target=work, name="trajet-cluster", daemon=True)
    thread.start()
    try:
        return made.result()
    except KeyboardInterrupt:
        # It starts nothing more, and cannot be closed in order any longer. Until it waits for the
        # loop, it may make files in a folder that is removed next.
        thread.join(_BEFORE_WAITING)
        atexit.unregister(close_clusters)
        for loop in loops:
            loop.asyncio_loop.call_soon_threadsafe(loop.asyncio_loop.stop)
        raise
