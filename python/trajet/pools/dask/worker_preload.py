"""Preload script of the workers that `dask_client` starts."""

import logging
import signal

# Beginnings of messages on what the program that owns the cluster handles: errors of tasks, the end
# of its scheduler, which may come between two heartbeats of a worker, and tasks, transfers and the
# start of our plugin that a worker had begun when it was closed.
_OF_THE_PROGRAM = (
    "Compute Failed",
    "Failed to communicate with scheduler during heartbeat",
    "Async instruction for ",
    "failed during get data with ",
    "Worker plugin trajet-",
)


def dask_setup(_: object) -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, and do not log errors of tasks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Filters of a logger do not see what loggers below it log.
    for name in ("distributed.worker", "distributed.worker.state_machine"):
        logging.getLogger(name).addFilter(_is_of_the_worker)


def _is_of_the_worker(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_OF_THE_PROGRAM)
