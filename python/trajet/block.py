"""`Block`: positions of the same atoms in several frames."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.hints import Hinted
from trajet.messages import Message, Messages


@dataclass(frozen=True, repr=False)
class Block(Messages, Hinted):
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
        `(n_frames, 6)`, float64: a, b, c (Å), α, β, γ (degrees); NaN in frames without a cell.
    velocities
        As `positions`, Å/ps; None unless requested; NaN in frames without velocities.
    forces
        As `positions`, kJ/(mol Å); None unless requested; NaN in frames without forces.
    vectors
        `(n_frames, 3, 3)`, float64: box vectors row by row, Å, of frames whose box is rotated: its
        first vector is not along x, or its second not in the x-y plane. NaN in other frames; None
        if no frame has such a box.
    messages
        Reasons why transformed positions may be wrong, such as steps of uncertain direction. While
        blocks are iterated over, those of all frames so far.
    periodic
        `(n_frames, 3)`, bool: whether each cell is periodic along a, b and c; False in frames
        without a cell. Along other directions there are no nearest images, and nothing is wrapped.
        None if all cells are periodic.
    origins
        `(n_frames, 3)`, float64: the corner at which each cell begins, Å. None if all begin at 0,
        as in formats that state no corner.
    """

    positions: NDArray[np.float32]
    times: NDArray[np.float64]
    steps: NDArray[np.int64]
    frames: NDArray[np.int64]
    cells: NDArray[np.float64]
    velocities: NDArray[np.float32] | None = None
    forces: NDArray[np.float32] | None = None
    vectors: NDArray[np.float64] | None = None
    messages: tuple[Message, ...] = ()
    periodic: NDArray[np.bool_] | None = None
    origins: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        notes = "".join([f"; {one.label}: {one}" for one in self.messages])
        return f"<Block: positions {self.positions.shape} Å{notes}>"
