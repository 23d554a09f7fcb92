"""Molecules that are broken over the periodic box, and chains that lie in different images.

Neighbouring atoms are compared: CA atoms of consecutive residues, and consecutive atoms of a
residue. A molecule is broken if such neighbours lie on either side of the box. A molecule that is
broken only between other atoms is not found. Chains that touch in frame 0 are compared likewise, by
the closest pair of CA atoms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import TrajetError
from trajet.analysis.backbone import CALCIUM
from trajet.box import Box
from trajet.labels import chain_numbers, chains_of
from trajet.quoting import quoted
from trajet.topology import Atoms
from trajet.trajectory import Selection

if TYPE_CHECKING:
    from trajet._trajet import BrokenMolecules, PairsApart, Plan

# Largest distance of neighbours along a backbone, Å (CA: 3.8 Å, Martini's beads: 3.5 Å).
_BACKBONE = {"CA": 5.0, "BB": 5.0}
# Largest distance of atoms of one residue that are one or two bonds apart, Å.
_BONDED = 3.0
# The largest of all these distances, Å.
_LONGEST = max(_BONDED, *_BACKBONE.values())
# Chains touch where such atoms are closer than this, and may move apart by so much more, Å.
_TOUCHING, _FURTHER = 8.0, 3.0
_FURTHEST = _TOUCHING + _FURTHER
# Fewest such atoms of a chain, and most chains that are compared.
_LEAST_OF_CHAIN, _MOST_CHAINS = 10, 500


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
        `(n,)`, float32, the largest distance of each pair in a whole molecule, or of chains that
        touch, Å.
    n_within
        Number of pairs of one molecule; the others are of two chains.
    """

    selections: Sequence[Selection]
    pairs: NDArray[np.int64]
    limits: NDArray[np.float32]
    n_within: int

    @classmethod
    def of(cls, selections: Sequence[Selection], *, with_chains: bool = True) -> "Neighbours":
        """Return the pairs; none if there is no topology, which would have to be read.

        Pairs of two chains are among them unless `with_chains` is False.
        """
        pairs, limits = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for selection in selections:
            if selection.source.structure.is_known:
                own, own_limits = _neighbours(selection.topology_atoms)
                pairs.append(selection.columns[own])
                limits.append(own_limits)
        n_within = sum(map(len, pairs))
        if with_chains:
            for own, own_limits in _touching(selections):
                pairs.append(own)
                limits.append(own_limits)
        all_pairs, all_limits = np.concatenate(pairs), np.concatenate(limits)
        if len(selections) > 1:
            _, once = np.unique(all_pairs, axis=0, return_index=True)
            once.sort()
            all_pairs, all_limits = all_pairs[once], all_limits[once]
            n_within = int(np.searchsorted(once, n_within))
        return cls(selections, all_pairs, all_limits.astype(np.float32), n_within)

    def added_to(self, plan: "Plan") -> "Plan":
        """Return the plan of a run that also looks for broken molecules."""
        if not len(self.pairs):
            return plan
        first, second = np.ascontiguousarray(self.pairs.T)
        return plan.with_neighbours(
            first=first, second=second, limits=self.limits, n_within=self.n_within
        )

    def remarks(self, apart: "PairsApart", n_frames: int) -> list[str]:
        """Return remarks if pairs were apart in some of the `n_frames` frames of a run."""
        broken, chains = apart
        found = []
        if broken is not None:
            found.append(_remark(*self._described(broken, n_frames)))
        if chains is not None:
            found.append(_remark_on_chains(*self._described(chains, n_frames)))
        return found

    def _described(
        self, apart: "BrokenMolecules", n_frames: int
    ) -> tuple[str, str, str, float, float]:
        """Return the selection, the frames, the two atoms, and their two distances."""
        n_apart, first_frame, pair, written, nearest = apart
        columns = self.pairs[pair]
        whose = next(one for one in self.selections if np.isin(columns, one.columns).all())
        atoms = whose.topology_atoms
        at = [int(np.flatnonzero(whose.columns == column)[0]) for column in columns]
        where = f"frame {first_frame}"
        if n_frames > 1:
            where = f"{n_apart} of {n_frames} frames, the first is frame {first_frame}"
        words = [atoms.describe(i) for i in at]
        names = chains_of(Atoms(atoms.topology, atoms.indices[at]))
        if pair >= self.n_within and names is not None:
            words = [f"{text} of {name}" for text, name in zip(words, names.tolist(), strict=True)]
        return whose.label, where, " and ".join(words), written, nearest


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
    if not selection.source.structure.is_known:
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


