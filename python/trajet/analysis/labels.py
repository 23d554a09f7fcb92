"""Names of atoms, residues and chains, with which results label their numbers."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from trajet.topology import Atoms, Topology
from trajet.trajectory import Selection

# Columns that make up the name of a residue.
_OF_RESIDUES = ("resnames", "resids", "icodes")


class AtomColumns(TypedDict):
    """Fields of `AtomValues` that say which atoms the values belong to."""

    atoms: NDArray[np.int64]
    residues: NDArray[np.int64] | None
    chains: NDArray[np.str_] | None
    residue_names: NDArray[np.str_] | None
    atom_names: NDArray[np.str_] | None


def atom_columns(selection: Selection) -> AtomColumns:
    """Return the indices of the selected atoms, and the names that the topology has of them."""
    found: AtomColumns = {
        "atoms": selection.indices,
        "residues": None,
        "chains": None,
        "residue_names": None,
        "atom_names": None,
    }
    if selection.trajectory.has_topology:
        atoms = selection.topology_atoms
        found["residues"] = atoms.column("resids")
        found["chains"] = chains_of(atoms)
        found["residue_names"] = atoms.column("resnames")
        found["atom_names"] = atoms.column("names")
    return found


def chains_of(atoms: Atoms) -> NDArray[np.str_] | None:
    """Return the chain identifier of each atom, or else its segment; None without both."""
    for name in ("chainIDs", "segids"):
        column = atoms.column(name)
        if column is not None and (column != "").any():
            return column
    return None


def residue_names(topology: Topology, residues: NDArray[np.int64]) -> list[str]:
    """Return names, numbers and insertion codes of residues as texts, such as "ALA52A"."""
    columns = [topology.column(name) for name in _OF_RESIDUES]
    parts = [column[residues].tolist() for column in columns if column is not None]
    return ["".join(map(str, each)) for each in zip(*parts, strict=True)]


def residue_labels(topology: Topology, residues: NDArray[np.int64]) -> tuple[str, ...]:
    """Return one distinct label for each of some different residues, for axes and tables.

    Labels are names and numbers, such as "ALA52"; with several chains "A:ALA52"; and if two are
    still the same, or there are no names, "A:ALA52#51", with the index of the residue.

    Parameters
    ----------
    topology
        The topology.
    residues
        `(n,)`, int64, indices of residues in the topology.
    """
    names = residue_names(topology, residues) or [""] * len(residues)
    first = np.unique(topology.atoms.residues, return_index=True)[1]
    chains = chains_of(topology.atoms)
    if chains is not None and len(set(of := chains[first[residues]].tolist())) > 1:
        names = [f"{chain}:{name}" for chain, name in zip(of, names, strict=True)]
    if len(set(names)) == len(names) and "" not in names:
        return tuple(names)
    return tuple(f"{name}#{index}" for name, index in zip(names, residues.tolist(), strict=True))
