"""`InteractionSearch`: the chemistry of two groups of atoms, as the parameters of a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Plan, SelectionError
from trajet.analysis.atom_groups import axis_of_atoms, residues_axis
from trajet.analysis.chain_neighbours import ChainNeighbours
from trajet.analysis.runner import AnalysisOutcome
from trajet.messages import Code, Message
from trajet.result import Chemistry
from trajet.result.axes import Axis
from trajet.result.interactions import BRIDGE, KINDS
from trajet.topology import Topology
from trajet.trajectory import Selection

# Whether rings follow the rules of ProLIF, which tests compare.
PEER_RINGS = False
# Bonds between atoms that do not interact.
_MAX_BONDS = 3
# Bits of roles, as in `Chemistry.roles`.
_HYDROPHOBIC, _ACCEPTOR, _DONOR, _CATION, _ANION, _METAL, _LIGAND, _HALOGEN, _OF_HALOGEN = (
    1 << k for k in range(9)
)
_RING = 1 << 9
# Roles that the ends of each word of kinds need.
_NEEDED = {
    "hydrophobic": (_HYDROPHOBIC, _HYDROPHOBIC),
    "hbond": (_DONOR, _ACCEPTOR),
    "pi": (_RING, _RING),
    "ionic": (_ANION, _CATION),
    "cation-pi": (_CATION, _RING),
    "halogen": (_HALOGEN, _OF_HALOGEN),
    "metal": (_METAL, _LIGAND),
}
# Words of kinds, and the kinds that they stand for.
WORDS: Mapping[str, tuple[str, ...]] = {
    "hydrophobic": ("hydrophobic",),
    "hbond": ("hbond-donor", "hbond-acceptor"),
    "pi": ("pi-face", "pi-edge"),
    "ionic": ("anionic", "cationic"),
    "cation-pi": ("cation-pi", "pi-cation"),
    "halogen": ("halogen-acceptor", "halogen-donor"),
    "metal": ("metal-donor", "metal-acceptor"),
    "vdw": ("vdw",),
    "water-bridge": (BRIDGE,),
}


@dataclass(frozen=True)
class InteractionSearch:
    """Atoms with their chemistry, and the labels of the ends of interactions.

    Attributes
    ----------
    topology
        The topology.
    arrays
        The parameters of plans that describe atoms and groups.
    kinds
        The kinds, in the order of `KINDS`.
    atoms
        `(n,)`, int64, index of each place in the topology.
    residues
        `(n_residues,)`, int64, index of each residue in the topology.
    rings
        The atoms of each ring, by place.
    by
        "residue" or "atom".
    max_waters
        Most waters of a bridge; 0 without bridges.
    """

    topology: Topology
    arrays: Mapping[str, object]
    kinds: tuple[str, ...]
    atoms: NDArray[np.int64]
    residues: NDArray[np.int64]
    rings: Sequence[NDArray[np.int64]]
    by: Literal["residue", "atom"]
    max_waters: int

    @classmethod
    def of(
        cls,
        groups: tuple[Selection, Selection | None],
        water: Selection | None,
        chemistry: Chemistry,
        *,
        kinds: Sequence[str],
        by: Literal["residue", "atom"],
        exclude_neighbors: int,
        max_waters: int,
        messages: list[Message],
    ) -> "InteractionSearch":
        """Return the search between two groups, or within the first one.

        Parameters
        ----------
        water
            Waters that may be bridges.
        kinds
            Words of kinds.
        messages
            Messages on guessed bonds and kinds that no atom can form are appended.

        Raises
        ------
        SelectionError
            If an atom has no chemistry or radius, or is in a tag that is not open.
        """
        first, second = groups
        topology = first.trajectory.topology
        chosen = [one.indices for one in (first, second, water) if one is not None]
        atoms = _used(chemistry, np.unique(np.concatenate(chosen)), has_all="vdw" in kinds)
        found = chemistry.atoms[atoms]
        columns, there = first.trajectory.source.index.columns_of(found)
        if not there.all():
            raise SelectionError(
                f"{first.trajectory.label}: {int((~there).sum())} atoms of the chemistry are in"
                " tags that are not open: open the whole data set"
            )
        # In the order of a frame.
        order = np.argsort(columns)
        atoms, found, columns = atoms[order], found[order], columns[order]
        place = np.full(len(chemistry), -1)
        place[atoms] = np.arange(len(atoms))
        roles = chemistry.roles[atoms].astype(np.uint32)
        rings = [ring for one in chemistry.rings if ((ring := place[one]) >= 0).all()]
        residues, of_atoms = np.unique(topology.atoms_residues[found], return_inverse=True)
        flat = np.concatenate([np.zeros(0, np.int64), *rings])
        starts = np.cumsum([0, *map(len, rings)])
        labels = of_atoms if by == "residue" else np.arange(len(atoms))
        of_rings = (
            of_atoms[flat[starts[:-1]]]
            if by == "residue"
            else len(atoms) + np.arange(len(rings), dtype=np.int64)
        )
        radii = chemistry.radii[atoms] if "vdw" in kinds else np.zeros(0, np.float32)
        if np.isnan(radii).any():
            raise SelectionError(
                f"the radius of atom {found[np.isnan(radii)][0]} is unknown: leave out"
                ' the kind "vdw", or give chemistry= with all radii'
            )
        members = [None if one is None else _places(found, one) for one in (*groups, water)]
        is_ring = np.zeros(len(atoms), np.uint32)
        is_ring[flat] = _RING
        messages += _impossible(kinds, roles | is_ring, members[0], members[1])
        apart = _neighbours(first, residues, exclude_neighbors)
        excluded = _near_by_bonds(topology, chemistry, messages)
        excluded = place[excluded[(excluded < len(chemistry)).all(axis=1)]]
        excluded = excluded[(excluded >= 0).all(axis=1)]
        arrays: dict[str, object] = {
            "atoms": columns,
            "residues": of_atoms.astype(np.uint32),
            "roles": roles,
            "radii": radii,
            "hydrogens": _pairs(place, chemistry.hydrogens),
            "neighbours": _pairs(place, chemistry.neighbours),
            "excluded": excluded.ravel().astype(np.uint32),
            "apart": apart.ravel().astype(np.uint32),
            "ring_starts": starts.astype(np.uint32),
            "ring_atoms": flat.astype(np.uint32),
            "labels": np.concatenate([labels, of_rings]).astype(np.uint32),
            "first": members[0],
            "second": members[1],
            "waters": np.zeros(0, np.uint32) if members[2] is None else members[2],
            "max_waters": max_waters if "water-bridge" in kinds else 0,
        }
        named = {kind for word in kinds for kind in WORDS[word]}
        return cls(
            topology,
            arrays,
            tuple(kind for kind in KINDS if kind in named),
            found,
            residues,
            rings,
            by,
            max_waters if "water-bridge" in kinds else 0,
        )

    def plan(self, fold: str, *, most: int, limits: Sequence[Sequence[float]], pbc: bool) -> Plan:
        """Return the plan of a run that collects `fold`, with at most `most` entries."""
        return Plan(
            "interactions",
            **self.arrays,
            kinds=sum(1 << KINDS.index(kind) for kind in self.kinds if kind != BRIDGE),
            limits=limits,
            peer_rings=PEER_RINGS,
            periodic=pbc,
            fold=fold,
            most=most,
        )

    @property
    def n_labels(self) -> int:
        """Number of labels of ends."""
        if self.by == "residue":
            return len(self.residues)
        return len(self.atoms) + len(self.rings)

    def pairs_of(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the keys with one kind for bridges, and how many waters each has, 0 for others."""
        n_codes = len(KINDS) - 1 + self.max_waters
        ends, kinds = np.divmod(keys, n_codes)
        bridge = KINDS.index(BRIDGE)
        return ends * len(KINDS) + np.minimum(kinds, bridge), np.maximum(kinds - bridge + 1, 0)

    def axis_of(self, keys: NDArray[np.int64]) -> Axis:
        """Return the axis of pairs, given their keys with one kind for bridges."""
        ends, kinds = np.divmod(keys, len(KINDS))
        members = np.stack(np.divmod(ends, max(1, self.n_labels)), axis=1)
        known, places = np.unique(members, return_inverse=True)
        return Axis(
            "interactions",
            {"interaction": np.array(KINDS)[kinds]},
            of=self._elements(known),
            members=places.reshape(members.shape),
        )

    def list_axis(self, outcome: AnalysisOutcome, frames: NDArray[np.int64]) -> Axis:
        """Return the axis of all interactions of all frames, given the frame of each."""
        columns = outcome.integers("atoms")
        indices = outcome.request.trajectory.source.index.indices_of(columns)
        known, places = np.unique(indices, return_inverse=True)
        kinds = np.array(KINDS)[np.minimum(outcome.integers("kinds"), len(KINDS) - 1)]
        atoms = axis_of_atoms(self.topology.atoms[known])
        return Axis(
            "interaction list",
            {"frame": frames, "interaction": kinds},
            of=atoms.with_column("residue", self.topology.atoms_residues[known]),
            members=places.reshape(indices.shape),
        )

    def _elements(self, labels: NDArray[np.int64]) -> Axis:
        """Return the axis of residues, or of atoms and rings, by their labels."""
        if self.by == "residue":
            return residues_axis(self.topology, self.residues[labels])
        n_atoms = len(self.atoms)
        rings = [np.sort(self.atoms[self.rings[k]]) for k in (labels[labels >= n_atoms] - n_atoms)]
        first = [ring[0] for ring in rings]
        atoms = np.concatenate([self.atoms[labels[labels < n_atoms]], np.array(first, np.int64)])
        axis = axis_of_atoms(self.topology.atoms[atoms])
        names = self.topology.atoms.column("names")
        assert names is not None
        texts = [f"ring {names[ring[0]]}-{names[ring[-1]]}" for ring in rings]
        begin = len(atoms) - len(rings)
        own = [*axis["name"][:begin].tolist(), *texts]
        residues = residues_axis(self.topology, self.topology.atoms_residues[np.array(first, int)])
        found = [*axis["label"][:begin].tolist()]
        found += [f"{one}:{text}" for one, text in zip(residues.labels(), texts, strict=True)]
        axis = axis.with_column("label", np.array(found, np.str_))
        return axis.with_column("name", np.array(own, np.str_))