def _remark_on_chains(label: str, where: str, atoms: str, written: float, nearest: float) -> str:
    """Return the remark on chains in different images, given two of their atoms that touch."""
    return (
        f"selection {quoted(label)}, {where}: chains lie in different images of the box, and"
        f" positions are taken as they are written: {atoms}, chains that touch in frame 0, are"
        f" {written:.1f} Å apart, {nearest:.1f} Å as nearest images: put chains together with"
        " --repair or --cluster (trajectory.repair(), .cluster())"
    )


def _touching(
    selections: Sequence[Selection],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield the closest pairs of atoms of chains that touch in frame 0, and their limits.

    Chains that touch as they are written are pairs. Others are pairs only if nearest images touch,
    and no chains between connect them: those at the ends of a fibril touch over the box.

    Yields
    ------
    pairs
        `(n, 2)`, int64, columns of the trajectory.
    limits
        `(n,)`, float64, the largest distance at which a pair counts as touching, Å.
    """
    with_chains = [each for each in map(_chains, selections) if each is not None]
    if not with_chains:
        return
    # Frame 0 is read once.
    columns = np.unique(np.concatenate([own for own, _ in with_chains]))
    try:
        block = selections[0].trajectory.source.read([0], columns, None, counted=False)
    except (TrajetError, OSError):
        # The run needs not read this frame; if it does, it meets the error.
        return
    box, positions = Box.of(block), block.positions[0]
    if not _shortest_height(box.cell) > 2 * _FURTHEST:
        return
    for own, chains in with_chains:
        placed = positions[np.searchsorted(columns, own)]
        if np.isfinite(placed).all():
            pairs, nearest = _closest(placed, chains, box)
            yield own[pairs], nearest + _FURTHER


def _chains(selection: Selection) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return columns and chains of the CA atoms of a selection; None without several chains."""
    if not selection.source.structure.is_known:
        return None
    atoms = selection.topology_atoms
    there = np.sort(np.concatenate([atoms.named(name) for name in _BACKBONE]))
    there = there[~_is_calcium(atoms, there)]
    numbers = chain_numbers(Atoms(atoms.topology, atoms.indices[there]))
    _, chains, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    is_chain = counts >= _LEAST_OF_CHAIN
    if not 2 <= np.count_nonzero(is_chain) <= _MOST_CHAINS:
        return None
    kept = is_chain[chains]
    return selection.columns[there[kept]], chains[kept]


def _closest(
    positions: NDArray[np.float32], chains: NDArray[np.int64], box: Box
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the closest pairs of atoms of touching chains, and their nearest distances, Å."""
    close = _trajet.contact_pairs(positions, None, box.vectors, _TOUCHING)
    close = close[chains[close[:, 0]] != chains[close[:, 1]]]
    one, other = np.moveaxis(positions[close], 1, 0)
    written = np.linalg.norm(np.subtract(other, one, dtype=np.float64), axis=1)
    nearest = box.distances(one, other)
    # First those that touch as they are written; of two chains the closest pair.
    order = np.lexsort((nearest, written > _TOUCHING))
    _, first = np.unique(np.sort(chains[close[order]], axis=1), axis=0, return_index=True)
    chosen: list[int] = []
    joined = np.arange(chains.max(initial=0) + 1)
    for k in order[np.sort(first)].tolist():
        a, b = joined[chains[close[k]]]
        if a != b:
            joined[joined == a] = b
            chosen.append(k)
    return close[chosen], nearest[chosen]


def _is_calcium(atoms: Atoms, there: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which atoms, given by their places in a group, are of residues of calcium."""
    names = atoms.topology.column("resnames")
    if names is None:
        return np.zeros(len(there), np.bool_)
    return np.isin(names[atoms.residues[there]], CALCIUM)


def _neighbours(atoms: Atoms) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of neighbouring atoms and the largest distance of each pair.

    Returns
    -------
    pairs
        `(n, 2)`, int64, indices into the group.
    limits
        `(n,)`, float64, Å.
    """
    places = atoms.places
    within = np.flatnonzero(places[1:] == places[:-1])
    pairs, limits = [np.stack([within, within + 1], axis=1)], [np.full(len(within), _BONDED)]
    for name, limit in _BACKBONE.items():
        there = atoms.named(name)
        along = np.stack([there[:-1], there[1:]], axis=1)
        along = along[np.diff(places[along], axis=1)[:, 0] == 1]
        pairs.append(along)
        limits.append(np.full(len(along), limit))
    return np.concatenate(pairs), np.concatenate(limits)


def _shortest_height(cell: NDArray[np.float64]) -> float:
    """Return the least distance of opposite faces of a cell, Å; NaN if there is no cell."""
    cosines, sines = np.cos(np.radians(cell[3:])), np.sin(np.radians(cell[3:]))
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = np.sqrt(1 - (cosines**2).sum() + 2 * cosines.prod())
        return float((cell[:3] * volume / sines).min())
