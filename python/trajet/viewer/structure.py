"""The structure of a layer as BinaryCIF: atoms, residues, chains and bonds, for the viewer.

Polymers are told by the atoms of their backbones and by the names of residues; their components are
listed with a type (`_chem_comp`), without which viewers leave gaps at residues of unusual names.
"""

import contextlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.labels import chain_numbers, chains_of
from trajet.particles import known_elements
from trajet.topology import Atoms, Topology
from trajet.viewer.binary_cif import Column, binary_cif

# Types of components, by kind of residue: others, amino acids, nucleotides with and without O2'.
_OTHER, _PEPTIDE, _RNA, _DNA, _WATER = range(5)
_COMPONENT_TYPES = (
    "non-polymer",
    "L-peptide linking",
    "RNA linking",
    "DNA linking",
    "non-polymer",
)
_ENTITY_TYPES = ("non-polymer", "polymer", "polymer", "polymer", "water")
_ENTITY_OF_KIND = np.array([0, 1, 1, 1, 2], np.int32)
# Names of the atoms that tell the kind of a residue: all of them must be there.
_BACKBONES = {
    _PEPTIDE: ("N", "CA", "C"),
    _DNA: ("C3'", "C4'", "O3'"),
}
_O2 = ("O2'", "O2*")
# Most atoms of a residue of water, with virtual sites.
_MAX_OF_WATER = 6


@dataclass(frozen=True)
class _Residues:
    """The residues of a layer, one after the other.

    Attributes
    ----------
    of_atom
        `(n_atoms,)`, number of the residue of each atom.
    rows
        `(n,)`, the residues in the topology.
    kinds
        `(n,)`, their kinds, `_OTHER` and so on.
    chains
        `(n,)`, number of the chain of each, which increases along the atoms.
    numbers
        `(n,)`, position of each within its chain, from 1.
    """

    of_atom: NDArray[np.int64]
    rows: NDArray[np.int64]
    kinds: NDArray[np.int32]
    chains: NDArray[np.int32]
    numbers: NDArray[np.int32]


def structure_of(
    topology: Topology,
    indices: NDArray[np.int64],
    positions: NDArray[np.float32],
    bonds: NDArray[np.int64] | None,
) -> bytes:
    """Return the structure of some atoms as BinaryCIF.

    Parameters
    ----------
    topology
        The topology.
    indices
        `(n,)`, the atoms, in the order in which the viewer gets their positions; atoms of a residue
        are neighbours.
    positions
        `(n, 3)`, Å, of the first frame.
    bonds
        `(n_bonds, 2)`, bonds of the topology, by indices of its atoms; None to let the viewer find
        bonds by distances.
    """
    atoms = Atoms(topology, indices)
    residues = _residues_of(atoms)
    row = residues.of_atom
    kinds = residues.kinds[row]
    n = len(indices)
    asym = [f"c{number}" for number in range(1, int(residues.chains.max()) + 2)]
    asym_column = (asym, residues.chains[row])
    # Viewers sort atoms by entities: with one for each chain the order of the atoms stays.
    _, first = np.unique(residues.chains, return_index=True)
    entities = [str(number) for number in range(1, len(asym) + 1)]
    component = _texts(topology, "resnames", residues.rows[row])
    number = topology.column("resids")
    shown_number = residues.numbers if number is None else number[residues.rows].astype(np.int32)
    icode = _texts(topology, "icodes", residues.rows[row], empty="")
    chain_names = chains_of(atoms)
    shown_chain = asym_column if chain_names is None else _factors(chain_names)
    if len(shown_chain[0]) == 1:
        # GRO files have one segment: a chain begins where residue numbers fall.
        shown_chain = asym_column
    zeros = np.zeros(n, np.int32)
    names = _texts(topology, "names", indices)
    sites: dict[str, Column] = {
        "group_PDB": (("ATOM", "HETATM"), (_ENTITY_OF_KIND[kinds] != 1).astype(np.int32)),
        "id": np.arange(1, n + 1, dtype=np.int32),
        "type_symbol": _elements(atoms),
        "label_atom_id": names,
        "label_alt_id": _texts(topology, "altLocs", indices, empty="."),
        "label_comp_id": component,
        "label_asym_id": asym_column,
        "label_entity_id": (entities, residues.chains[row]),
        "label_seq_id": residues.numbers[row],
        "pdbx_PDB_ins_code": icode,
        "Cartn_x": np.ascontiguousarray(positions[:, 0], np.float32),
        "Cartn_y": np.ascontiguousarray(positions[:, 1], np.float32),
        "Cartn_z": np.ascontiguousarray(positions[:, 2], np.float32),
        "occupancy": np.ones(n, np.float32),
        "B_iso_or_equiv": np.zeros(n, np.float32),
        "auth_atom_id": names,
        "auth_comp_id": component,
        "auth_asym_id": shown_chain,
        "auth_seq_id": shown_number[row],
        "pdbx_PDB_model_num": zeros + 1,
    }
    tables: dict[str, dict[str, Column]] = {
        "entity": {
            "id": (entities, np.arange(len(entities), dtype=np.int32)),
            "type": (("non-polymer", "polymer", "water"), _ENTITY_OF_KIND[residues.kinds[first]]),
        },
        "chem_comp": _components(component, kinds),
        "atom_site": sites,
    }
    if bonds is not None and len(found := _bonds_within(topology, indices, bonds)):
        tables["molstar_bond_site"] = {
            "atom_id_1": found[:, 0],
            "atom_id_2": found[:, 1],
            "value_order": (("sing",), np.zeros(len(found), np.int32)),
            "type_id": (("covale",), np.zeros(len(found), np.int32)),
        }
    return binary_cif("TRAJET", tables)


