"""Atoms of an analysis that takes the same atoms in every frame, or other ones in each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.alternate_locations import locations_of
from trajet.analysis.runner import further_selection, main_selection
from trajet.trajectory import Selection, Trajectory, UpdatingSelection

if TYPE_CHECKING:
    from trajet.universes import AtomGroup


@dataclass(frozen=True)
class AtomSet:
    """Atoms that are read, and the selection of those that count in each frame.

    Attributes
    ----------
    atoms
        The atoms that are read: those that may count, and those on whose positions that depends.
    updating
        The selection that follows the frame; None if all atoms count in every frame.
    native
        The same for the native module.
    possible
        Columns of the atoms that may count in some frame.
    """

    atoms: Selection
    possible: NDArray[np.int64]
    updating: UpdatingSelection | None = None
    native: bytes | None = None

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory."""
        return self.atoms.trajectory

    @property
    def label(self) -> str:
        """Name in figures and reports."""
        return self.atoms.label

    @property
    def n_atoms(self) -> int | None:
        """Number of atoms; None if it is another in each frame."""
        return self.atoms.n_atoms if self.updating is None else None

    def positions_in(self, frame: int, run: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the positions of the atoms that count in a frame, `(n, 3)`, Å.

        Jumps are counted from the first of the frames `run`.
        """
        if self.updating is None:
            block = self.atoms.read_uncounted(frame, run)
        else:
            _, block = self.updating.read_uncounted(frame, run)
        positions: NDArray[np.float32] = block.positions[0]
        return positions


def main_set(thing: "Selection | UpdatingSelection | AtomGroup") -> AtomSet:
    """Return the main atoms of an analysis that may be others in each frame."""
    if not isinstance(thing, UpdatingSelection):
        return fixed_set(main_selection(thing))
    native, columns = thing.prepared(has_selected=True)
    possible, _ = thing.trajectory.source.index.columns_of(native.atoms_possible)
    atoms = Selection(thing.trajectory, columns, thing.text)
    return AtomSet(atoms, possible, thing, native.to_bytes())


def further_set(
    thing: "str | Selection | UpdatingSelection | AtomGroup", trajectory: Trajectory
) -> AtomSet:
    """Return further atoms of the same system.

    Raises
    ------
    SelectionError
        If they are of another trajectory.
    """
    if not isinstance(thing, UpdatingSelection):
        return fixed_set(further_selection(thing, trajectory))
    found = main_set(thing)
    further_selection(found.atoms, trajectory)
    return found


def fixed_set(atoms: Selection) -> AtomSet:
    """Return atoms that all count in every frame."""
    return AtomSet(atoms, atoms.columns)


def selected_locations(groups: Sequence[Selection]) -> dict[str, NDArray[np.int64]] | None:
    """Return the alternate locations of groups of atoms, a parameter of plans; None without any."""
    trajectory = groups[0].trajectory
    return locations_of(
        trajectory.topology if trajectory.has_topology else None,
        np.concatenate([each.indices for each in groups]),
        np.concatenate([each.columns for each in groups]),
    )
