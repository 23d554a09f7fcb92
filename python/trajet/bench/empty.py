"""Tasks in which next to nothing is done: what a pool itself costs.

A task is one frame of 11,000 atoms, 132 kB, whose positions a function gets that returns 0.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# Positions of so many atoms leave room for one frame in a leaf: each frame can be a task.
_ATOMS = 11_000
_FRAMES = 64


def nothing(_: NDArray[np.float32]) -> float:
    """Compute nothing."""
    return 0.0


def frames_of(n_tasks: int) -> NDArray[np.int64]:
    """Return the frames, again and again, of as many tasks."""
    return np.arange(n_tasks, dtype=np.int64) % _FRAMES


def write(path: Path) -> None:
    """Write the frames, as DCD."""

    def record(*values: bytes) -> bytes:
        body = b"".join(values)
        length = np.int32(len(body)).tobytes()
        return length + body + length

    def words(*values: int) -> bytes:
        return np.array(values, "<i4").tobytes()

    step = np.float32(1).tobytes()
    head = words(_FRAMES, 0, 1, _FRAMES, *[0] * 5)
    header = record(b"CORD", head, step, words(*[0] * 9, 24))
    title = record(words(1), b"bench".ljust(80))
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(header + title + record(words(_ATOMS)))
        for _ in range(_FRAMES):
            positions = random.uniform(0, 50, (3, _ATOMS)).astype("<f4")
            file.write(b"".join(record(axis.tobytes()) for axis in positions))
