"""The protocol of pools."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, Reader
from trajet.advise.entries import RunReport

if TYPE_CHECKING:
    from trajet._trajet import Folded

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]
# called with frames done and in total
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class RunOutput:
    """Result of a run.

    Attributes
    ----------
    analyses
        The arrays of each analysis by name, and the summary of cells.
    report
        Report of the engine.
    """

    analyses: "list[Folded]"
    report: RunReport


class Pool(Protocol):
    """Runs the plan of an analysis over frames of a trajectory."""

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers, as far as it is known before a run."""
        ...

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
        ...


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
