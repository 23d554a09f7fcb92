"""Threads that read and compress while another thread uses h5py, which serves one at a time."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeAlias, TypeVar

# Seconds between two checks of the calling thread, which alone receives Ctrl-C.
_LOOK = 0.1

# Called with the amount done since the last call.
Show: TypeAlias = Callable[[int], None]
_Argument = TypeVar("_Argument")
_Item = TypeVar("_Item")


def run_parallel(
    work: Sequence[Callable[[Show], None]],
    threads: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Call functions in parallel, `threads` at a time; raise the error of the first that failed.

    Each function gets a callback for the amount done. `progress` is called on the calling thread
    with the sum of all amounts, and with `total`.
    """
    done = [0] * len(work)
    stop = threading.Event()

    def show() -> None:
        if progress is not None:
            progress(sum(done), total)

    def add(k: int, more: int) -> None:
        done[k] += more
        if threads == 1:
            show()
        elif stop.is_set():
            raise _StoppedError

    def do(k: int) -> None:
        work[k](lambda more: add(k, more))

    if threads == 1:
        for k in range(len(work)):
            do(k)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="trajet-h5md") as executor:
        futures = [executor.submit(do, k) for k in range(len(work))]
        try:
            left = set(futures)
            while left and not any(f.done() and f.exception() for f in futures):
                left = wait(left, _LOOK, FIRST_EXCEPTION).not_done
                show()
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)
    for future in futures:
        if not future.cancelled() and not isinstance(future.exception(), _StoppedError):
            future.result()


@contextlib.contextmanager
def prefetch(items: Iterator[_Item]) -> Iterator[Iterator[_Item]]:
    """Yield an iterator over items that computes one item ahead in a thread.

    An error is raised in place of its item. Leaving the block waits for the current item.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="trajet-ahead") as executor:

        def go() -> Iterator[_Item]:
            following = executor.submit(next, items, None)
            while (item := following.result()) is not None:
                following = executor.submit(next, items, None)
                yield item

        yield go()


def map_ordered(
    function: Callable[[_Argument], _Item], arguments: Iterable[_Argument], threads: int
) -> Generator[_Item, None, None]:
    """Yield the results of a function in the order of its arguments, computed ahead by threads.

    At most two calls per thread are under way. An error is raised in place of its result. Closing
    the generator waits for the calls that are running.
    """
    if threads == 1:
        yield from map(function, arguments)
        return
    executor = ThreadPoolExecutor(threads, thread_name_prefix="trajet-h5md")
    try:
        begun: deque[Future[_Item]] = deque()
        for argument in arguments:
            begun.append(executor.submit(function, argument))
            if len(begun) == 2 * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


class _StoppedError(Exception):
    """Stops a function after another one has failed, or after an interrupt."""
