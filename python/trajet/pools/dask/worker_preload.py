"""Preload script of the workers that `dask_client` starts."""

import logging
import signal


def dask_setup(_: object) -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes, and do not log errors of tasks.

    The program that owns the cluster handles both.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed.worker").addFilter(_is_no_error_of_a_task)


def _is_no_error_of_a_task(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Compute Failed")
