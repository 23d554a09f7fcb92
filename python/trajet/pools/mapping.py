"""`map` of pools: a function of the user for every item, in the workers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from trajet.pools.jobs import Job, JobPool, ShowFrames
from trajet.pools.pool import Progress
from trajet.pools.portable import Portable

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def map_items(
    pool: JobPool,
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    progress: Progress | None = None,
) -> list[_Result]:
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
        Any exception of the function, with a note that names the item by its number from 0.
    """
    jobs = [Job(1, (number, Portable(item))) for number, item in enumerate(items)]
    done = pool.do_jobs(_MapSpec(Portable(function)), jobs, progress)
    return [one.result.value for one in done]


@dataclass(frozen=True)
class _MapSpec:
    """The function."""

    function: Portable[Callable[[Any], object]]

    def begin(self) -> "_MapWorker":
        """Return the worker that calls it."""
        return _MapWorker(self.function.value)


class _MapWorker:
    """Calls the function; workers of Dask may have several threads."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function, self._lock = function, Lock()

    def do(
        self, what: tuple[int, Portable[object]], threads: int, show: ShowFrames
    ) -> Portable[object]:
        """Return the value of the function."""
        number, item = what
        with self._lock:
            show(0)
            try:
                return Portable(self._function(item.value))
            except Exception as error:
                error.add_note(f"item {number} of map")
                raise
