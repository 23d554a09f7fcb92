"""Empty tasks, which measure the overhead of a pool.

A task reads one frame of 16,000 atoms, 192 kB, and calls a function that returns 0.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from machine import dcd

# With so many atoms a leaf holds one frame, so that each frame can be a task.
_ATOMS = 16_000
_FRAMES = 64


def nothing(_: NDArray[np.float32]) -> float:
    """Compute nothing."""
    return 0.0


def frames_of(n_tasks: int) -> NDArray[np.int64]:
    """Return the frame numbers of `n_tasks` tasks, which repeat the frames."""
    return np.arange(n_tasks, dtype=np.int64) % _FRAMES


def write(path: Path) -> None:
    """Write the frames, as DCD."""
    with path.open("w+b") as file:
        axes, _ = dcd.create(file, _FRAMES, _ATOMS)
        axes[:] = np.random.default_rng(0).uniform(0, 50, axes.shape)
