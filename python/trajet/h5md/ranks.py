"""Ranks of MPI that work together: who takes which frames, and errors that all of them meet."""

import contextlib
import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

from trajet._trajet import TrajetError


class Communicator(Protocol):
    """What is used of a communicator of mpi4py."""

    @property
    def rank(self) -> int:
        """Which of the ranks this is."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Return what rank `root` gives."""
        ...

    def gather(self, sendobj: Any, root: int = 0) -> Any:
        """Return what every rank gives, on rank `root`; nothing on the others."""
        ...

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """Return the own part of what rank `root` gives."""
        ...

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks."""
        ...

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return what every rank gives, on all of them."""
        ...


@contextlib.contextmanager
def raise_on_all(comm: Communicator | None) -> Iterator[None]:
    """Leave the block with the same error on every rank, where one of them met one.

    Every rank must get here. Ranks wait for each other at the end of the block, so that none goes
    on to work, or to wait, for one that failed. Without a communicator it is a block like others.
    """
    if comm is None:
        yield
        return
    error: BaseException | None = None
    try:
        yield
    # Ctrl-C too: others would wait for this rank.
    except BaseException as caught:
        error = _portable(caught)
    first = next((e for e in comm.allgather(error) if e is not None), None)
    if first is not None:
        raise first


def _portable(error: BaseException) -> BaseException:
    """Return an error that other processes can take: a few kinds cannot be sent."""
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
        How many there are.
    unit
        Frames that are not divided: those of a chunk.
    call
        Most frames of a call, at least `unit`.

    Returns
    -------
    list of list of range
        The calls of each rank: frames that follow each other. All ranks have the same number of
        calls, as collective ones need it: the last ones may be empty.

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
