"""How many residues apart residues are, along the bonds of backbones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.backbone import (
    PEPTIDE_BOND,
    are_bonded,
    atoms_of_places,
    chains_of_places,
    has_backbone,
    residues_of_places,
)
from trajet.box import Box
from trajet.topology import Topology
from trajet.trajectory import Trajectory

# Largest distance of bonded O3' and P, Å.
_PHOSPHATE_BOND = 2.0
# Fewest residues of a ring.
_RING = 3


@dataclass(frozen=True)
class ChainNeighbours:
    """Where the residues of a topology are along their chains.

    Attributes
    ----------
    chains
        `(n_places,)`, the chain of each place, whose residues are bonded to one another.
    rings
        `(n_places,)`, the number of residues of the ring that a chain closes; 0 for others.
    """

    chains: NDArray[np.int64]
    rings: NDArray[np.int64]

    @classmethod
    def of(cls, trajectory: Trajectory) -> "ChainNeighbours":
        """Return the chains: by the bonds of the topology, or else by distances in frame 0.

        Neighbours follow one another in the topology, and have a bond that is no disulfide. Without
        all bonds, C and N, or O3' and P of nucleic acids, are near; or CA or Martini's BB, if one
        lacks these. A ring is closed by C and N.
        """
        topology = trajectory.topology
        n_places = topology.n_places
        along = np.stack([np.arange(n_places - 1), np.arange(1, n_places)], axis=1)
        backbone = atoms_of_places(topology, ("N", "CA", "C", "BB"))
        if backbone is None:
            # Without names, those that follow one another in a chain.
            chains = chains_of_places(topology)
            bonded = np.asarray(chains[1:] == chains[:-1])
        elif topology.has_all_bonds:
            bonded = _are_connected(topology)
        else:
            bonded = np.zeros(len(along), np.bool_)
            # An ion of calcium is called CA, and beads have BB alone.
            is_in_chain = has_backbone(topology, backbone, residues_of_places(topology.atoms))
            is_in_chain |= backbone[:, 3] >= 0
            rows = np.flatnonzero(is_in_chain[1:] & is_in_chain[:-1])
            bonded[rows] = are_bonded(trajectory, backbone, along[rows], PEPTIDE_BOND)
            bonded |= _nucleotides(trajectory)
        chains = np.cumsum(np.concatenate([[0], ~bonded]))[:n_places]
        rings = np.zeros(n_places, np.int64)
        if backbone is not None:
            first = np.searchsorted(chains, np.unique(chains))
            last = np.append(first[1:], n_places) - 1
            sizes = last - first + 1
            may_close = (sizes >= _RING) & (backbone[last, 2] >= 0) & (backbone[first, 0] >= 0)
            ends = np.stack([last, first], axis=1)[may_close]
            closed = np.flatnonzero(may_close)[are_bonded(trajectory, backbone, ends, PEPTIDE_BOND)]
            for chain in closed.tolist():
                rings[first[chain] : last[chain] + 1] = sizes[chain]
        return cls(chains, rings)

    def are_near(
        self, one: NDArray[np.int64], other: NDArray[np.int64], most: int
    ) -> NDArray[np.bool_]:
        """Return which places are at most `most` residues apart along one chain."""
        apart = np.abs(one - other)
        rings = self.rings[one]
        apart = np.where(rings > 0, np.minimum(apart, rings - apart), apart)
        near: NDArray[np.bool_] = (self.chains[one] == self.chains[other]) & (apart <= most)
        return near


def _are_connected(topology: Topology) -> NDArray[np.bool_]:
    """Return which places have a bond to the next one that is no disulfide, `(n_places - 1,)`."""
    bonded = np.zeros(topology.n_places - 1, np.bool_)
    pairs = topology.connections
    assert pairs is not None
    places = np.sort(topology.places[pairs], axis=1)
    next_to = places[:, 1] - places[:, 0] == 1
    is_sulfur = np.zeros(topology.n_atoms, np.bool_)
    is_sulfur[topology.atoms.named("SG")] = True
    bonded[places[next_to & ~is_sulfur[pairs].all(axis=1), 0]] = True
    return bonded


def _nucleotides(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Return which places have an O3' near P of the next one in frame 0, `(n_places - 1,)`."""
    topology = trajectory.topology
    ends = [atoms_of_places(topology, names) for names in (("O3'", "O3*"), ("P", "P"))]
    assert ends[0] is not None and ends[1] is not None
    pairs = np.stack([ends[0].max(axis=1)[:-1], ends[1][1:, 0]], axis=1)
    columns, there = trajectory.source.index.columns_of(np.maximum(pairs, 0))
    bonded = np.asarray(((pairs >= 0) & there).all(axis=1))
    if bonded.any():
        wanted, where = np.unique(columns[bonded], return_inverse=True)
        frame = trajectory.source.read([0], wanted, None, counted=False)
        one, other = np.moveaxis(frame.positions[0][where.reshape(-1, 2)], 1, 0)
        bonded[bonded] = Box.of(frame).distances(one, other) <= _PHOSPHATE_BOND
    return bonded
