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

    Residues of several names with one number in a chain are one residue here.
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
    residues = _chain_residues(atoms)
    near = np.flatnonzero(np.isin(residues, residues[locations != ""]))
    locations, residues = locations[near], residues[near]
    of_atom: dict[tuple[int, str], set[str]] = defaultdict(set)
    of_residue: dict[int, set[str]] = defaultdict(set)
    for residue, name, location in zip(
        residues.tolist(), names[near].tolist(), locations.tolist(), strict=True
    ):
        of_atom[residue, name].add(location)
        of_residue[residue].add(location)
    # Locations of atoms that have several, in each residue.
    choices: dict[int, Counter[str]] = defaultdict(Counter)
    for (residue, _), found_there in of_atom.items():
        if len(found_there) > 1:
            choices[residue].update(found_there)
    if not choices:
        return []
    n_further = sum(len(found_there) - 1 for found_there in of_atom.values())
    dropped = set[str]()
    for residue, counts in choices.items():
        # A blank location cannot be left out. Otherwise, the first of those of most atoms stays.
        stays = "" if "" in counts else min(counts, key=lambda one: (-counts[one], one))
        of_residue[residue] -= set(counts) - {stays}
        dropped |= set(counts) - {stays}
    example = dict(zip(residues.tolist(), atoms.indices[near].tolist(), strict=True))
    more = _exceptions(topology, example, of_residue, dropped)
    text = f"not altloc {' '.join(sorted(dropped))}"
    text = text if not more else f"({text}{more})"
    how = f"take one location of each residue with the selection '… and {text}'"
    if more is None or not dropped:
        how = "use a topology with one location of each residue"
    return [
        f"atoms at alternate locations count once for each location: {n_further} of {len(atoms)}"
        f" are further locations of others, in {len(choices)} residues: {how}"
    ]


def _chain_residues(atoms: Atoms) -> NDArray[np.int64]:
    """Return a number for the residue of each atom, `(n,)`.

    Neighbouring residues of one number in a chain are one residue here.
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
    wanted = {
        residue: sorted(found & dropped) for residue, found in kept.items() if found & dropped
    }
    if len(wanted) > _MOST_RESIDUES:
        return None
    atoms = Atoms(topology, np.array([example[residue] for residue in wanted], np.int64))
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
