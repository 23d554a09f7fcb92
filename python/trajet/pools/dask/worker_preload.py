"""Preload script of the workers that `dask_client` starts."""

import logging
import signal

# Beginnings of messages on what the program that owns the cluster handles: errors of tasks, and the
# end of its scheduler, which may come between two heartbeats of a worker.
_OF_THE_PROGRAM = ("Compute Failed", "Failed to communicate with scheduler during heartbeat")


def dask_setup(_: object) -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, and do not log errors of tasks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed.worker").addFilter(_is_of_the_worker)


def _is_of_the_worker(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_OF_THE_PROGRAM)
