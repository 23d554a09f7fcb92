"""Threads of this process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import Plan, Reader
from trajet.pools.pool import Frames


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
        """Refuse numbers that mean nothing."""
        for name in ("threads", "task_frames"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]:
        """Run a plan; see `trajet.pools.pool.Pool.run`."""
        return _trajet.run(
            reader,
            plan,
            frames,
            threads=self.threads or _trajet.available_threads(),
            task_frames=self.task_frames,
            progress=progress,
        )
