"""Molecules that are broken over the periodic box, and chains that lie in different images.

Neighbouring atoms are compared: CA atoms of consecutive residues, and consecutive atoms of a
residue. A molecule is broken if such neighbours lie on either side of the box. A molecule that is
broken only between other atoms is not found. Chains that touch in frame 0 are compared likewise, by
the closest pair of CA atoms, and a few other molecules, such as ligands, with the chain beside
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import TrajetError
from trajet.analysis.backbone import CALCIUM
from trajet.box import Box
from trajet.labels import chain_numbers, chains_of
from trajet.messages import Code, Message
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
# Fewest such atoms of a chain, and most chains and small molecules that are compared.
_MIN_OF_CHAIN, _MAX_CHAINS = 10, 500
# Most molecules beside chains that are compared with them: of more, such as water, all images mix.
_MAX_SMALL = 20
# A small molecule may move so far from its chain, as part of the cell's shortest height in frame 0;
# images of any pair may be so far from each other, as part of that of their frame.
_NEAR = 0.45


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
            between, between_limits = _touching(selections)
            pairs.append(between)
            limits.append(between_limits)
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

    def messages(self, apart: "PairsApart", n_frames: int) -> list[Message]:
        """Return messages if pairs were apart in some of the `n_frames` frames of a run."""
        broken, chains = apart
        found = []
        if broken is not None:
            found.append(_message(*self.described(broken, n_frames)))
        if chains is not None:
            found.append(_message_on_chains(*self.described(chains, n_frames)))
        return found

    def described(
        self, apart: "BrokenMolecules", n_frames: int
    ) -> tuple[str, str, str, float, float]:
        """Return the selection, the frames, the two atoms, and their two distances."""
        n_apart, first_frame, pair, written, nearest = apart
        columns = self.pairs[pair]
        # Of two chains, each may be in a selection of its own.
        both = [one for one in self.selections if np.isin(columns, one.columns).all()]
        whose = both[:1] or [
            next(one for one in self.selections if column in one.columns) for column in columns
        ]
        index = whose[0].source.index
        topology = whose[0].topology_atoms.topology
        atoms = Atoms(topology, index.indices_of(columns))
        where = f"frame {first_frame}"
        if n_frames > 1:
            where = f"{n_apart} of {n_frames} frames, the first is frame {first_frame}"
        words = [atoms.describe(i) for i in range(2)]
        names = chains_of(atoms)
        if pair >= self.n_within and names is not None:
            words = [f"{text} of {name}" for text, name in zip(words, names.tolist(), strict=True)]
        labels = " and ".join(quoted(one.label) for one in whose)
        return labels, where, " and ".join(words), written, nearest


def find_broken_molecules(
    selection: Selection, positions: NDArray[np.floating], box: Box, where: str
) -> list[Message]:
    """Return a message if neighbouring atoms of a structure lie on either side of its box.

    Parameters
    ----------
    selection
        The selected atoms.
    positions
        `(n_atoms, 3)`, their positions in the structure, Å.
    box
        Its unit cell.
    where
        The structure, for the message.
    """
    if not selection.source.structure.is_known:
        return []
    # The height is NaN without a cell. In a small cell, images are as close as neighbours.
    if not _shortest_height(box) > 2 * _LONGEST:
        return []
    atoms = selection.topology_atoms
    pairs, limits = _neighbours(atoms)
    if (apart := _first_apart(positions, pairs, limits, box)) is None:
        return []
    k, written, nearest = apart
    words = " and ".join(atoms.describe(int(i)) for i in pairs[k])
    return [_message(quoted(selection.label), where, words, written, nearest)]


def find_chains_apart(
    selections: Sequence[Selection], positions: Sequence[NDArray[np.floating]], box: Box, where: str
) -> list[Message]:
    """Return a message if chains that are near each other lie in different images of a box.

    Parameters
    ----------
    selections, positions
        Selections, and the positions of the atoms of each in the structure, `(n_atoms, 3)`, Å.
    box
        Its unit cell.
    where
        The structure, for the message.
    """
    if (found := _chains(selections)) is None:
        return []
    columns, chains, is_small = found
    known, first = np.unique(np.concatenate([one.columns for one in selections]), return_index=True)
    there = np.concatenate(positions)[first[np.searchsorted(known, columns)]].astype(np.float32)
    pairs, limits = _near(there, chains, is_small, box)
    if (apart := _first_apart(there, pairs, limits, box)) is None:
        return []
    neighbours = Neighbours(selections, columns[pairs], limits.astype(np.float32), 0)
    labels, _, words, written, nearest = neighbours.described((1, 0, *apart), 1)
    return [_message_on_chains(labels, where, words, written, nearest, near="")]


def _first_apart(
    positions: NDArray[np.floating], pairs: NDArray[np.int64], limits: NDArray[np.float64], box: Box
) -> tuple[int, float, float] | None:
    """Return the number of the first pair that is apart, as runs find it, and its distances, Å."""
    height = _shortest_height(box)
    written = np.linalg.norm(np.diff(positions[pairs], axis=1)[:, 0], axis=1)
    far = np.flatnonzero(written > height / 2)
    if not far.size:
        return None
    one, other = np.moveaxis(positions[pairs[far]], 1, 0)
    nearest = box.distances(one, other)
    apart = np.flatnonzero(nearest <= np.minimum(limits[far], _NEAR * height))
    if not apart.size:
        return None
    k = int(apart[0])
    return int(far[k]), float(written[far[k]]), float(nearest[k])


def _message(labels: str, where: str, atoms: str, written: float, nearest: float) -> Message:
    """Return the message on broken molecules, given two neighbours on either side of the box."""
    return Message(
        Code.BROKEN_MOLECULES,
        f"selection {labels}, {where}: molecules are broken over the box, and positions are"
        f" taken as they are written: neighbours lie on either side, such as {atoms},"
        f" {written:.1f} Å apart, {nearest:.1f} Å as nearest images",
        "make molecules whole with selection.whole(), or several of them, as a protein and its"
        " ligand, with trajectory.repair(...); infinite ones need neither",
    )


def _message_on_chains(
    labels: str,
    where: str,
    atoms: str,
    written: float,
    nearest: float,
    near: str = ", near each other in frame 0,",
) -> Message:
    """Return the message on chains in different images, given two of their atoms that touch."""
    return Message(
        Code.CHAINS_IN_IMAGES,
        f"selection {labels}, {where}: molecules lie in different images of the box, and positions"
        f" are taken as they are written: {atoms}{near} are {written:.1f} Å apart, {nearest:.1f} Å"
        " as nearest images",
        "put molecules together with trajectory.repair(...) or trajectory.cluster(...)",
    )


def _touching(selections: Sequence[Selection]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of `_near` in frame 0, as columns of the trajectory, and their limits."""
    none = np.zeros((0, 2), np.int64), np.zeros(0)
    if (found := _chains(selections)) is None:
        return none
    columns, chains, is_small = found
    try:
        block = selections[0].trajectory.source.read([0], columns, None, counted=False)
    except (TrajetError, OSError):
        # The run needs not read this frame; if it does, it meets the error.
        return none
    pairs, limits = _near(block.positions[0], chains, is_small, Box.of(block))
    return columns[pairs], limits


