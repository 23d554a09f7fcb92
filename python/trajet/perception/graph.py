"""`Graph`: atoms with elements and bonds, and what perception finds on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NON_METALS = frozenset(
    "H D T He B C N O F Ne Si P S Cl Ar As Se Br Kr Te I Xe At".split()  # noqa: SIM905
)
HYDROGENS = ("H", "D", "T")


@dataclass(eq=False)
class Graph:
    """Atoms and bonds of some residues; orders of bonds are those of one Kekulé form.

    Attributes
    ----------
    elements
        `(n,)`, number of each atom's element in `symbols`.
    symbols
        Symbols of elements; empty for unknown ones.
    residues
        `(n,)`, int64, a number for the residue of each atom.
    bonds
        `(m, 2)`, int64, pairs of atoms.
    orders
        `(m,)`, int8.
    is_aromatic_bond
        `(m,)`, whether both atoms are neighbours in an aromatic ring.
    charges
        `(n,)`, int8, formal charges.
    is_aromatic, is_in_ring
        `(n,)`, whether atoms are in an aromatic ring, or in any ring of their residue.
    rings
        Aromatic rings of 5 or 6 atoms, in cyclic order.
    """

    elements: NDArray[np.int64]
    symbols: tuple[str, ...]
    residues: NDArray[np.int64]
    bonds: NDArray[np.int64] = field(init=False)
    orders: NDArray[np.int8] = field(init=False)
    is_aromatic_bond: NDArray[np.bool_] = field(init=False)
    charges: NDArray[np.int8] = field(init=False)
    is_aromatic: NDArray[np.bool_] = field(init=False)
    is_in_ring: NDArray[np.bool_] = field(init=False)
    rings: list[NDArray[np.int64]] = field(default_factory=list)
    # Each bond as one number, ascending.
    _keys: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.elements)
        self.charges = np.zeros(n, np.int8)
        self.is_aromatic, self.is_in_ring = np.zeros((2, n), np.bool_)
        self.connect(np.zeros((0, 2), np.int64))

    def connect(self, bonds: NDArray[np.int64]) -> None:
        """Set the bonds, `(m, 2)`, all of them single and each once."""
        keys = np.sort(bonds.min(axis=1) * len(self.elements) + bonds.max(axis=1))
        self._keys = keys = keys[np.diff(keys, prepend=-1) > 0]
        self.bonds = np.stack(np.divmod(keys, max(1, len(self.elements))), axis=1)
        self.orders = np.ones(len(keys), np.int8)
        self.is_aromatic_bond = np.zeros(len(keys), np.bool_)

    def are(self, *symbols: str) -> NDArray[np.bool_]:
        """Return which atoms have one of these elements, `(n,)`."""
        known: NDArray[np.bool_] = np.array([one in symbols for one in self.symbols], np.bool_)
        return known[self.elements]

    def number_of(self, symbol: str) -> int:
        """Return the number of an element, which is a new one if no atom has it."""
        if symbol not in self.symbols:
            self.symbols = (*self.symbols, symbol)
        return self.symbols.index(symbol)

    @property
    def is_hydrogen(self) -> NDArray[np.bool_]:
        """Whether each atom is a hydrogen, `(n,)`."""
        return self.are(*HYDROGENS)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of each atom, `(n,)`."""
        return np.bincount(self.bonds.ravel(), minlength=len(self.elements))

    @property
    def valences(self) -> NDArray[np.int64]:
        """Sum of the orders of the bonds of each atom, `(n,)`."""
        weights = np.repeat(self.orders, 2)
        found = np.bincount(self.bonds.ravel(), weights, minlength=len(self.elements))
        return found.astype(np.int64)

    def bonds_between(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place in `bonds` of each pair of atoms, `(k,)`; -1 if they are not bonded.

        Atoms that were appended have no place.
        """
        if not len(self._keys):
            return np.full(len(pairs), -1)
        n = len(self.elements)
        wanted = pairs.min(axis=1) * n + pairs.max(axis=1)
        at = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        return np.where(self._keys[at] == wanted, at, -1)

    def set_doubles(self, pairs: NDArray[np.int64]) -> None:
        """Make bonds of pairs of atoms, `(k, 2)`, double where both are there and bonded."""
        found = self.bonds_between(pairs[(pairs >= 0).all(axis=1)])
        self.orders[found[found >= 0]] = 2

    def add_rings(self, rings: Iterable[NDArray[np.int64]]) -> None:
        """Add aromatic rings, each atoms in cyclic order."""
        for ring in rings:
            found = self.bonds_between(np.stack([ring, np.roll(ring, -1)], axis=1))
            self.is_aromatic_bond[found] = True
            self.is_aromatic[ring] = self.is_in_ring[ring] = True
            self.rings.append(ring)

    def parts(
        self, residues: NDArray[np.int64]
    ) -> Iterator[
        tuple[NDArray[np.int64], NDArray[np.int64], tuple[tuple[int, int], ...], tuple[int, ...]]
    ]:
        """Yield atoms and bonds of residues.

        Yields
        ------
        tuple
            The atoms; the places of their bonds within the residue; these bonds, by numbers of the
            atoms in the residue; the number of bonds of each atom to other residues.
        """
        order = np.argsort(self.residues, kind="stable")
        ends = self.residues[self.bonds]
        is_within = ends[:, 0] == ends[:, 1]
        attached = np.bincount(self.bonds[~is_within].ravel(), minlength=len(order))
        within = np.flatnonzero(is_within)
        within = within[np.argsort(ends[within, 0], kind="stable")]
        number = np.zeros(len(order), np.int64)
        for residue in residues.tolist():
            atoms, rows = (
                one[slice(*np.searchsorted(of, [residue, residue + 1]))]
                for one, of in ((order, self.residues[order]), (within, ends[within, 0]))
            )
            number[atoms] = np.arange(len(atoms))
            bonds = tuple((int(i), int(j)) for i, j in number[self.bonds[rows]])
            yield atoms, rows, bonds, tuple(attached[atoms].tolist())

    def append(
        self, symbol: str, neighbours: NDArray[np.int64], *, order: int = 1
    ) -> NDArray[np.int64]:
        """Add an atom of no residue to each of some atoms, and return the new ones."""
        n, k = len(self.elements), len(neighbours)
        added = np.arange(n, n + k)
        self.elements = np.append(self.elements, np.full(k, self.number_of(symbol)))
        self.residues = np.append(self.residues, np.full(k, -1))
        self.bonds = np.concatenate([self.bonds, np.stack([neighbours, added], axis=1)])
        self.orders = np.append(self.orders, np.full(k, order, np.int8))
        self.is_aromatic_bond = np.append(self.is_aromatic_bond, np.zeros(k, np.bool_))
        self.charges = np.append(self.charges, np.zeros(k, np.int8))
        self.is_aromatic = np.append(self.is_aromatic, np.zeros(k, np.bool_))
        self.is_in_ring = np.append(self.is_in_ring, np.zeros(k, np.bool_))
        return added
