"""Done first by the workers of a cluster that is this program's own."""

import signal
from typing import Any


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the program: it ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
