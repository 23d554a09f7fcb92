"""`map` of pools: a function of the user for every item, in the workers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from trajet.pools.jobs import Job, JobPool, ShowFrames
from trajet.pools.pool import Progress
from trajet.pools.portable import Portable

Item = TypeVar("Item")
Table = TypeVar("Table")


def map_items(
    pool: JobPool,
    function: Callable[[Item], Table],
    items: Iterable[Item],
    progress: Progress | None = None,
) -> list[Table]:
    """Return `function(item)` of every item, in the order of the items.

    The function is sent to each worker once. In each process one thread at a time calls it. A call
    may be repeated, if its worker dies or storage fails for a moment.

    Parameters
    ----------
    pool
        Where the function is called.
    function
        Takes one argument; may be a lambda or a function of a script.
    items
        The arguments.
    progress
        Called with the items done and in total.

    Raises
    ------
    WorkerError
        If a worker dies and no other can take its item.
    Exception
        Whatever the function raises, with a note that names the item by its number from 0.
    """
    jobs = [Job(1, (number, Portable(item))) for number, item in enumerate(items)]
    done = pool.do_jobs(_MapSpec(Portable(function)), jobs, progress)
    return [one.result.value for one in done]


class MappingPool:
    """A pool whose `map` is that of all pools but MPI, where every rank calls it."""

    def map(
        self: JobPool,
        function: Callable[[Item], Table],
        items: Iterable[Item],
        *,
        progress: Progress | None = None,
    ) -> list[Table]:
        """Call a function for every item, in the workers of the pool.

        The function is sent to each worker once, and may be a lambda or a function of a script. In
        each process one thread at a time calls it: a `LocalPool`, which has one process, calls it
        for one item after another. Processes work in the current folder of this one.

        Parameters
        ----------
        function
            Takes one item.
        items
            The arguments.
        progress
            Called with the items done and in total.

        Returns
        -------
        list
            `function(item)` of each item, in their order.

        Raises
        ------
        Exception
            Whatever the function raises, with a note that names the item; the others are stopped.
        WorkerError
            If a process dies, if no worker of Dask joins or an item kills its workers again and
            again, or if the scheduler cannot be reached.

        Examples
        --------
        >>> import trajet as tj
        >>> tj.LocalPool().map(len, ["protein", "water"])
        [7, 5]
        >>> pool = tj.ProcessPool(workers=2)
        >>> pool.map(lambda cutoff: 2 * cutoff, [3.5, 6.0])
        [7.0, 12.0]
        """
        return map_items(self, function, items, progress)


@dataclass(frozen=True)
class _MapSpec(Generic[Item, Table]):
    """The function."""

    function: Portable[Callable[[Item], Table]]

    def begin(self) -> "_MapWorker[Item, Table]":
        """Return the worker that calls it."""
        return _MapWorker(self.function.value)


class _MapWorker(Generic[Item, Table]):
    """Calls the function; workers of Dask may have several threads."""

    def __init__(self, function: Callable[[Item], Table]) -> None:
        self._function, self._lock = function, Lock()

    def do(
        self, what: tuple[int, Portable[Item]], /, threads: int, show: ShowFrames
    ) -> Portable[Table]:
        """Return the value of the function."""
        number, item = what
        with self._lock:
            show(0)
            try:
                return Portable(self._function(item.value))
            except Exception as error:
                error.add_note(f"item {number} of map")
                raise
