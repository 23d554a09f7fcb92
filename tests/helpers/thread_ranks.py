"""Ranks that are threads of this process, and exchange objects without MPI."""

import threading
from collections.abc import Callable
from typing import Any


class ThreadRank:
    """One rank of a communicator."""

    def __init__(self, rank: int, size: int, barrier: threading.Barrier, board: list[Any]) -> None:
        self.rank, self.size = rank, size
        self._barrier, self._board = barrier, board

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return the objects of all ranks, on all of them."""
        self._board[self.rank] = sendobj
        self._barrier.wait()
        got = list(self._board)
        self._barrier.wait()
        return got

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return the object of rank `root`."""
        return self.allgather(obj)[root]


def on_ranks(size: int, work: Callable[[ThreadRank], Any]) -> list[Any]:
    """Call `work` on every rank; return its result or its error for each.

    A rank that waits for others which do not come gets a BrokenBarrierError, after a minute.
    """
    barrier = threading.Barrier(size, timeout=60)
    board: list[Any] = [None] * size
    results: list[Any] = [None] * size

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadRank(rank, size, barrier, board))
        except BaseException as error:
            results[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
