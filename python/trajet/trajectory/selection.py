"""`Selection`: some atoms of a trajectory."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.labels import chain_numbers
from trajet.quoting import quoted
from trajet.topology import Atoms
from trajet.trajectory.block import Block
from trajet.trajectory.choice import FrameChoice, frame_number
from trajet.trajectory.cursor import Cursor
from trajet.trajectory.frame import Frame
from trajet.trajectory.transforms import MakeSteps, Transformable

if TYPE_CHECKING:
    from trajet.trajectory.trajectory import Trajectory
    from trajet.universes import AtomGroup


class Selection(Transformable):
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

    _INTERNAL = frozenset({"group_numbers", "look", "places", "t_select", "topology_atoms"})

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

    def _transformed(self, make: MakeSteps) -> Self:
        """Return the same atoms of the transformed trajectory; see `Transformable`."""
        made = copy(self)
        made.trajectory = self.trajectory._transformed(make)
        return made

    def __getitem__(self, number: int) -> Frame:
        """Return a frame; negative numbers count from the end."""
        number = frame_number(number)
        trajectory = self.trajectory
        run = trajectory.run_before(number)
        return Frame.of(trajectory.read_places([number], self.places, None, run=run), 0, self)

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
        return self.trajectory.universe.atoms[self.indices]

    @property
    def topology_atoms(self) -> Atoms:
        """The atoms with their columns in the topology."""
        return Atoms(self.trajectory.topology, self.indices)

    def __and__(self, other: "Selection") -> "Selection":
        """Return the atoms that are in both selections, in ascending order."""
        return self._combined(other, np.intersect1d, "({}) and ({})")

    def __or__(self, other: "Selection") -> "Selection":
        """Return the atoms that are in one of the selections, in ascending order."""
        return self._combined(other, np.union1d, "({}) or ({})")

    def __invert__(self) -> "Selection":
        """Return the atoms of the trajectory that are not in the selection."""
        others = np.ones(self.trajectory.n_atoms, np.bool_)
        others[self.places] = False
        text = None if self.text is None else f"not ({self.text})"
        return self._made(np.flatnonzero(others), text)

    def by_residue(self) -> "Selection":
        """Return all atoms of the residues that have an atom in the selection.

        Examples
        --------
        >>> traj.select("name CA").by_residue().n_atoms
        3341
        """
        residues = self.trajectory.topology_atoms.residues
        chosen = np.flatnonzero(np.isin(residues, residues[self.places]))
        return self._made(chosen, None if self.text is None else f"byres ({self.text})")

    def split(self, by: Literal["residue", "molecule", "chain"]) -> list["Selection"]:
        """Return the selected atoms of each residue, molecule or chain, by their first atoms.

        Molecules are those that the topology lists (TPR), or else sets of bonded atoms. Chains have
        the same chain identifier, or the same segment in topologies without chain identifiers.

        Raises
        ------
        SelectionError
            If the topology has neither molecules nor bonds.

        Examples
        --------
        >>> len(traj.select("name CA").split("residue"))
        214
        """
        groups = self.group_numbers(by)
        _, first, which = np.unique(groups, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return [self._made(self.places[which == kind], None) for kind in order.tolist()]

    def group_numbers(self, by: Literal["residue", "molecule", "chain"]) -> NDArray[np.int64]:
        """Return the number of the residue, molecule or chain of each selected atom; see `split`.

        Groups are numbered over the topology: the numbers of several selections can be compared.

        Returns
        -------
        ndarray, shape (n_atoms,), int64
        """
        atoms = self.topology_atoms
        if by == "residue":
            return atoms.residues
        if by == "molecule":
            return self.trajectory.topology.molecules[atoms.indices]
        if by != "chain":
            raise ValueError(f"split by 'residue', 'molecule' or 'chain', not {by!r}")
        return chain_numbers(atoms)

    def _combined(
        self,
        other: "Selection",
        combine: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]],
        text: str,
    ) -> "Selection":
        """Return a combination of two selections of one trajectory."""
        if not isinstance(other, Selection):
            return NotImplemented
        if other.trajectory is not self.trajectory:
            raise SelectionError(
                f"{other!r} is of another trajectory: transform the trajectory, then select from it"
            )
        both = self.text is not None and other.text is not None
        return self._made(
            combine(self.places, other.places), text.format(self.text, other.text) if both else None
        )

    def _made(self, places: NDArray[np.int64], text: str | None) -> "Selection":
        """Return a selection made from this one.

        Raises
        ------
        SelectionError
            If it has no atom.
        """
        if not len(places):
            raise SelectionError(
                f"{'the combination' if text is None else quoted(text)} selects none of the"
                f" {self.trajectory.n_atoms} atoms of {self.trajectory.label}"
            )
        return Selection(self.trajectory, places, text)

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

    def look(self, frame: int, run: NDArray[np.int64] | None = None) -> Block:
        """Read a frame without an entry in the access log of a data set.

        Jumps are counted from the first of the frames `run`, or not at all.
        """
        return self.trajectory.read_places([frame], self.places, None, counted=False, run=run)

    def blocks(self, size: int | None = None, frames: FrameChoice = None) -> Iterator[Block]:
        """Iterate over blocks of frames, which share their memory. See `Trajectory.blocks`."""
        return self.trajectory.blocks_of_places(size, frames, self.places)

    def cursor(
        self,
        *,
        positions: bool = True,
        velocities: bool = False,
        forces: bool = False,
        read_ahead: bool = True,
    ) -> Cursor:
        """Return a cursor, which reads one frame at a time of these atoms; see `Trajectory.cursor`.

        Examples
        --------
        >>> with traj.select("name CA").cursor() as cursor:
        ...     max(frame.positions[:, 2].max() for frame in cursor) > 0
        np.True_
        """
        return Cursor(
            self.trajectory,
            self.places,
            positions=positions,
            velocities=velocities,
            forces=forces,
            read_ahead=read_ahead,
        )
