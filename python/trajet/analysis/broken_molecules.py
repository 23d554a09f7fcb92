"""Molecules that are broken over the periodic box.

Neighbouring atoms are compared: CA atoms of consecutive residues, and consecutive atoms of a
residue. A molecule is broken if such neighbours lie on either side of the box. A molecule that is
broken only between other atoms is not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.box import Box
from trajet.quoting import quoted
from trajet.topology import Atoms
from trajet.trajectory import Selection

if TYPE_CHECKING:
    from trajet._trajet import BrokenMolecules, Plan

# Largest distance of neighbours along a backbone, Å (CA: 3.8 Å, Martini's beads: 3.5 Å).
_BACKBONE = {"CA": 5.0, "BB": 5.0}
# Largest distance of atoms of one residue that are one or two bonds apart, Å.
_BONDED = 3.0
# The largest of all these distances, Å.
_LONGEST = max(_BONDED, *_BACKBONE.values())


@dataclass(frozen=True)
class Neighbours:
    """Pairs of neighbouring atoms of selections, by which a run finds broken molecules.

    Attributes
    ----------
    selections
        The selections whose positions are taken as they are written.
    pairs
        `(n, 2)`, int64, columns of the trajectory; each pair once.
    limits
        `(n,)`, float32, the largest distance of each pair in a whole molecule, Å.
    """

    selections: Sequence[Selection]
    pairs: NDArray[np.int64]
    limits: NDArray[np.float32]

    @classmethod
    def of(cls, selections: Sequence[Selection]) -> "Neighbours":
        """Return the pairs; none if there is no topology, which would have to be read."""
        pairs, limits = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for selection in selections:
            if selection.trajectory.has_topology:
                own, own_limits = _neighbours(selection.topology_atoms)
                pairs.append(selection.columns[own])
                limits.append(own_limits)
        all_pairs, all_limits = np.concatenate(pairs), np.concatenate(limits)
        if len(selections) > 1:
            _, once = np.unique(all_pairs, axis=0, return_index=True)
            once.sort()
            all_pairs, all_limits = all_pairs[once], all_limits[once]
        return cls(selections, all_pairs, all_limits.astype(np.float32))

    def added_to(self, plan: "Plan") -> "Plan":
        """Return the plan of a run that also looks for broken molecules."""
        if not len(self.pairs):
            return plan
        first, second = np.ascontiguousarray(self.pairs.T)
        return plan.with_neighbours(first=first, second=second, limits=self.limits)

    def remarks(self, broken: "BrokenMolecules | None", n_frames: int) -> list[str]:
        """Return a remark if molecules were broken in some of the `n_frames` frames of a run."""
        if broken is None:
            return []
        n_broken, first_frame, pair, written, nearest = broken
        columns = self.pairs[pair]
        whose = next(one for one in self.selections if np.isin(columns, one.columns).all())
        atoms = whose.topology_atoms
        at = [int(np.flatnonzero(whose.columns == column)[0]) for column in columns]
        where = f"frame {first_frame}"
        if n_frames > 1:
            where = f"{n_broken} of {n_frames} frames, the first is frame {first_frame}"
        words = " and ".join(atoms.describe(i) for i in at)
        return [_remark(whose.label, where, words, written, nearest)]


def find_broken_molecules(
    selection: Selection, positions: NDArray[np.floating], box: Box, where: str
) -> list[str]:
    """Return a remark if neighbouring atoms of a structure lie on either side of its box.

    Parameters
    ----------
    selection
        The selected atoms.
    positions
        `(n_atoms, 3)`, their positions in the structure, Å.
    box
        Its unit cell.
    where
        The structure, for the remark.
    """
    if not selection.trajectory.has_topology:
        return []
    half = _shortest_height(box.cell) / 2
    # `half` is NaN without a cell. In a small cell, images are as close as neighbours.
    if not half > _LONGEST:
        return []
    atoms = selection.topology_atoms
    pairs, limits = _neighbours(atoms)
    written = np.linalg.norm(np.diff(positions[pairs], axis=1)[:, 0], axis=1)
    far = written > half
    if not far.any():
        return []
    pairs, limits, written = pairs[far], limits[far], written[far]
    one, other = np.moveaxis(positions[pairs], 1, 0)
    images = box.distances(one, other)
    torn = np.flatnonzero(images <= limits)
    if not torn.size:
        return []
    k = int(torn[0])
    words = " and ".join(atoms.describe(int(i)) for i in pairs[k])
    return [_remark(selection.label, where, words, written[k], images[k])]


def _remark(label: str, where: str, atoms: str, written: float, nearest: float) -> str:
    """Return the remark on broken molecules, given two neighbours on either side of the box."""
    return (
        f"selection {quoted(label)}, {where}: molecules are broken over the box, and positions are"
        f" taken as they are written: neighbours lie on either side, such as {atoms},"
        f" {written:.1f} Å apart, {nearest:.1f} Å as nearest images: make molecules whole with"
        " --whole (selection.whole()), unless they are infinite"
    )


def _neighbours(atoms: Atoms) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of neighbouring atoms and the largest distance of each pair.

    Returns
    -------
    pairs
        `(n, 2)`, int64, indices into the group.
    limits
        `(n,)`, float64, Å.
    """
    residues = atoms.residues
    within = np.flatnonzero(residues[1:] == residues[:-1])
    pairs, limits = [np.stack([within, within + 1], axis=1)], [np.full(len(within), _BONDED)]
    for name, limit in _BACKBONE.items():
        there = atoms.named(name)
        along = np.stack([there[:-1], there[1:]], axis=1)
        along = along[np.diff(residues[along], axis=1)[:, 0] == 1]
        pairs.append(along)
        limits.append(np.full(len(along), limit))
    return np.concatenate(pairs), np.concatenate(limits)


def _shortest_height(cell: NDArray[np.float64]) -> float:
    """Return the least distance of opposite faces of a cell, Å; NaN if there is no cell."""
    cosines, sines = np.cos(np.radians(cell[3:])), np.sin(np.radians(cell[3:]))
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = np.sqrt(1 - (cosines**2).sum() + 2 * cosines.prod())
        return float((cell[:3] * volume / sines).min())