def _near(
    positions: NDArray[np.float32],
    chains: NDArray[np.int64],
    is_small: NDArray[np.bool_],
    box: Box,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the closest pairs of atoms of chains that touch, and of small molecules.

    Chains that touch as they are written are pairs. Others are pairs only if nearest images touch,
    and no chains between connect them: those at the ends of a fibril touch over the box. A small
    molecule that touches nothing is paired with the chain that is nearest.

    Parameters
    ----------
    positions, chains, is_small
        Positions of atoms (Å), and the chain or small molecule of each; see `_chains`.

    Returns
    -------
    pairs
        `(n, 2)`, int64, places of the atoms.
    limits
        `(n,)`, float64, the largest distance at which a pair is compared, Å.
    """
    height = _shortest_height(box)
    if not (height > 2 * _FURTHEST and np.isfinite(positions).all()):
        return np.zeros((0, 2), np.int64), np.zeros(0)
    pairs, nearest = _closest(positions, chains, box)
    limits = np.where(is_small[pairs].any(axis=1), _NEAR * height, nearest + _FURTHER)
    large = np.flatnonzero(~is_small)
    for chain in np.setdiff1d(chains[is_small], chains[pairs]):
        atom = np.flatnonzero(chains == chain)[:1]
        distances = box.distances(np.repeat(positions[atom], len(large), axis=0), positions[large])
        if distances.min() < _NEAR * height:
            pairs = np.append(pairs, [[atom[0], large[distances.argmin()]]], axis=0)
            limits = np.append(limits, _NEAR * height)
    return pairs, limits


def _chains(
    selections: Sequence[Selection],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]] | None:
    """Return columns and chains of the CA atoms of selections, and of small molecules beside them.

    Returns
    -------
    columns, chains, is_small
        `(n,)` each, columns ascending; None if there is no chain, or nothing beside it.
    """
    columns, chains, is_small = [], [], []
    for selection in selections:
        if not selection.source.structure.is_known:
            continue
        atoms = selection.topology_atoms
        there = np.sort(np.concatenate([atoms.named(name) for name in _BACKBONE]))
        there = there[~_is_calcium(atoms, there)]
        columns.append(selection.columns[there])
        chains.append(chain_numbers(Atoms(atoms.topology, atoms.indices[there])))
        is_small.append(np.zeros(len(there), np.bool_))
        if len(there) < len(atoms) and len(small := _small_molecules(atoms, there)):
            columns.append(selection.columns[small])
            # Numbers that no chain has.
            chains.append(-1 - atoms.places[small])
            is_small.append(np.ones(len(small), np.bool_))
    if not columns:
        return None
    found, first = np.unique(np.concatenate(columns), return_index=True)
    are_small = np.concatenate(is_small)[first]
    _, numbers, counts = np.unique(
        np.concatenate(chains)[first], return_inverse=True, return_counts=True
    )
    kept = are_small | (counts >= _MIN_OF_CHAIN)[numbers]
    # `np.unique` without counts imports the masked arrays of NumPy.
    n_parts = np.count_nonzero(np.bincount(numbers[kept]))
    if are_small[kept].all() or not 2 <= n_parts <= _MAX_CHAINS:
        return None
    return found[kept], numbers[kept], are_small[kept]


def _small_molecules(atoms: Atoms, backbone: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the atoms of residues without a backbone, if these are few, such as ligands."""
    topology, places = atoms.topology, atoms.places
    is_beside = np.ones(topology.n_places, np.bool_)
    is_beside[places[backbone]] = False
    beside = np.flatnonzero(is_beside[places])
    of_these = np.unique(places[beside])
    if not 0 < len(of_these) <= _MAX_SMALL:
        return np.zeros(0, np.int64)
    # Side chains alone are no molecules.
    whole = Atoms(topology, np.flatnonzero(np.isin(topology.places, of_these)))
    of_protein = np.concatenate([whole.named(name) for name in _BACKBONE])
    of_protein = of_protein[~_is_calcium(whole, of_protein)]
    return beside[~np.isin(places[beside], whole.places[of_protein])]


def _closest(
    positions: NDArray[np.float32], chains: NDArray[np.int64], box: Box
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the closest pairs of atoms of touching chains, and their nearest distances, Å."""
    lattice = (box.vectors, box.periodic.tolist())
    close = _trajet.contact_pairs(positions, None, lattice, _TOUCHING)
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


def _shortest_height(box: Box) -> float:
    """Return the least distance of opposite faces in periodic directions, Å; NaN without any."""
    cell = box.cell
    cosines, sines = np.cos(np.radians(cell[3:])), np.sin(np.radians(cell[3:]))
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = np.sqrt(1 - (cosines**2).sum() + 2 * cosines.prod())
        heights = (cell[:3] * volume / sines)[box.periodic]
    return float(heights.min()) if len(heights) else float("nan")
