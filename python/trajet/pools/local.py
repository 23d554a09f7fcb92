"""`LocalPool`: threads of this process."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Reader
from trajet.advise.entries import RunReport
from trajet.pools.pool import AnalysisSpec, Frames, Progress, check_counts


@dataclass(frozen=True, kw_only=True)
class LocalPool:
    """Threads of this process.

    Attributes
    ----------
    threads
        How many; None for as many as the process may use cores.
    task_frames
        Frames of a task, rounded up to whole leaves; None for a size that keeps all threads busy.
        It changes no bit of a result.

    Raises
    ------
    ValueError
        If a number is below one.
    """

    threads: int | None = None
    task_frames: int | None = None

    def __post_init__(self) -> None:
        """Check the arguments."""
        check_counts(threads=self.threads, task_frames=self.task_frames)

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return self.threads or _trajet.available_threads()

    def run(
        self,
        reader: Reader,
        plan: AnalysisSpec,
        frames: Frames,
        *,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], RunReport]:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        return _trajet.run(
            reader,
            plan.build(),
            frames,
            threads=self.n_threads,
            task_frames=self.task_frames,
            progress=progress,
        )
