"""What arrays that callers may keep cost: loops over blocks beside loops that overwrite one array.

For each format the median ratio of 31 pairs, in one process, of a loop that only reduces.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import trajet as tj
from trajet.trajectory.array_pool import ArrayPool

kept = ArrayPool.array


def overwritten(self: ArrayPool) -> "np.typing.NDArray[np.float32]":
    """Return the same array each time."""
    if not self._arrays:
        self._arrays = [np.empty(self._shape, np.float32)]
    return self._arrays[0]


def seconds(traj: tj.Trajectory, array: object) -> float:
    """Return the time of a loop."""
    ArrayPool.array = array
    begin = time.perf_counter()
    sum(float(block.positions.sum()) for block in traj.blocks())
    return time.perf_counter() - begin


with tempfile.TemporaryDirectory() as folder:
    sample = tj.samples.peptide_in_water().open().read(frames=[*range(100)] * 20)
    for suffix in ("xtc", "trr", "dcd", "nc"):
        path = Path(folder, f"run.{suffix}")
        tj.write(path, sample.positions, cells=sample.cells)
        run = tj.open(None, path)
        ratios = [seconds(run, kept) / seconds(run, overwritten) for _ in range(31)]
        print(f"{suffix}: {np.median(ratios):.3f}")
