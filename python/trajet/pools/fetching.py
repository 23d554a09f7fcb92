"""Which results the calling process fetches from workers, and when.

A worker has one request at a time, for all results that it has, up to a size. Requests to several
workers are under way at once; those to workers that straggle are not counted, so that a worker that
is slow to answer holds up no other's results.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import NamedTuple

from trajet.pools.dispatch import Copy

# Bytes that are fetched from a worker at once, and from all workers.
_MAX_OF_WORKER = 32 << 20
_MAX_UNDER_WAY = 128 << 20
# Workers from which results are fetched at a time.
_MAX_WORKERS = 64


class Request(NamedTuple):
    """A request for the results of copies that a worker has done."""

    worker: str | None
    copies: list[Copy]


class FetchQueue:
    """Results that are ready, and requests that are under way.

    Parameters
    ----------
    is_open
        Returns whether the result of a copy may still be taken.
    """

    def __init__(self, is_open: Callable[[Copy], bool]) -> None:
        self._is_open = is_open
        # results that are ready, with their bytes; workers that have some and no request, in the
        # order in which they got them
        self._ready: dict[str | None, list[tuple[Copy, int]]] = {}
        self._turns: OrderedDict[str | None, None] = OrderedDict()
        # workers with a request, and the bytes of the requests that count
        self._under_way: set[str | None] = set()
        self._counted: dict[str | None, int] = {}

    def add(self, worker: str | None, copy: Copy, n_bytes: int) -> None:
        """Note a result at a worker."""
        self._ready.setdefault(worker, []).append((copy, n_bytes))
        if worker not in self._under_way:
            self._turns.setdefault(worker)

    def next(self, slow: Collection[str | None]) -> Request | None:
        """Return the next request; None if enough are under way, not counting those of `slow`.

        A worker of `slow` is still one of it later.
        """
        if self._are_enough():
            for worker in [name for name in self._counted if name in slow]:
                del self._counted[worker]
            if self._are_enough():
                return None
        while self._turns:
            worker, _ = self._turns.popitem(last=False)
            ready, copies, size = self._ready.pop(worker), list[Copy](), 0
            while ready and size < _MAX_OF_WORKER:
                copy, n_bytes = ready.pop()
                if self._is_open(copy):
                    copies.append(copy)
                    size += n_bytes
            if ready:
                self._ready[worker] = ready
            if copies:
                self._under_way.add(worker)
                self._counted[worker] = size
                return Request(worker, copies)
            if ready:
                self._turns[worker] = None
        return None

    def arrived(self, worker: str | None) -> None:
        """Note that the request to a worker has ended."""
        self._under_way.discard(worker)
        self._counted.pop(worker, None)
        if worker in self._ready:
            self._turns.setdefault(worker)

    def _are_enough(self) -> bool:
        """Return whether the requests that count are as many as may be under way."""
        counted = self._counted
        return len(counted) >= _MAX_WORKERS or sum(counted.values()) >= _MAX_UNDER_WAY