def _residues_of(atoms: Atoms) -> _Residues:
    """Return the residues of atoms, with a new chain where the topology's changes or restarts.

    Parts of one residue at alternate locations, which may have different names, share a number.
    """
    row = atoms.residues
    begins = np.flatnonzero(np.diff(row, prepend=row[0] - 1))
    of_atom = np.zeros(len(row), np.int64)
    of_atom[begins] = 1
    of_atom = np.cumsum(of_atom) - 1
    rows = row[begins]
    kinds = _kinds(atoms, of_atom, len(rows))
    chain = chain_numbers(atoms)[begins]
    numbers = atoms.topology.column("resids")
    # Molecules of TPR files have residue numbers of their own.
    restarts = np.zeros(len(rows), np.bool_)
    if numbers is not None:
        is_polymer = _ENTITY_OF_KIND[kinds] == 1
        restarts[1:] = (np.diff(numbers[rows]) < 0) & is_polymer[1:]
    changes = np.diff(chain, prepend=chain[0]) != 0
    changes |= np.diff(_ENTITY_OF_KIND[kinds], prepend=_ENTITY_OF_KIND[kinds[0]]) != 0
    chains = np.cumsum(changes | restarts).astype(np.int32)
    first = np.searchsorted(chains, chains)
    steps = np.ones(len(rows), np.int64)
    if (found := atoms.topology.alternate_locations) is not None:
        positions = found[0][atoms.indices[begins]]
        steps[1:] -= (positions[1:] == positions[:-1]) & (positions[1:] != 0)
    places = np.cumsum(steps)
    along = (places - places[first] + 1).astype(np.int32)
    return _Residues(of_atom, rows, kinds, chains, along)


def _kinds(atoms: Atoms, of_atom: NDArray[np.int64], n: int) -> NDArray[np.int32]:
    """Return the kind of each residue, `(n,)`."""
    kinds = np.full(n, _OTHER, np.int32)
    texts, codes = _texts(atoms.topology, "names", atoms.indices)

    def has(*wanted: str) -> NDArray[np.bool_]:
        known = [number for number, text in enumerate(texts) if text in wanted]
        found = np.zeros(n, np.bool_)
        found[of_atom[np.isin(codes, known)]] = True
        return found

    for kind, names in _BACKBONES.items():
        # Nucleotides are named with primes or, by older programs, with asterisks.
        spelled = [(name, name.replace("'", "*")) for name in names]
        kinds[np.logical_and.reduce([has(*names_of) for names_of in spelled])] = kind
    kinds[(kinds == _DNA) & has(*_O2)] = _RNA
    _, symbols = _elements_or_none(atoms)
    if symbols is not None:
        sizes = np.bincount(of_atom, minlength=n)
        oxygens = np.bincount(of_atom[symbols == "O"], minlength=n)
        others = np.bincount(of_atom[~np.isin(symbols, ("O", "H", "D", ""))], minlength=n)
        hydrogens = np.bincount(of_atom[np.isin(symbols, ("H", "D"))], minlength=n)
        is_water = (oxygens == 1) & (hydrogens == 2) & (others == 0) & (sizes <= _MAX_OF_WATER)
        kinds[is_water] = _WATER
    return kinds


def _components(
    names: tuple[list[str], NDArray[np.int32]], kinds: NDArray[np.int32]
) -> dict[str, Column]:
    """Return the table of components: each name of residues with its type."""
    texts, codes = names
    types = np.full(len(texts), _OTHER, np.int32)
    np.maximum.at(types, codes, np.where(kinds == _WATER, _OTHER, kinds))
    return {
        "id": (texts, np.arange(len(texts), dtype=np.int32)),
        "type": (_COMPONENT_TYPES, types),
    }


def _texts(
    topology: Topology, name: str, rows: NDArray[np.int64], empty: str = "X"
) -> tuple[list[str], NDArray[np.int32]]:
    """Return a column of texts as distinct texts and a number for each row.

    `empty` stands for empty texts, and for all of a column that the topology lacks.
    """
    column = topology.native.column(name)
    if not isinstance(column, tuple):
        return [empty], np.zeros(len(rows), np.int32)
    codes, texts = column
    used, numbers = np.unique(codes[rows], return_inverse=True)
    return [texts[code].strip() or empty for code in used.tolist()], numbers.astype(np.int32)


def _factors(values: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int32]]:
    """Return texts as distinct texts and a number for each row."""
    texts, codes = np.unique(values, return_inverse=True)
    return texts.tolist(), codes.astype(np.int32)


def _elements(atoms: Atoms) -> tuple[list[str], NDArray[np.int32]]:
    """Return the symbols of elements; "X" where they are unknown, as of beads."""
    column, _ = _elements_or_none(atoms)
    return column


def _elements_or_none(
    atoms: Atoms,
) -> tuple[tuple[list[str], NDArray[np.int32]], NDArray[np.str_] | None]:
    """Return the symbols of elements as a column, and as an array; None if they are unknown."""
    symbols = None
    with contextlib.suppress(SelectionError):
        symbols = known_elements(atoms)
    if symbols is None:
        return (["X"], np.zeros(len(atoms), np.int32)), None
    texts, codes = _factors(symbols)
    return ([text or "X" for text in texts], codes), symbols


def _bonds_within(
    topology: Topology, indices: NDArray[np.int64], bonds: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the bonds between atoms of a layer, `(n, 2)`, by their numbers from 1."""
    number = np.zeros(topology.n_atoms, np.int32)
    number[indices] = np.arange(1, len(indices) + 1)
    found = number[bonds]
    return np.ascontiguousarray(found[(found > 0).all(axis=1)])
