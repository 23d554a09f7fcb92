"""Several files at a time: h5py lets in one thread, but reading and packing need none of it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeAlias

# Seconds between two looks of the calling thread, which alone hears Ctrl-C.
_LOOK = 0.1

# Called with how much was done since the last call.
Show: TypeAlias = Callable[[int], None]


def run_lanes(
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


class _StoppedError(Exception):
    """Another piece has failed, or the caller wants no more."""
