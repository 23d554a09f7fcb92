"""Processes that are forked from this one: they have imported already what this one has."""

import gc
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class ForkedExecutor(ProcessPoolExecutor):
    """Runs functions in forked processes, which all begin with the first call of `submit`."""

    def __init__(self, workers: int) -> None:
        # What the processes share with this one is never collected, nor copied by counting it.
        super().__init__(workers, mp_context=get_context("fork"), initializer=gc.freeze)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Submit a call."""
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
        super().shutdown(wait, cancel_futures=cancel_futures or kill_workers)


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
