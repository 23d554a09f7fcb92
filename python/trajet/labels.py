"""Labels of residues and atoms, by which results, tables and figures name them.

The label of a residue is its name, number and insertion code: ARG10. If residues of several chains
share such a label, all residues of these chains have the chain, or else the segment, before it:
A:ARG10. Labels that several residues still share, as those of water, have the index of the first
atom behind them: SOL10@3341. The label of an atom is that of its residue and its name:
A:ARG10:CA, with its index if the residue has several atoms of that name.

Labels depend on the topology alone: a residue has the same one in every result.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from trajet.topology import Atoms, TextName, Topology

# Columns that distinguish residues of the same name and number.
_OF_CHAINS: tuple[TextName, ...] = ("chainIDs", "segids")

# Labels of the residues of topologies in use: those of all waters take longer than many analyses.
_known: "WeakKeyDictionary[Topology, NDArray[np.str_]]" = WeakKeyDictionary()


def chains_of(atoms: Atoms) -> NDArray[np.str_] | None:
    """Return the chain identifier of each atom, or else its segment; None without both.

    Which of them it is depends on the topology alone, so that two groups of atoms can be compared.
    """
    name = _chain_column(atoms.topology)
    if name is None:
        return None
    column = atoms.topology.native.column(name)
    assert isinstance(column, tuple)
    return np.array(column[1], np.str_)[chain_numbers(atoms)]


def chain_numbers(atoms: Atoms) -> NDArray[np.int64]:
    """Return the number in the topology of the chain of each atom, `(n,)`; see `chains_of`."""
    topology = atoms.topology
    name = _chain_column(topology)
    if name is None:
        return np.zeros(len(atoms), np.int64)
    column = topology.native.column(name)
    assert isinstance(column, tuple)
    rows = atoms.indices
    if name == "segids":
        rows = topology.residue_segments[topology.atoms_residues[rows]]
    return column[0][rows].astype(np.int64)


def _chain_column(topology: Topology) -> TextName | None:
    """Return the name of the column that distinguishes chains; None if there is none."""
    for name in _OF_CHAINS:
        column = topology.native.column(name)
        if isinstance(column, tuple) and any(column[1]):
            return name
    return None


def first_atoms(topology: Topology) -> NDArray[np.int64]:
    """Return the first atom of each residue, `(n_residues,)`."""
    first = np.empty(topology.n_residues, np.int64)
    first[topology.atoms_residues[::-1]] = np.arange(topology.n_atoms)[::-1]
    return first


def residue_names(topology: Topology, residues: NDArray[np.int64]) -> list[str]:
    """Return names, numbers and insertion codes of residues, such as "ALA52A"; not unique."""
    columns = topology.column("resnames"), topology.column("resids"), topology.column("icodes")
    parts = [column[residues] for column in columns if column is not None]
    return _joined(*parts).tolist() if parts else ["residue"] * len(residues)


def residue_labels(topology: Topology) -> NDArray[np.str_]:
    """Return the label of each residue of a topology, `(n_residues,)`; all are different.

    The array is read-only, as all callers share it.
    """
    if (known := _known.get(topology)) is not None:
        return known
    first = first_atoms(topology)
    labels = np.array(residue_names(topology, np.arange(topology.n_residues)), np.str_)
    for name in _OF_CHAINS:
        if name == "segids":
            segids = topology.column(name)
            chains = None if segids is None else segids[topology.residue_segments]
        else:
            chains = Atoms(topology, first).column(name)
        if chains is not None and (shared := _in_several(labels, chains)).any():
            labels = np.where(shared, _joined(chains, np.array(":"), labels), labels)
            break
    labels = _distinct(labels, first)
    labels.setflags(write=False)
    _known[topology] = labels
    return labels


def chain_names(topology: Topology) -> tuple[str, ...]:
    """Return the names of the chains, or else segments, in their order; one empty without both."""
    found = chains_of(Atoms(topology, first_atoms(topology)))
    return ("",) if found is None else tuple(dict.fromkeys(found.tolist()))


def chains_of_first(chains: Sequence[str], first: Sequence[str]) -> dict[str, str]:
    """Return the name of each chain in another system, if all chains have other names there.

    There are as many then, which are matched in their order. Empty in all other cases.
    """
    if len(chains) != len(first) or set(chains) & set(first):
        return {}
    return dict(zip(chains, first, strict=True))


def atom_names(topology: Topology, atoms: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return the name of each of some atoms, with its index if others of its residue share it."""
    names = topology.column("names")
    if names is None:
        return _joined(np.array("atom"), atoms)
    found, which = np.unique(atoms, return_inverse=True)
    residues = topology.atoms_residues
    beside = np.flatnonzero(np.isin(residues, residues[found]))
    codes = np.unique(names[beside], return_inverse=True)[1]
    keys = residues[beside] * (codes.max(initial=0) + 1) + codes
    _, key, counts = np.unique(keys, return_inverse=True, return_counts=True)
    repeated = (counts[key] > 1)[np.searchsorted(beside, found)]
    return np.where(repeated, _joined(names[found], np.array("@"), found), names[found])[which]


def residues_of(
    topology: Topology | None, atoms: NDArray[np.int64]
) -> tuple[NDArray[np.str_] | None, NDArray[np.int64] | None]:
    """Return name and number of the residue of each atom, in the shape of `atoms`.

    They are None without a topology, or where it has none.
    """
    if topology is None:
        return None, None
    group = Atoms(topology, atoms.ravel())
    names, numbers = group.column("resnames"), group.column("resids")
    return (
        None if names is None else names.reshape(atoms.shape),
        None if numbers is None else numbers.reshape(atoms.shape),
    )


def insertion_codes_of(
    topology: Topology | None, atoms: NDArray[np.int64]
) -> NDArray[np.str_] | None:
    """Return the insertion code of the residue of each atom, in the shape of `atoms`.

    Residues without one have an empty text. None if no atom has one, or without a topology.
    """
    codes = None if topology is None else Atoms(topology, atoms.ravel()).column("icodes")
    if codes is None or not ((codes := np.strings.strip(codes)) != "").any():
        return None
    return codes.reshape(atoms.shape)


def atom_labels(topology: Topology | None, atoms: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return the label of each of some atoms, `(n,)`: "atom17" without a topology.

    Parameters
    ----------
    topology
        The topology, or None.
    atoms
        `(n,)`, int64, indices in the topology.
    """
    if topology is None:
        return _joined(np.array("atom"), atoms)
    residues = residue_labels(topology)[topology.atoms_residues[atoms]]
    return _joined(residues, np.array(":"), atom_names(topology, atoms))


def _joined(*parts: NDArray[np.str_ | np.int64]) -> NDArray[np.str_]:
    """Return texts and numbers of one row after each other."""
    made = parts[0].astype(np.str_)
    for part in parts[1:]:
        made = np.strings.add(made, part.astype(np.str_))
    return made


def _in_several(labels: NDArray[np.str_], chains: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which residues are in chains that share a label with another chain."""
    label = np.unique(labels, return_inverse=True)[1]
    names, chain = np.unique(chains, return_inverse=True)
    pairs = np.unique(label * len(names) + chain)
    shared = np.bincount(pairs // len(names), minlength=len(labels)) > 1
    found: NDArray[np.bool_] = np.isin(chain, chain[shared[label]]) & (chains != "")
    return found


def _distinct(labels: NDArray[np.str_], first: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return labels; those that occur several times with the index of their first atom."""
    _, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return np.where(counts[which] > 1, _joined(labels, np.array("@"), first), labels)
