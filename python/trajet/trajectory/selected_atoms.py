"""`SelectedAtoms`: some atoms of open files, the basis of `Selection`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.block import Block
from trajet.labels import chain_numbers
from trajet.messages import Code, Message, emit
from trajet.quoting import quoted
from trajet.topology import Atoms
from trajet.trajectory.atom_index import FrameChoice
from trajet.trajectory.source import FrameSource

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


class SelectedAtoms:
    """Some atoms of open files; see `Selection`."""

    def __init__(
        self,
        source: FrameSource,
        columns: NDArray[np.int64],
        text: str | None,
        t_select: float = 0.0,
    ) -> None:
        self.source = source
        self.columns = columns.copy()
        self.indices = source.index.indices_of(self.columns)
        for numbers in (self.columns, self.indices):
            numbers.setflags(write=False)
        self.text = text
        self.t_select = t_select

    @property
    def n_atoms(self) -> int:
        """Atoms in the selection."""
        return len(self.columns)

    @property
    def label(self) -> str:
        """Name in figures and reports: the text, or the number of atoms."""
        return self.text if self.text is not None else f"{self.n_atoms} atoms"

    @property
    def atoms(self) -> "AtomGroup":
        """The atoms as an MDAnalysis AtomGroup, at the positions of frame 0."""
        return self.source.universe.atoms[self.indices]

    @property
    def topology_atoms(self) -> Atoms:
        """The atoms with their columns in the topology."""
        return Atoms(self.source.structure.topology, self.indices)

    def group_numbers(self, by: Literal["residue", "molecule", "chain"]) -> NDArray[np.int64]:
        """Return the number of the residue, molecule or chain of each selected atom; see `split`.

        Groups are numbered over the topology: the numbers of several selections can be compared.

        Returns
        -------
        ndarray, shape (n_atoms,), int64
        """
        atoms = self.topology_atoms
        if by == "residue":
            return atoms.places
        if by == "molecule":
            return self.source.structure.topology.molecules[atoms.indices]
        if by != "chain":
            raise ValueError(f"split by 'residue', 'molecule' or 'chain', not {by!r}")
        return chain_numbers(atoms)

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
        block = self.source.read(
            frames, self.columns, out, velocities=velocities, forces=forces, threads=threads
        )
        emit(block.messages)
        return block

    def read_uncounted(self, frame: int, run: NDArray[np.int64] | None = None) -> Block:
        """Read a frame without an entry in the access log of a data set.

        Jumps are counted from the first of the frames `run`, or not at all.
        """
        return self.source.read([frame], self.columns, None, counted=False, run=run)

    def blocks(self, size: int | None = None, frames: FrameChoice = None) -> Iterator[Block]:
        """Iterate over blocks of frames; see `Trajectory.blocks`."""
        return self.source.blocks(size, frames, self.columns)


def few_atoms_messages(selection: SelectedAtoms) -> list[Message]:
    """Return a message if a selection has too few atoms to determine a superposition."""
    if selection.n_atoms > 2:
        return []
    atoms = "one atom does" if selection.n_atoms == 1 else "two atoms do"
    return [
        Message(
            Code.FEW_ATOMS,
            f"{quoted(selection.label)}: {atoms} not determine how a frame is turned",
            "superpose three atoms or more, such as 'name CA'",
        )
    ]
