"""The protocol of pools."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, Reader
from trajet.hints import COUNTS
from trajet.report_entries import RunReport

if TYPE_CHECKING:
    from trajet._trajet import Folded

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]
# called with frames done and in total
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class RunOutput:
    """Table of a run.

    Attributes
    ----------
    analyses
        The arrays of each analysis by name, and the summary of cells.
    report
        Report of the engine.
    """

    analyses: "list[Folded]"
    report: RunReport


@dataclass(frozen=True, kw_only=True)
class PoolFacts:
    """Facts about a pool that checks of memory and the division of work need.

    Attributes
    ----------
    n_threads
        Threads of all workers, as far as they are known before a run.
    threads
        Threads of each worker.
    threads_here
        Threads of this process that hold states of analyses at a time.
    runs_here
        Runs whose states this process merges at a time.
    processes_here
        Processes of this machine that each hold connections to remote storage.
    is_local
        Whether all workers are on this machine.
    hands_over
        Whether the workers are threads that share one reader, and hand frames over to one another.
    has_room_for_rows
        Whether the numbers of all frames are written to files, and need no memory.
    takes_members
        Whether members of an ensemble may share the workers.
    task_frames
        Frames of a task, if users have set them.
    rank
        Number of this process among those that all run the script.
    """

    n_threads: int = 1
    threads: int = 1
    threads_here: int = 0
    runs_here: int = 1
    processes_here: int = 1
    is_local: bool = False
    hands_over: bool = False
    has_room_for_rows: bool = False
    takes_members: bool = True
    task_frames: int | None = None
    rank: int = 0


class Pool(ABC):
    """Runs the plan of an analysis over frames of a trajectory."""

    def __new__(cls, *args: object, **_: object) -> Self:
        """Return an empty pool, or raise a TypeError for a number without its name."""
        if args and cls.__name__ in COUNTS:
            raise TypeError(
                f"{cls.__name__}() takes numbers by their names: write"
                f" tj.{cls.__name__}({COUNTS[cls.__name__]}={args[0]!r})"
            )
        return super().__new__(cls)

    @property
    def facts(self) -> PoolFacts:
        """Facts about the pool; a subclass that has `n_threads` alone may leave them out."""
        return PoolFacts(n_threads=getattr(self, "n_threads", 1))

    @abstractmethod
    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> RunOutput:
        """Run a plan.

        Its numbers have the same bits on every pool, with any number of workers and any size of
        task.
        """


def facts_of(pool: object) -> PoolFacts:
    """Return the facts about a pool, which may be of a user's own class without the base `Pool`.

    Raises
    ------
    TypeError
        If it is no pool, for example a name.
    """
    if isinstance(pool, Pool):
        return pool.facts
    # A pool that writes files need not run analyses.
    if not any(callable(getattr(pool, name, None)) for name in ("run", "do_jobs")):
        hint = f": write pool=tj.LocalPool(threads={pool})" if isinstance(pool, int) else ""
        raise TypeError(
            "a pool is one of tj.LocalPool(), tj.ProcessPool(), tj.DaskPool(client) and"
            f" tj.MpiPool(), not {pool!r}{hint}"
        )
    return PoolFacts(n_threads=getattr(pool, "n_threads", 1))


def check_counts(**counts: int | None) -> None:
    """Check that numbers are at least one, and that one alone sets the size of tasks.

    Raises
    ------
    ValueError
        If a number is below one, or task_frames and oversubscription are given.
    """
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if counts.get("task_frames") is not None and counts.get("oversubscription") is not None:
        raise ValueError("give task_frames or oversubscription, not both")


def n_frames_of(frames: Frames) -> int:
    """Return the number of frames."""
    return frames[2] if isinstance(frames, tuple) else len(frames)
