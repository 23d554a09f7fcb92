"""What every pool can do."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, Reader

# (first, step, count) or frame numbers; none is negative
Frames: TypeAlias = tuple[int, int, int] | NDArray[np.int64]


class Pool(Protocol):
    """Runs the plan of an analysis over frames of a trajectory."""

    def run(
        self,
        reader: Reader,
        plan: Plan,
        frames: Frames,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]:
        """Return rows, `(n_frames, width)` float64, the folded state, and what the engine reports.

        Rows and state have the same bits on every pool, with any number of workers and any size of
        task.
        """
        ...
