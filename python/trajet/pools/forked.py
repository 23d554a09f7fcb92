"""Processes that are forked from this one: they have imported already what this one has."""

import gc
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
# Seconds between two looks of a process at its parent.
_LOOK = 0.5


class ForkedExecutor(ProcessPoolExecutor):
    """Runs functions in forked processes, which all begin with the first call of `submit`."""

    def __init__(self, workers: int) -> None:
        super().__init__(
            workers, mp_context=get_context("fork"), initializer=_begin, initargs=(os.getpid(),)
        )

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Submit a call."""
        if self._processes:
            return super().submit(fn, *args, **kwargs)
        with warnings.catch_warnings():
            # From version 3.12 on, Python warns of threads, of which this process may have some.
            warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
            return super().submit(fn, *args, **kwargs)

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = False, kill_workers: bool = False
    ) -> None:
        """End the processes; `kill_workers` also ends their current calls."""
        if kill_workers:
            processes: dict[int, Any] = getattr(self, "_processes", None) or {}
            for process in list(processes.values()):
                process.kill()
                process.join()
            # The thread that receives results waits for the rest of one whose sender was killed, as
            # long as anybody could send it.
            if (results := getattr(self, "_result_queue", None)) is not None:
                results._writer.close()
        super().shutdown(wait, cancel_futures=cancel_futures or kill_workers)


def _begin(parent: int) -> None:
    """Begin the work of a process."""
    # What it shares with its parent is never collected, nor copied by counting it.
    gc.freeze()
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: int) -> None:
    """End this process when its parent was killed, which closes no queue that siblings hold too."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


@contextmanager
def forked(workers: int) -> Iterator[ForkedExecutor]:
    """Yield an executor whose processes end with the block."""
    executor = ForkedExecutor(workers)
    try:
        yield executor
    except BaseException:
        executor.shutdown(kill_workers=True)
        raise
    executor.shutdown()
