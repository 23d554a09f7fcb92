"""Clusters of Dask for whoever has no client."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trajet._trajet import MissingPackageError, WorkerError, available_threads
from trajet.pools.shared import folder_in

# Seconds for a scheduler to answer.
_PATIENCE = 10.0


def distributed() -> Any:
    """Return the package.

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
    return distributed


@contextmanager
def dask_client(
    scheduler: str | None = None, workers: int | None = None, threads: int = 1
) -> Iterator[Any]:
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
        with (
            # By default workers share a folder that another user may have made; what they spill
            # there is read back as pickles.
            folder_in(None) as private,
            module.LocalCluster(
                n_workers=workers or available_threads(),
                threads_per_worker=threads,
                # TLS with a certificate in memory. Without it, whoever reaches a port may run code.
                host="127.0.0.1",
                protocol="tls://",
                security=module.Security.temporary(),
                local_directory=str(private),
                # Each has a small HTTP server in any case: any free port of this machine alone.
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                worker_dashboard_address="127.0.0.1:0",
                preload="trajet.pools.dask.undisturbed",
            ) as cluster,
            module.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = module.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise WorkerError(
            f"{scheduler}: no Dask scheduler answers there within {_PATIENCE:g} s ({error}): is it"
            " running, and is this what it says its address is?"
        ) from error
    with client:
        yield client
