"""Bonds for perception: those of the topology, or by names and distances where it has none."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trajet.perception.graph import Graph
from trajet.perception.residues import Placed

# Longest bonds between residues, Å, by names of atoms: usual bonds have 1.33, 2.05 and 1.6 Å.
_BETWEEN = (("C", "N", 2.0), ("SG", "SG", 2.5), ("O3'", "P", 2.2))
# Å; a hydrogen farther from all atoms of its residue has no bond.
LONGEST_TO_HYDROGEN = 1.6

Distances = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def heavy_bonds(placed: list[Placed]) -> NDArray[np.int64]:
    """Return the bonds of the tables, `(m, 2)`."""
    pairs = [each.atoms[:, bond] for each in placed for bond in each.table.bonds]
    found = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    return found[(found >= 0).all(axis=1)]


def hydrogen_bonds(
    graph: Graph, atoms: NDArray[np.bool_], distances: Distances
) -> NDArray[np.int64]:
    """Return bonds of hydrogens to the nearest heavy atom of their residues, `(m, 2)`.

    Parameters
    ----------
    graph
        The atoms.
    atoms
        `(n,)`, the atoms to connect.
    distances
        Returns the distances of pairs of atoms, Å.
    """
    is_h = graph.is_hydrogen
    hydrogens, heavy = np.flatnonzero(atoms & is_h), np.flatnonzero(atoms & ~is_h)
    heavy = heavy[np.argsort(graph.residues[heavy], kind="stable")]
    begins, ends = (
        np.searchsorted(graph.residues[heavy], graph.residues[hydrogens], side=side)
        for side in ("left", "right")
    )
    # All pairs within residues, one hydrogen after the other.
    counts = ends - begins
    rows = np.repeat(np.arange(len(hydrogens)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = np.stack([heavy[begins[rows] + within], hydrogens[rows]], axis=1)
    # Where there is no choice, as in water, no position is needed.
    free = counts[rows] > 1
    apart = np.zeros(len(pairs))
    apart[free] = distances(pairs[free])
    order = np.lexsort((apart, rows))
    first = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    return pairs[first[apart[first] <= LONGEST_TO_HYDROGEN]]


def bonds_between_residues(
    graph: Graph, placed: list[Placed], distances: Distances
) -> NDArray[np.int64]:
    """Return peptide bonds and phosphodiesters of neighbours, and disulfides, by distances."""
    found = [np.zeros((0, 2), np.int64)]
    for first, second, longest in _BETWEEN:
        one, other = (
            np.concatenate([np.zeros(0, np.int64), *(each.named(name) for each in placed)])
            for name in (first, second)
        )
        if first == second:
            pairs = one[np.stack(np.triu_indices(len(one), 1), axis=1)]
        elif not len(other):
            continue
        else:
            other = other[np.argsort(graph.residues[other])]
            following = graph.residues[one] + 1
            at = np.searchsorted(graph.residues[other], following).clip(max=len(other) - 1)
            pairs = np.stack([one, other[at]], axis=1)[graph.residues[other[at]] == following]
        found.append(pairs[distances(pairs) <= longest])
    return np.concatenate(found)
