"""Residues of the tables: which atoms they have, and the chemistry of those atoms."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.perception.graph import Graph
from trajet.perception.tables import IONS, ResidueTable, table_of

# Virtual neighbours of atoms at gaps of a chain, by their sum of orders with all neighbours.
_GAPS = {"C": (3, "N"), "N": (2, "C"), "P": (4, "O"), "O3'": (1, "P")}
# Sums of the orders of bonds of elements without a charge.
_VALENCES = {"N": 3, "O": 2}


@dataclass(frozen=True)
class Placed:
    """Residues of one table.

    Attributes
    ----------
    table
        The table.
    atoms
        `(n_residues, n_names)`, int64, atoms of the graph, -1 for those that a residue lacks.
    """

    table: ResidueTable
    atoms: NDArray[np.int64]

    def named(self, name: str) -> NDArray[np.int64]:
        """Return the atoms of one name, without those that residues lack."""
        if name not in self.table.names:
            return np.zeros(0, np.int64)
        atoms = self.atoms[:, self.table.names.index(name)]
        return atoms[atoms >= 0]


@dataclass(frozen=True)
class Names:
    """Names of the atoms and residues of a graph.

    Attributes
    ----------
    atoms
        `(n,)`, number of each atom's name in `texts`.
    texts
        The names.
    residues
        Name of each residue, by the numbers that the graph has.
    """

    atoms: NDArray[np.int64]
    texts: tuple[str, ...]
    residues: NDArray[np.str_]

    def groups(self, among: NDArray[np.int64]) -> Mapping[str, NDArray[np.int64]]:
        """Return those of some residues that have each name."""
        kinds, which = np.unique(self.residues[among], return_inverse=True)
        return {str(kind): among[which == k] for k, kind in enumerate(kinds)}


def place(
    graph: Graph, names: Names, residues: NDArray[np.int64], table: ResidueTable
) -> tuple[Placed, NDArray[np.int64]]:
    """Return residues with their atoms in the places of a table, and the atoms that have none.

    These have a name that the table lacks, or that of another atom.

    Parameters
    ----------
    graph, names
        The atoms.
    residues
        The residues that have this table.
    table
        The table.
    """
    row_of = np.full(len(names.residues) + 1, -1)
    row_of[residues] = np.arange(len(residues))
    own = np.flatnonzero((row_of[graph.residues] >= 0) & ~graph.is_hydrogen)
    codes, which = np.unique(names.atoms[own], return_inverse=True)
    places = np.array([table.place(names.texts[code]) for code in codes.tolist()], np.int64)[which]
    rows = row_of[graph.residues[own]]
    # A further column for atoms without a place.
    atoms = np.full((len(residues), len(table.names) + 1), -1)
    atoms[rows, places] = own
    has_place = (places >= 0) & (atoms[rows, places] == own)
    return Placed(table, atoms[:, :-1]), own[~has_place]


def type_residues(graph: Graph, placed: Placed, degrees: NDArray[np.int64]) -> None:
    """Set orders of bonds, aromatic rings and rings of residues of a table.

    `degrees` are the numbers of neighbours of all atoms.
    """
    degrees = np.append(degrees, np.iinfo(np.int64).max)
    for begin, choice in placed.table.doubles:
        ends = placed.atoms[:, choice]
        # The atom with the fewest neighbours; -1 is the last element, which is never chosen.
        end = ends[np.arange(len(ends)), degrees[ends].argmin(axis=1)]
        graph.set_doubles(np.stack([placed.atoms[:, begin], end], axis=1))
    for ring in placed.table.aromatic:
        rows = placed.atoms[:, ring]
        graph.add_rings(list(rows[(rows >= 0).all(axis=1)]))
    for ring in placed.table.others:
        rows = placed.atoms[:, ring]
        graph.is_in_ring[rows[(rows >= 0).all(axis=1)]] = True


def close_gaps(
    graph: Graph, placed: list[Placed], residues: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Add what stands for neighbours that chains lack, and return the atoms that lack them.

    An amide or a phosphate is assumed where an atom has too few bonds.

    Parameters
    ----------
    graph
        The atoms, to which others without a residue are added.
    placed
        The residues.
    residues
        Whether each residue is looked at.
    """
    found = [np.zeros(0, np.int64)]
    valences = graph.valences
    for name, (valence, symbol) in _GAPS.items():
        atoms = [one.named(name) for one in placed if one.table.is_chain]
        open_atoms = np.concatenate([found[0][:0], *atoms])
        is_open = (valences[open_atoms] == valence) & residues[graph.residues[open_atoms]]
        added = graph.append(symbol, open_atoms[is_open])
        if symbol == "C":
            graph.append("O", added, order=2)
        found.append(open_atoms[is_open])
    return np.concatenate(found)


