"""Done first by the workers of a cluster that is this program's own."""

import logging
import signal
from typing import Any


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, and errors of tasks to the program.

    Ctrl-C ends it; errors come to it anyway, and it says them once.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("distributed.worker").addFilter(_is_no_error_of_a_task)


def _is_no_error_of_a_task(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Compute Failed")
