"""MPI ranks: division of frames among them, and errors that are raised on all of them."""

import contextlib
import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol, TypeVar

from trajet._trajet import TrajetError

_T = TypeVar("_T")


class Communicator(Protocol):
    """The methods of an mpi4py communicator that are used."""

    @property
    def rank(self) -> int:
        """Number of this rank."""
        ...

    def bcast(self, obj: _T, root: int = 0) -> _T:
        """Return the object of rank `root`."""
        ...

    def allgather(self, sendobj: _T) -> list[_T]:
        """Return the objects of all ranks, on all ranks."""
        ...


@contextlib.contextmanager
def raise_on_all(comm: Communicator) -> Iterator[None]:
    """Raise an error of any rank inside of the block on all ranks.

    Every rank must enter the block. Ranks wait for each other at its end, so that none works or
    waits for a rank that failed.
    """
    error: BaseException | None = None
    try:
        yield
    # Includes Ctrl-C: the other ranks would wait for this one.
    except BaseException as caught:
        error = _portable(caught)
    first = next((e for e in comm.allgather(error) if e is not None), None)
    if first is not None:
        raise first


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be pickled; a few types cannot."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return TrajetError(f"{type(error).__name__}: {error}")
    return error


def shares(n_frames: int, n_ranks: int, *, unit: int, call: int) -> list[list[range]]:
    """Divide frames among ranks, and those of a rank into calls.

    Parameters
    ----------
    n_frames, n_ranks
        Numbers of frames and ranks.
    unit
        Number of frames that stay together: those of a chunk.
    call
        Most frames of a call, at least `unit`.

    Returns
    -------
    list of list of range
        Consecutive frames for each call of each rank. All ranks have the same number of calls, as
        collective calls need; the last ranges may be empty.

    Examples
    --------
    >>> shares(10, 3, unit=2, call=3)
    [[range(0, 2), range(2, 2)], [range(2, 4), range(4, 6)], [range(6, 8), range(8, 10)]]
    """
    units = -(-n_frames // unit)
    borders = [min(n_frames, units * rank // n_ranks * unit) for rank in range(n_ranks + 1)]
    step = max(1, call // unit) * unit
    longest = max(end - begin for begin, end in pairwise(borders))
    n_calls = -(-longest // step)
    return [
        [
            range(min(end, begin + k * step), min(end, begin + (k + 1) * step))
            for k in range(n_calls)
        ]
        for begin, end in pairwise(borders)
    ]