def limits_of(criteria: Mapping[str, Sequence[float]]) -> list[list[float]]:
    """Return the rows of limits of a plan, in which numbers that a kind lacks are 0."""
    return [[*map(float, numbers), 0.0, 0.0, 0.0][:4] for numbers in criteria.values()]


def _used(chemistry: Chemistry, selected: NDArray[np.int64], *, has_all: bool) -> NDArray[np.int64]:
    """Return the places in a chemistry of selected atoms, and of those that these need.

    Without `has_all`, atoms without a role are left out.

    Raises
    ------
    SelectionError
        If an atom is not there.
    """
    places = np.minimum(np.searchsorted(chemistry.atoms, selected), len(chemistry) - 1)
    if (missing := chemistry.atoms[places] != selected).any():
        raise SelectionError(
            f"chemistry= lacks atom {selected[missing][0]}: make it of all atoms of the analysis"
        )
    used = np.zeros(len(chemistry), np.bool_)
    used[places] = has_all | (chemistry.roles[places] != 0)
    is_selected = np.zeros(len(chemistry), np.bool_)
    is_selected[places] = True
    used[[atom for ring in chemistry.rings for atom in ring if is_selected[ring].all()]] = True
    for pairs in (chemistry.hydrogens, chemistry.neighbours):
        used[pairs[used[pairs[:, 0]], 1]] = True
    return np.flatnonzero(used)


