"""Done first by the workers of a cluster that is this program's own."""

import logging
import signal
from typing import Any

# Who logs the traceback of each task that fails, and tasks that were given up.
_LOUD = ("distributed.worker", "distributed.worker.state_machine")


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, and errors of tasks to the program.

    Ctrl-C ends it; errors come to it anyway, and it says them once.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _LOUD:
        logging.getLogger(name).disabled = True
