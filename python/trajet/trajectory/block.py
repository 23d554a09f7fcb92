"""What reading gives: positions of the same atoms in several frames."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, repr=False)
class Block:
    """Positions of the same atoms in several frames.

    Attributes
    ----------
    positions
        `(n_frames, n_atoms, 3)`, float32, Å.
    times
        `(n_frames,)`, float64, ps.
    steps
        `(n_frames,)`, int64, integration steps.
    frames
        `(n_frames,)`, int64, frame numbers.
    cells
        `(n_frames, 6)`, float64: a, b, c (Å), α, β, γ (degrees); NaN where a frame has no cell.
    velocities
        As `positions`, Å/ps; None unless asked for; NaN in frames that have none.
    forces
        As `positions`, kJ/(mol Å); None unless asked for; NaN in frames that have none.
    vectors
        `(n_frames, 3, 3)`, float64: box vectors row by row (Å) where the file has them and `cells`
        do not tell how they lie: the first not along x, or the second not in the plane of x and y.
        NaN of other frames; None where there are none, and in blocks of `blocks`.
    """

    positions: NDArray[np.float32]
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    frames: NDArray[np.int64]
    cells: NDArray[np.float64]
    velocities: NDArray[np.float32] | None = None
    forces: NDArray[np.float32] | None = None
    vectors: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """Say how much it holds: the numbers would fill pages."""
        return f"<Block: positions {self.positions.shape} Å>"
