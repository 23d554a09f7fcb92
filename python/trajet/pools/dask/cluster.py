"""Clusters of Dask for whoever has no client."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from trajet._trajet import MissingPackageError, WorkerError, available_threads

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

    Each of these has so many `threads`, and does as many tasks at once.

    Raises
    ------
    WorkerError
        If no scheduler answers there.
    """
    module = distributed()
    if scheduler is None:
        with (
            module.LocalCluster(
                n_workers=workers or available_threads(),
                threads_per_worker=threads,
                dashboard_address=None,
                # Any free port, where somebody else's cluster has the usual one.
                scheduler_kwargs={"dashboard_address": ":0"},
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
