"""`Selection`: some atoms of a trajectory."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.trajectory.block import Block
from trajet.trajectory.choice import FrameChoice

if TYPE_CHECKING:
    from trajet.mdanalysis import AtomGroup
    from trajet.trajectory.trajectory import Trajectory


class Selection:
    """Some atoms of a trajectory; made by `Trajectory.select`.

    Attributes
    ----------
    trajectory
        The trajectory.
    indices
        `(n_atoms,)`, int64: indices in the topology, in the order in which positions are read.
    places
        `(n_atoms,)`, int64: indices in a frame. They differ from `indices` if only some tags of a
        data set are open, as its frames have only their atoms.
    text
        The selection in MDAnalysis' language; None if indices were given.
    t_select
        Seconds that evaluating the selection took.
    """

    def __init__(
        self,
        trajectory: "Trajectory",
        places: NDArray[np.int64],
        text: str | None,
        t_select: float = 0.0,
    ) -> None:
        self.trajectory = trajectory
        self.places = places.copy()
        self.indices = trajectory.indices_of(self.places)
        for numbers in (self.places, self.indices):
            numbers.setflags(write=False)
        self.text = text
        self.t_select = t_select

    def __repr__(self) -> str:
        """Return the selection and its size."""
        what = "of indices" if self.text is None else repr(self.text)
        return f"<Selection {what}: {self.n_atoms} of {self.trajectory.n_atoms} atoms>"

    @property
    def n_atoms(self) -> int:
        """Atoms in the selection."""
        return len(self.places)

    @property
    def label(self) -> str:
        """Name in figures and reports: the text, or the number of atoms."""
        return self.text if self.text is not None else f"{self.n_atoms} atoms"

    @property
    def atoms(self) -> "AtomGroup":
        """The atoms as an MDAnalysis AtomGroup, at the positions of frame 0."""
        _ = self.trajectory.universe
        return self.named

    @property
    def named(self) -> "AtomGroup":
        """The atoms as an MDAnalysis AtomGroup, whose positions may not be loaded yet."""
        return self.trajectory.named[self.places]

    def read(
        self,
        frames: FrameChoice = None,
        out: NDArray[np.float32] | None = None,
        *,
        velocities: bool = False,
        forces: bool = False,
        threads: int | None = None,
    ) -> Block:
        """Read the positions of these atoms; no others are decoded. See `Trajectory.read`.

        Examples
        --------
        >>> traj.select("name CA").read(frames=slice(0, 100)).positions.shape
        (98, 214, 3)
        """
        return self.trajectory.read_places(
            frames, self.places, out, velocities=velocities, forces=forces, threads=threads
        )

    def look(self, frame: int) -> Block:
        """Read a frame without an entry in the access log of a data set."""
        return self.trajectory.read_places([frame], self.places, None, counted=False)

    def blocks(self, size: int | None = None, frames: FrameChoice = None) -> Iterator[Block]:
        """Iterate over blocks of frames, which share their memory. See `Trajectory.blocks`."""
        return self.trajectory.blocks_of_places(size, frames, self.places)
