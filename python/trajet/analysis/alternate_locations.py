"""Atoms at alternate locations, which count once for each location."""

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from trajet.labels import chains_of
from trajet.topology import Atoms, Topology

# Most residues that the selection of one location names.
_MOST_RESIDUES = 30


def location_remarks(topology: Topology, indices: NDArray[np.int64]) -> list[str]:
    """Return a remark if atoms are at several locations each, with the selection of one.

    Residues of several names at one place of a chain are one residue here.
    """
    column = topology.native.column("altLocs")
    if not isinstance(column, tuple) or not any(text.strip() for text in column[1]):
        return []
    # Analyses of pairs read an atom several times.
    atoms = Atoms(topology, np.unique(indices))
    locations = np.char.strip(np.array(column[1], np.str_))[column[0][atoms.indices]]
    names = atoms.column("names")
    if names is None or not (locations != "").any():
        return []
    places = _places(atoms)
    near = np.flatnonzero(np.isin(places, places[locations != ""]))
    locations, places = locations[near], places[near]
    of_atom: dict[tuple[int, str], set[str]] = defaultdict(set)
    of_place: dict[int, set[str]] = defaultdict(set)
    for place, name, location in zip(
        places.tolist(), names[near].tolist(), locations.tolist(), strict=True
    ):
        of_atom[place, name].add(location)
        of_place[place].add(location)
    # Locations of atoms that have several, in each residue.
    choices: dict[int, Counter[str]] = defaultdict(Counter)
    for (place, _), found_there in of_atom.items():
        if len(found_there) > 1:
            choices[place].update(found_there)
    if not choices:
        return []
    n_further = sum(len(found_there) - 1 for found_there in of_atom.values())
    dropped = set[str]()
    for place, counts in choices.items():
        # A blank location cannot be left out. Otherwise, the first of those of most atoms stays.
        stays = "" if "" in counts else min(counts, key=lambda one: (-counts[one], one))
        of_place[place] -= set(counts) - {stays}
        dropped |= set(counts) - {stays}
    example = dict(zip(places.tolist(), atoms.indices[near].tolist(), strict=True))
    more = _exceptions(topology, example, of_place, dropped)
    text = f"not altloc {' '.join(sorted(dropped))}"
    text = text if not more else f"({text}{more})"
    how = f"take one location of each residue with the selection '… and {text}'"
    if more is None or not dropped:
        how = "use a topology with one location of each residue"
    return [
        f"atoms at alternate locations count once for each location: {n_further} of {len(atoms)}"
        f" are further locations of others, in {len(choices)} residues: {how}"
    ]


def _places(atoms: Atoms) -> NDArray[np.int64]:
    """Return a number for the place in a chain of each atom, `(n,)`.

    Neighbouring residues of one number in a chain are one place.
    """
    begins = np.zeros(len(atoms), np.bool_)
    segments = atoms.topology.residue_segments[atoms.residues]
    for values in (segments, chains_of(atoms), atoms.column("resids"), atoms.column("icodes")):
        if values is not None:
            begins[1:] |= values[1:] != values[:-1]
    return np.cumsum(begins)


def _exceptions(
    topology: Topology, example: dict[int, int], kept: dict[int, set[str]], dropped: set[str]
) -> str | None:
    """Return the selection of dropped locations that some residues keep; None if it is too long."""
    wanted = {place: sorted(found & dropped) for place, found in kept.items() if found & dropped}
    if len(wanted) > _MOST_RESIDUES:
        return None
    atoms = Atoms(topology, np.array([example[place] for place in wanted], np.int64))
    chains, column = chains_of(atoms), "chainID"
    if (named := topology.column("chainIDs")) is None or not (named != "").any():
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