def charge_by_valences(graph: Graph, atoms: NDArray[np.int64]) -> None:
    """Set the charges of nitrogen, oxygen and sulphur by the number of their bonds."""
    valences, charges = graph.valences, np.zeros(len(graph.elements), np.int64)
    for symbol, valence in _VALENCES.items():
        charges = np.where(graph.are(symbol), valences - valence, charges)
    sulphur = graph.are("S")
    charges[sulphur & (valences == 1)], charges[sulphur & (valences == 3)] = -1, 1
    graph.charges[atoms] = charges[atoms].clip(-100, 100)


def wrong_valence(graph: Graph, atoms: NDArray[np.int64]) -> tuple[int, str] | None:
    """Return the first atom whose bonds cannot be all or right, and why; None if there is none."""
    valences = graph.valences
    expected = np.full(len(graph.elements), -1)
    for symbol, valence in {**_VALENCES, "C": 4, "P": 5, "H": 1, "D": 1, "T": 1}.items():
        expected[graph.are(symbol)] = valence
    # Oxygen is an anion beside a double bond or a ring only, nitrogen in a ring.
    stabilised = np.zeros(len(graph.elements), np.bool_)
    stabilised[graph.bonds[graph.orders == 2].ravel()] = True
    stabilised |= graph.is_aromatic
    may_be_anion = graph.are("N") & graph.is_aromatic
    for one, other in (graph.bonds.T, graph.bonds.T[::-1]):
        may_be_anion[one[stabilised[other] & graph.are("O")[one]]] = True
    low, high = expected - may_be_anion, expected + graph.are("N")
    is_wrong = (expected >= 0) & ((valences < low) | (valences > high))
    found = atoms[is_wrong[atoms]]
    if not len(found):
        return None
    atom = int(found[0])
    n = int(valences[atom])
    return atom, f"has {n} bond{'s' * (n != 1)} instead of {expected[atom]}"


def ions_of(graph: Graph, names: Names, among: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Set element and charge of single atoms that are ions, and return them."""
    sizes = np.bincount(graph.residues, minlength=len(among))
    found = [np.zeros(0, np.int64)]
    for name, residues in names.groups(np.flatnonzero(among & (sizes == 1))).items():
        if (ion := IONS.get(name.upper())) is None:
            continue
        atoms = np.flatnonzero(np.isin(graph.residues, residues))
        graph.elements[atoms], graph.charges[atoms] = graph.number_of(ion[0]), ion[1]
        found.append(atoms)
    return np.concatenate(found)


def tables_of(
    names: Names, among: NDArray[np.bool_]
) -> dict[str, tuple[ResidueTable, NDArray[np.int64]]]:
    """Return the table of each kind of residue that has one, and those residues."""
    found: dict[str, tuple[ResidueTable, NDArray[np.int64]]] = {}
    for name, residues in names.groups(np.flatnonzero(among)).items():
        if (table := table_of(name)) is not None:
            before = found[table.name][1] if table.name in found else residues[:0]
            found[table.name] = table, np.concatenate([before, residues])
    return found
