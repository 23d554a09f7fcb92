"""`Cursor`: some atoms of a trajectory, one frame at a time."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from trajet.trajectory.trajectory import Trajectory


class Cursor:
    """Some atoms of a trajectory, one frame at a time, in any order; made by `Trajectory.cursor`.

    Attributes
    ----------
    n_atoms
        Number of atoms; may be 0.
    n_frames
        Number of frames.
    frame
        Number of the current frame; -1 before the first.
    time, step
        Its time, ps, and its integration step.
    cell
        `(6,)`, float64: a, b, c (Å), α, β, γ (degrees); NaN without a cell.
    vectors
        `(3, 3)`, float64: the box vectors row by row, Å, if the box is rotated; else None.
    positions, velocities, forces
        `(n_atoms, 3)`, float32: Å, Å/ps, kJ/(mol Å). None unless asked for. The next frame
        overwrites them. NaN if the frame has none.
    has_positions, has_velocities, has_forces
        Whether the frame has what was asked for.
    """

    def __init__(
        self,
        trajectory: "Trajectory",
        places: NDArray[np.int64] | None,
        *,
        positions: bool,
        velocities: bool,
        forces: bool,
    ) -> None:
        self._trajectory, self._places = trajectory, places
        self._fields = {"positions": positions, "velocities": velocities, "forces": forces}
        self.n_atoms = trajectory.n_atoms if places is None else len(places)
        self.n_frames = trajectory.n_frames
        self.frame = -1
        self.time, self.step = float("nan"), 0
        self.cell: NDArray[np.float64] = np.full(6, np.nan)
        self.vectors: NDArray[np.float64] | None = None

        def own(wanted: bool) -> NDArray[np.float32] | None:
            return np.full((self.n_atoms, 3), np.nan, np.float32) if wanted else None

        self.positions, self.velocities, self.forces = own(positions), own(velocities), own(forces)
        self.has_positions = self.has_velocities = self.has_forces = False

    def read(self, frame: int, out: NDArray[np.float32] | None = None) -> Self:
        """Read a frame, and return this cursor.

        Parameters
        ----------
        frame
            Its number; negative numbers count from the end.
        out
            An array `(n_atoms, 3)`, float32, C order, that receives the positions and becomes
            `positions`.
        """
        number = int(frame)
        if out is not None:
            self.positions = out
        for name in ("positions", "velocities", "forces"):
            values = getattr(self, name)
            if values is None:
                continue
            got = self._trajectory.reader.read(np.array([number]), self._places, values[None], name)
            setattr(self, f"has_{name}", got["counts"]["empty_frames"] == 0)
        self.frame, self.time, self.step = number, float(got["times"][0]), int(got["steps"][0])
        self.cell = got["cells"][0]
        self.vectors = None if got["vectors"] is None else got["vectors"][0].reshape(3, 3)
        return self

    def __iter__(self) -> Iterator[Self]:
        """Iterate over all frames; each overwrites the one before."""
        for frame in range(self.n_frames):
            yield self.read(frame)

    def close(self) -> None:
        """End reading ahead."""
