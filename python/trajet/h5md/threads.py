"""Threads beside the one that h5py lets in: reading and packing need none of it."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeAlias, TypeVar

# Seconds between two looks of the calling thread, which alone hears Ctrl-C.
_LOOK = 0.1

# Called with how much was done since the last call.
Show: TypeAlias = Callable[[int], None]
_Given = TypeVar("_Given")
_Item = TypeVar("_Item")


def run_parallel(
    work: Sequence[Callable[[Show], None]],
    lanes: int,
    total: int,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Do all pieces of work, `lanes` at a time; the first error of the first piece is raised.

    `progress` is called on the calling thread with what is done and `total`.
    """
    done = [0] * len(work)
    stop = threading.Event()

    def show() -> None:
        if progress is not None:
            progress(sum(done), total)

    def told(k: int, more: int) -> None:
        done[k] += more
        if lanes == 1:
            show()
        elif stop.is_set():
            raise _StoppedError

    def do(k: int) -> None:
        work[k](lambda more: told(k, more))

    if lanes == 1:
        for k in range(len(work)):
            do(k)
        return
    with ThreadPoolExecutor(lanes, thread_name_prefix="trajet-h5md") as executor:
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
    """Go over items, of which a thread makes the next one meanwhile, and none more.

    Its errors are raised where their item would come. Whoever leaves waits for that one.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="trajet-ahead") as executor:

        def go() -> Iterator[_Item]:
            following = executor.submit(next, items, None)
            while (item := following.result()) is not None:
                following = executor.submit(next, items, None)
                yield item

        yield go()


def map_ordered(
    function: Callable[[_Given], _Item], given: Iterable[_Given], threads: int
) -> Generator[_Item, None, None]:
    """Return what a function says of each item, in their order; threads work on what comes next.

    At most twice as many as there are threads are begun before the first is asked for. Its errors
    are raised where the item would come. Whoever leaves waits for those that are under way.
    """
    if threads == 1:
        yield from map(function, given)
        return
    executor = ThreadPoolExecutor(threads, thread_name_prefix="trajet-h5md")
    try:
        begun: deque[Future[_Item]] = deque()
        for item in given:
            begun.append(executor.submit(function, item))
            if len(begun) == 2 * threads:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


class _StoppedError(Exception):
    """Another piece has failed, or the caller wants no more."""