def _places(atoms: NDArray[np.int64], selection: Selection) -> NDArray[np.uint32]:
    """Return the places of selected atoms."""
    return np.flatnonzero(np.isin(atoms, selection.indices)).astype(np.uint32)


def _pairs(place: NDArray[np.int64], pairs: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return pairs of which both atoms have places, one after the other."""
    found = place[pairs]
    return np.asarray(found[(found >= 0).all(axis=1)].ravel(), np.uint32)


def _impossible(
    kinds: Sequence[str],
    roles: NDArray[np.uint32],
    first: NDArray[np.uint32] | None,
    second: NDArray[np.uint32] | None,
) -> list[Message]:
    """Return a note on kinds that no two atoms can form."""
    assert first is not None
    one = int(np.bitwise_or.reduce(roles[first]))
    other = one if second is None else int(np.bitwise_or.reduce(roles[second]))

    def is_possible(word: str) -> bool:
        a, b = _NEEDED[word]
        return bool((one & a and other & b) or (one & b and other & a))

    words = [word for word in kinds if word in _NEEDED and not is_possible(word)]
    if not words:
        return []
    return [Message(Code.NO_ROLES, f"no two of the atoms can form: {', '.join(words)}")]


def _neighbours(first: Selection, residues: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return pairs of residues that are near in their chain, in both directions, `(n, 2)`."""
    if not most:
        return np.zeros((0, 2), np.int64)
    chains, topology = ChainNeighbours.of(first.trajectory), first.trajectory.topology
    places = np.zeros(topology.n_residues, np.int64)
    places[topology.atoms_residues] = topology.places
    places = places[residues]
    near = [
        np.flatnonzero(chains.are_near(np.full_like(places, place), places, most))
        for place in places.tolist()
    ]
    rows = np.repeat(np.arange(len(places)), list(map(len, near)))
    return np.stack([rows, np.concatenate(near)], axis=1)


def _near_by_bonds(
    topology: Topology, chemistry: Chemistry, messages: list[Message]
) -> NDArray[np.int64]:
    """Return places of atoms of two residues that few bonds connect, in both directions, `(n, 2)`.

    Bonds of metals do not count. Atoms without a place have the place `len(chemistry)`.
    """
    bonds = topology.bonds
    if bonds is None or not topology.has_all_bonds:
        try:
            bonds = topology.guessed_bonds
        except SelectionError:
            return np.zeros((0, 2), np.int64)
        text = "bonds between residues, whose atoms do not interact, are guessed from distances in"
        messages.append(Message(Code.GUESSED_BONDS, f"{text} {topology}"))
    place = np.full(topology.n_atoms, len(chemistry))
    place[chemistry.atoms] = np.arange(len(chemistry))
    metals = chemistry.atoms[(chemistry.roles & _METAL) != 0]
    bonds = bonds[~np.isin(bonds, metals).any(axis=1)]
    both = np.concatenate([bonds, bonds[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(topology.n_atoms + 1))
    residues = topology.atoms_residues
    across = bonds[residues[bonds[:, 0]] != residues[bonds[:, 1]]]
    # Bonds and atoms that so many steps reach from each of their ends.
    ends = [[(np.arange(len(across)), across[:, k])] for k in range(2)]
    for layers in ends:
        for _ in range(_MAX_BONDS - 1):
            rows, atoms = layers[-1]
            of, found = _joined(atoms, starts, both[:, 1])
            layers.append((rows[of], found))
    pairs = []
    for i, (rows, atoms) in enumerate(ends[0]):
        for of_bonds, others in ends[1][: _MAX_BONDS - i]:
            firsts = np.searchsorted(of_bonds, np.arange(len(across) + 1))
            of, found = _joined(rows, firsts, others)
            pairs.append(np.stack([atoms[of], found], axis=1))
    near = np.unique(np.concatenate(pairs), axis=0)
    near = place[near[residues[near[:, 0]] != residues[near[:, 1]]]]
    return np.concatenate([near, near[:, ::-1]])


def _joined(
    rows: NDArray[np.int64], starts: NDArray[np.int64], values: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each of some rows of values in turn, and the place among the rows of each value."""
    counts = starts[rows + 1] - starts[rows]
    before = np.cumsum(counts) - counts
    at = np.repeat(starts[rows] - before, counts) + np.arange(int(counts.sum()))
    return np.repeat(np.arange(len(rows)), counts), values[at]
