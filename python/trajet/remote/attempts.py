"""Requests that wait: made again after transient failures, several at a time, left on Ctrl-C.

obstore waits for an answer without looking for signals. Requests of the main thread are therefore
made in other threads, which end with the process and for which nobody waits after Ctrl-C.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

from trajet.remote.failures import Failure

T = TypeVar("T")
R = TypeVar("R")

# Pauses before a request is made again, seconds: half a minute in all. The native module takes
# them from `RemoteFile.pauses`.
PAUSES = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8.0, 8.0)
# Most repetitions after which a server that has never answered is taken for one that is not there.
_OF_UNKNOWN = 3
_TRANSIENT = ("transient", "busy")
# Seconds between two looks for signals.
_POLL = 0.1

# The event that tells a thread of `in_threads` that nobody waits for it any more.
_here = threading.local()


def failure_in(answer: object) -> Failure | None:
    """Return the failure that an answer is, or None."""
    return cast(Failure, answer) if isinstance(answer, tuple) else None


def attempts(
    request: Callable[[], R | Failure],
    pauses: Sequence[float] = PAUSES,
    *,
    is_opened: bool = True,
) -> R | Failure:
    """Make a request, again after each pause while it fails for a moment; return the last answer.

    Parameters
    ----------
    request
        Returns what was asked for, or a failure.
    pauses
        Seconds before each repetition.
    is_opened
        Whether the server has answered before. If not, its name may be wrong: it is asked a few
        times only, unless it says that it is busy.
    """

    def repeated(_: object = None) -> R | Failure:
        for n_done, pause in enumerate(pauses):
            answer = request()
            failure = failure_in(answer)
            if failure is None or failure[0] not in _TRANSIENT:
                return answer
            if not is_opened and failure[0] != "busy" and n_done >= _OF_UNKNOWN:
                return answer
            _wait(pause)
        return request()

    # Threads of the native module are not those of `threading`.
    if threading.get_ident() != threading.main_thread().ident:
        return repeated()
    return next(in_threads(repeated, [None], 1))


def in_threads(call: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    """Yield the results of a function for each item, in order, from several threads.

    The first error, in the order of the items, is raised; other calls are abandoned then, as they
    are when the generator is closed or a signal comes.

    Parameters
    ----------
    call
        The function.
    items
        Its arguments.
    most
        Calls at the same time.
    """
    todo: SimpleQueue[tuple[int, T]] = SimpleQueue()
    given = list(items)
    for numbered in enumerate(given):
        todo.put(numbered)
    done: SimpleQueue[tuple[int, R | None, BaseException | None]] = SimpleQueue()
    left = threading.Event()

    def work() -> None:
        _here.left = left
        while not left.is_set():
            try:
                number, item = todo.get_nowait()
            except Empty:
                return
            try:
                done.put((number, call(item), None))
            except BaseException as error:
                done.put((number, None, error))

    try:
        for _ in range(min(most, len(given))):
            threading.Thread(target=work, name="trajet-remote", daemon=True).start()
        found: dict[int, tuple[R | None, BaseException | None]] = {}
        for number in range(len(given)):
            while number not in found:
                # A signal may come by another thread, which does not wake this one.
                with contextlib.suppress(Empty):
                    k, result, error = done.get(timeout=_POLL)
                    found[k] = result, error
            result, error = found.pop(number)
            if error is not None:
                raise error
            yield cast(R, result)
    finally:
        left.set()


def is_left() -> bool:
    """Return whether nobody waits any more for what this thread does."""
    left: threading.Event | None = getattr(_here, "left", None)
    return left is not None and left.is_set()


def _wait(seconds: float) -> None:
    """Wait before a request is made again, but not if nobody waits for it any more."""
    left: threading.Event = getattr(_here, "left", None) or threading.Event()
    if left.wait(seconds):
        raise _LeftError


class _LeftError(Exception):
    """Ends a thread for which nobody waits."""
