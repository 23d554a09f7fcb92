"""Symmetries of molecules: orders of heavy atoms that no bond and no element tells apart."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.messages import Code, Message
from trajet.particles import heavy_atoms, known_elements
from trajet.quoting import quoted
from trajet.trajectory import Selection

# Most orders of a molecule, and of its atoms in all orders.
_MAX_ORDERS = 10_000
_MAX_ATOMS = 10**6


def symmetries(selection: Selection, messages: list[Message]) -> NDArray[np.uint32]:
    """Return the orders of the atoms of a molecule that leave elements and bonds as they are.

    These are the automorphisms of the graph of its heavy atoms, the identity first. Bonds to heavy
    atoms that are not selected stay as they are, too.

    Parameters
    ----------
    selection
        Heavy atoms of one molecule.
    messages
        A message is appended if there are more orders than are returned.

    Returns
    -------
    numpy.ndarray
        `(n_orders, n_atoms)`.

    Raises
    ------
    SelectionError
        If there are no bonds, or the atoms are not heavy atoms of one molecule, each once.
    """
    label, topology = quoted(selection.label), selection.trajectory.topology
    if topology.bonds is None:
        raise SelectionError(
            f"{topology} has no bonds, which symmetric=True needs: use a topology with bonds, such"
            " as a TPR, PSF or PRMTOP"
        )
    atoms = selection.indices.tolist()
    if len(set(atoms)) < len(atoms):
        raise SelectionError(f"{label} has atoms several times: symmetric=True needs each once")
    if not heavy_atoms(selection.topology_atoms).all():
        raise SelectionError(
            f"{label} has hydrogens, which symmetric=True leaves out: choose '… and not name H*'"
        )
    colours, neighbours = _graph(selection)
    if len(_from_first(neighbours)) < len(atoms):
        raise SelectionError(
            f"{label} is not connected by the bonds of {topology}: give a group for each molecule"
            " with symmetric=True"
        )
    most = max(1, min(_MAX_ORDERS, _MAX_ATOMS // len(atoms)))
    found = list(islice(_automorphisms(colours, neighbours), most + 1))
    if len(found) > most:
        messages.append(
            Message(
                Code.SYMMETRIES,
                f"{label} has more than {most} symmetries: its RMSD is the least over as many",
                "leave atoms with many of them out, such as those of methyl groups and rings",
            )
        )
    return np.array(found[:most], np.uint32)


def _graph(selection: Selection) -> tuple[list[int], list[list[int]]]:
    """Return a number of each atom by its element and bonds, and the neighbours of each."""
    atoms, topology = selection.indices, selection.trajectory.topology
    bonds = topology.bonds
    assert bonds is not None
    place = np.full(topology.n_atoms, -1)
    place[atoms] = np.arange(len(atoms))
    kept = bonds[(place[bonds] >= 0).any(axis=1)]
    is_heavy = np.ones(topology.n_atoms, np.bool_)
    touched = np.unique(kept, return_counts=True)[0]
    is_heavy[touched] = heavy_atoms(topology.atoms[touched])
    inner: list[set[int]] = [set() for _ in atoms]
    outer: list[set[int]] = [set() for _ in atoms]
    for one, other in np.concatenate([kept, kept[:, ::-1]]).tolist():
        if (at := int(place[one])) >= 0 and is_heavy[other]:
            among, near = (inner, int(place[other])) if place[other] >= 0 else (outer, other)
            among[at].add(near)
    elements = known_elements(selection.topology_atoms).tolist()
    neighbours = [sorted(near) for near in inner]
    colours = _numbered([(e, tuple(sorted(o))) for e, o in zip(elements, outer, strict=True)])
    # Atoms whose neighbours differ are different, until no more are told apart.
    while True:
        around = [tuple(sorted(colours[k] for k in near)) for near in neighbours]
        finer = _numbered(list(zip(colours, around, strict=True)))
        if max(finer) == max(colours):
            return colours, neighbours
        colours = finer


def _numbered(keys: list[tuple[object, ...]]) -> list[int]:
    """Return a number for each key, the same for equal ones."""
    known = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    return [known[key] for key in keys]


def _from_first(neighbours: list[list[int]]) -> list[int]:
    """Return the atoms that bonds connect to the first one, each after a neighbour of it."""
    order, seen = [0], {0}
    for atom in order:
        new = [near for near in neighbours[atom] if near not in seen]
        seen.update(new)
        order += new
    return order


def _automorphisms(colours: list[int], neighbours: list[list[int]]) -> Iterator[list[int]]:
    """Yield the permutations that keep colours and bonds, the identity first.

    An atom is placed after one of its neighbours, so that its image is a neighbour of that one's.
    """
    order = _from_first(neighbours)
    rank = {atom: k for k, atom in enumerate(order)}
    before = [[near for near in neighbours[atom] if rank[near] < rank[atom]] for atom in order]
    image, used = [-1] * len(order), [False] * len(order)

    def candidates(k: int) -> Iterator[int]:
        """Return the atoms that may take the place of the k-th, itself first."""
        atom, behind = order[k], before[k]
        among = neighbours[image[behind[0]]] if behind else range(len(order))
        fits = [
            other
            for other in among
            if colours[other] == colours[atom]
            and not used[other]
            and all(image[near] in neighbours[other] for near in behind)
        ]
        return iter(sorted(fits, key=lambda other: other != atom))

    # Depth first, without recursion: molecules may be long.
    stack = [candidates(0)]
    while stack:
        k = len(stack) - 1
        if image[order[k]] >= 0:
            used[image[order[k]]] = False
            image[order[k]] = -1
        if (other := next(stack[-1], None)) is None:
            stack.pop()
            continue
        image[order[k]] = other
        used[other] = True
        if len(stack) < len(order):
            stack.append(candidates(k + 1))
        else:
            yield image.copy()
