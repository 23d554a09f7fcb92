"""Atoms at alternate locations: they count once for each location, or exclude each other.

A residue is a position in its chain here, whose parts may have different names and need not be
neighbours in the file.
"""

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.labels import chains_of
from trajet.messages import Code, Message
from trajet.topology import Atoms, Topology

# Most residues that the selection of one location names.
_MAX_RESIDUES = 30


def exclude_each_other(
    topology: Topology | None, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which atoms are at different locations of one residue, in their common shape."""
    if topology is None or (found := topology.alternate_locations) is None:
        return np.zeros(np.broadcast_shapes(first.shape, second.shape), np.bool_)
    (residue, location), (other_residue, other) = (
        (found[0][atoms], found[1][atoms]) for atoms in (first, second)
    )
    is_other = (location != other) & (location != 0) & (other != 0)
    return np.asarray((residue == other_residue) & is_other, np.bool_)


def locations_of(
    topology: Topology | None, indices: NDArray[np.int64], columns: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]] | None:
    """Return the alternate locations of atoms, a parameter of plans; None if none exclude others.

    Parameters
    ----------
    topology
        The topology, or None.
    indices, columns
        `(n,)`, the atoms of an analysis, in the topology and in a frame; any may occur several
        times.
    """
    if topology is None or (found := topology.alternate_locations) is None:
        return None
    columns, first = np.unique(columns, return_index=True)
    residues, locations = found[0][indices[first]], found[1][indices[first]]
    located = locations != 0
    if not _several(residues[located], locations[located]).size:
        return None
    return {
        "atoms": columns[located],
        "residues": residues[located],
        "locations": locations[located],
    }


def _several(residues: NDArray[np.int64], locations: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the residues that have atoms at several locations."""
    pairs = np.unique(np.stack([residues, locations], axis=1), axis=0)
    found, counts = np.unique(pairs[:, 0], return_counts=True)
    return found[counts > 1]


def location_messages(topology: Topology, indices: NDArray[np.int64]) -> list[Message]:
    """Return a message if atoms are at several locations each, with the selection of one."""
    if topology.alternate_locations is None:
        return []
    # Analyses of pairs read an atom several times.
    atoms = Atoms(topology, np.unique(indices))
    residues = _Residues(atoms)
    if not residues.dropped:
        return []
    text = residues.selection()
    how = f"take one location of each residue with the selection '… and {text}'"
    if text is None or not np.array_equal(_selected(text, atoms), residues.left):
        how = "use a topology with one location of each residue"
    n, of = len(atoms) - len(residues.left), len(residues.dropped)
    return [
        Message(
            Code.ALTERNATE_LOCATIONS,
            f"atoms at alternate locations count once for each location: {n} of {len(atoms)} are at"
            f" further locations, in {of} residues",
            how,
        )
    ]


def _selected(text: str, atoms: Atoms) -> NDArray[np.int64]:
    """Return the indices of some of the atoms; none if the text is invalid."""
    try:
        # Names with special characters cannot be selected.
        selected = atoms.topology.select(text, str(atoms.topology), empty=True)
    except SelectionError:
        selected = np.empty(0, np.int64)
    return np.intersect1d(atoms.indices, selected)


class _Residues:
    """The residues of some atoms that are at several locations.

    Attributes
    ----------
    dropped
        By residue, the locations that are left out where one is taken.
    left
        `(n,)`, the indices of the atoms without these.
    """

    def __init__(self, atoms: Atoms) -> None:
        self._atoms = atoms
        self.dropped: dict[int, set[str]] = {}
        self.left = atoms.indices
        self._letters: dict[int, Counter[str]] = defaultdict(Counter)
        self._example: dict[int, int] = {}
        found = atoms.topology.alternate_locations
        if found is None:
            return
        of_atoms = found[0][atoms.indices]
        near = np.flatnonzero(of_atoms)
        letters = atoms[near].column("altLocs")
        names = atoms[near].column("names")
        assert letters is not None
        # Locations of each atom, by its name.
        of_names: dict[tuple[int, str], set[str]] = defaultdict(set)
        for residue, letter, name, atom in zip(
            of_atoms[near].tolist(),
            np.char.strip(letters).tolist(),
            [""] * len(near) if names is None else names.tolist(),
            atoms.indices[near].tolist(),
            strict=True,
        ):
            of_names[residue, name].add(letter)
            self._letters[residue][letter] += 1
            self._example.setdefault(residue, atom)
        with_blank = {
            residue
            for (residue, name), letters_of in of_names.items()
            if name and "" in letters_of and len(letters_of) > 1
        }
        for residue, counts in self._letters.items():
            others = set(counts) - {""}
            # A blank location cannot be left out. Otherwise, that of most atoms stays.
            if residue not in with_blank and others:
                others.remove(min(others, key=lambda one: (-counts[one], one)))
            if others:
                self.dropped[residue] = others
        pairs = zip(of_atoms[near].tolist(), np.char.strip(letters).tolist(), strict=True)
        is_dropped = [letter in self.dropped.get(residue, ()) for residue, letter in pairs]
        self.left = np.delete(atoms.indices, near[np.array(is_dropped, np.bool_)])

    def selection(self) -> str | None:
        """Return the text that selects one location of each residue; None if it is too long."""
        dropped = set[str]().union(*self.dropped.values())
        text = f"not altloc {' '.join(sorted(dropped))}"
        wanted = {
            residue: sorted(dropped & set(letters) - self.dropped.get(residue, set()))
            for residue, letters in self._letters.items()
        }
        wanted = {residue: letters for residue, letters in wanted.items() if letters}
        more = self._exceptions(wanted)
        return None if more is None else f"({text}{more})" if more else text

    def _exceptions(self, wanted: dict[int, list[str]]) -> str | None:
        """Return the selection of locations that other residues drop, but these keep."""
        if len(wanted) > _MAX_RESIDUES:
            return None
        examples = np.array([self._example[residue] for residue in wanted], np.int64)
        atoms = Atoms(self._atoms.topology, examples)
        chains, column = chains_of(atoms), "chainID"
        named = atoms.topology.column("chainIDs")
        if named is None or not (named != "").any():
            column = "segid"
        icodes, resids = atoms.column("icodes"), atoms.column("resids")
        text = ""
        for k, letters in enumerate(wanted.values()):
            code = "" if icodes is None else str(icodes[k]).strip()
            number = "" if resids is None else f"{resids[k]}{code}"
            residue = (
                f"resid {number}" if chains is None else f"{column} {chains[k]} and resid {number}"
            )
            if not number or (chains is not None and not str(chains[k]).strip()):
                return None
            text += f" or (altloc {' '.join(letters)} and {residue})"
        return text
