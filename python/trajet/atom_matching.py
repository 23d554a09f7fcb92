"""Checks that the atoms of two structures, which belong together one by one, are the same atoms.

Names and numbers in the topology of a trajectory and in a reference may differ: force fields use
different names for atoms and residues, chains may be renumbered, and mutants are compared. So it is
an error only if names, residues or chains that both structures have are in a different order. Other
names give a message. Residue numbers may be shifted by a constant; if the shift changes within a
chain, a message says so.

Files that name their atoms are read with the topology that was given (`place_in_file`). If chain,
residue number, residue name and name are unique and the same in both, the atoms are put into the
order of the topology; if these are the same but not unique, the numbers of the atoms (serials)
may tell the order, else it is an error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.messages import Code, Message
from trajet.topology import Atoms

# Largest difference of the masses of a pair, u; the default of MDAnalysis' RMSD.
MASS_TOLERANCE = 0.1
# Names that force fields use for protonation states of residues, and for nucleotides.
_STATES = {
    "HIS": ("HSD", "HSE", "HSP", "HID", "HIE", "HIP", "HISA", "HISB", "HISD", "HISE", "HISH"),
    "CYS": ("CYX", "CYM", "CYSH", "CYS1", "CYS2"),
    "ASP": ("ASH", "ASPP", "ASPH"),
    "GLU": ("GLH", "GLUP", "GLUH"),
    "LYS": ("LYN", "LSN", "LYSH"),
    "ARG": ("ARGN",),
}
_BASES = {"A": "ADE", "C": "CYT", "G": "GUA", "T": "THY", "U": "URA"}
_USUAL = {state: usual for usual, states in _STATES.items() for state in states} | {
    f"{sugar}{base}{end}": name
    for base, name in _BASES.items()
    for sugar in ("", "D", "R")
    for end in ("", "3", "5")
}
# Mutants have less than this part of their atoms in residues of other names.
_FEW = 0.1
# Replaces names that only one of two structures has.
_ANY = "*"


def _check_same_kind(mobile: Atoms, reference: Atoms, what: str) -> None:
    """Raise an error if two groups differ in size or in the masses of their atoms.

    Raises
    ------
    SelectionError
        If the numbers of atoms differ, or the masses of a pair by more than `MASS_TOLERANCE`.
    """
    if len(mobile) != len(reference):
        raise SelectionError(
            f"{what}: {len(mobile)} atoms in the trajectory, {len(reference)} in the reference:"
            " choose a selection that names the same atoms in both"
        )
    ours, theirs = mobile.column("masses"), reference.column("masses")
    if ours is None or theirs is None:
        return
    # Negated, so that unknown masses (NaN) differ.
    apart = np.flatnonzero(~(np.abs(ours - theirs) <= MASS_TOLERANCE))
    if apart.size:
        k = int(apart[0])
        both = ((mobile, ours), (reference, theirs))
        names = [f"{group.name_of(k)} of {masses[k]:.3f} u" for group, masses in both]
        raise SelectionError(
            f"{what}: {apart.size} atoms differ in mass by more than {MASS_TOLERANCE} u, the first"
            f" pair is atom {mobile.indices[k]} ({names[0]}) and atom {reference.indices[k]} of the"
            f" reference ({names[1]}): choose a selection that names the same atoms in both"
        )


def check_pairs(mobile: Atoms, reference: Atoms, what: str, *, given: bool) -> list[Message]:
    """Raise an error if two groups cannot be compared atom by atom; return messages.

    If the order of the atoms was not `given` by the caller but is that of two files, it must be the
    same. Masses do not show it: CHARMM writes CB before C, the PDB after it.

    Raises
    ------
    SelectionError
        If `_check_same_kind` raises it, or if the order of the atoms differs.
    """
    _check_same_kind(mobile, reference, what)
    found = _disorder(mobile, reference)
    if found is not None and not given:
        raise SelectionError(
            f"{what}: {found}: give a structure with the atoms in the order of the trajectory, or"
            " an AtomGroup in that order"
        )
    reasons = [found] if found else [_other_names(mobile, reference), _shifts(mobile, reference)]
    return [
        Message(Code.OTHER_NAMES, f"{what}: {one}: atoms are compared in their order")
        for one in reasons
        if one
    ]


def check_same_atoms(atoms: Atoms, others: Atoms, what: str) -> list[Message]:
    """Raise an error if two groups are not the same atoms in the same order; return messages.

    Chains and a constant shift of residue numbers do not matter: chains of a homodimer are the same
    atoms.

    Raises
    ------
    SelectionError
        If `_check_same_kind` raises it, or if the order of the atoms differs.
    """
    _check_same_kind(atoms, others, what)
    if (found := _disorder(atoms, others)) is not None:
        raise SelectionError(f"{what}: {found}: select the same atoms in the same order")
    reasons = [_other_names(atoms, others), _shifts(atoms, others)]
    return [
        Message(Code.OTHER_NAMES, f"{what}: {one}: they are taken for the same atoms")
        for one in reasons
        if one
    ]


@dataclass(frozen=True)
class Placement:
    """The order of the atoms of a topology in a file.

    Attributes
    ----------
    order_in_file
        Index in the file of each atom of the topology, int64; None if the order is the same.
    messages
        Messages on another order, or on other names.
    """

    order_in_file: NDArray[np.int64] | None = None
    messages: tuple[Message, ...] = ()


def place_in_file(file: Atoms, topology: Atoms, what: str, of_topology: str) -> Placement:
    """Return the order of the atoms of a topology in a file that names its atoms.

    Parameters
    ----------
    file, topology
        The atoms of the file, and as many of the topology.
    what, of_topology
        The file and the topology in messages.

    Raises
    ------
    SelectionError
        If the file has the same names in another order that is not unique, or if the order of names
        differs beyond the conventions of programs.
    """
    _check_ids(file, topology, what, of_topology)
    ours, theirs = _keys(file, topology)
    order, order_of_topology = (np.argsort(keys, kind="stable") for keys in (ours, theirs))
    is_unique = bool((np.diff(ours[order]) != 0).all())
    order_in_file = None
    if np.array_equal(ours, theirs):
        order_in_file = None if is_unique else _order_by_serials(file, topology, theirs, ours)
        if order_in_file is None:
            return Placement()
    elif np.array_equal(ours[order], theirs[order_of_topology]):
        if is_unique:
            order_in_file = np.empty(len(ours), np.int64)
            order_in_file[order_of_topology] = order
        else:
            order_in_file = _order_by_serials(file, topology, theirs, ours)
        if order_in_file is None:
            k = int((ours != theirs).argmax())
            raise SelectionError(
                f"{what}: its atoms have the names of {of_topology} in another order, and several"
                f" have the same name, residue and chain: the first pair is {topology.describe(k)}"
                f" of the topology and {file.describe(k)}: give a topology in the order of the file"
            )
    if order_in_file is not None:
        moved = int((order_in_file != np.arange(len(order_in_file))).sum())
        return Placement(
            order_in_file,
            (
                Message(
                    Code.ATOM_ORDER,
                    f"{what}: {moved} of {len(order_in_file)} atoms are in another order than in"
                    f" {of_topology}: they are read in its order",
                ),
            ),
        )
    if _are_same_kinds(file, topology, what, of_topology):
        return Placement()
    found = None if _have_same_ids(file, topology) else _disorder(file, topology)
    if found is not None:
        raise SelectionError(
            f"{what}: {found.replace('the reference', 'the topology')}: give a topology with the"
            " atoms in the order of the file"
        )
    reasons = [
        _other_names(file, topology) or _other_types(file, topology),
        _shifts(file, topology),
    ]
    return Placement(
        messages=tuple(
            Message(
                Code.ATOM_ORDER,
                f"{what}: {one.replace('the reference', 'the topology')}: atoms are taken to be in"
                " the order of the topology",
            )
            for one in reasons
            if one
        )
    )


def _check_ids(file: Atoms, topology: Atoms, what: str, of_topology: str) -> None:
    """Raise an error if a dump of LAMMPS has other atoms than its data file."""
    ids = _values(file, topology, "ids")
    if ids is None or any(one.column("resnames") is not None for one in (file, topology)):
        return
    apart = np.flatnonzero(~np.isin(*ids))
    if len(apart):
        raise SelectionError(
            f"{what}: atom {ids[0][apart[0]]} is none of {of_topology}, which has as many atoms:"
            " give the topology of the atoms that were written"
        )


def _are_same_kinds(file: Atoms, topology: Atoms, what: str, of_topology: str) -> bool:
    """Return whether types, masses or ids tell that atoms are in the order of the topology.

    For files that name no residues (XYZ, dumps of LAMMPS), whose names of atoms are those of
    elements or types.

    Raises
    ------
    SelectionError
        If the atoms have the masses of the topology in another order.
    """
    if file.column("resnames") is not None:
        return False
    if (types := _values(file, topology, "types")) is not None and np.array_equal(*types):
        return True
    if (masses := _values(file, topology, "masses")) is None or not (masses[0] > 0).all():
        return _have_same_ids(file, topology) and _other_types(file, topology) is None
    apart = np.abs(masses[0] - masses[1]) > MASS_TOLERANCE
    ours, theirs = np.sort(masses[0]), np.sort(masses[1])
    if apart.any() and (np.abs(ours - theirs) <= MASS_TOLERANCE).all():
        k = int(apart.argmax())
        raise SelectionError(
            f"{what}: its atoms have the masses of {of_topology} in another order: the first pair"
            f" is {topology.describe(k)} of the topology and {file.describe(k)}: give a topology in"
            " the order of the file"
        )
    return not apart.any()


def _have_same_ids(file: Atoms, topology: Atoms) -> bool:
    """Return whether a file that names no residues has the ids of the topology in its order."""
    ids = _values(file, topology, "ids")
    return file.column("resnames") is None and ids is not None and np.array_equal(*ids)


def _keys(file: Atoms, topology: Atoms) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a number for each atom of both: the same for the same chain, residue and name."""
    n = len(file)
    keys = np.zeros(2 * n, np.int64)
    # Only one of them names the chains of some formats.
    chains = next(
        (
            attribute
            for attribute in ("chainIDs", "segids")
            if (both := _values(file, topology, attribute)) is not None
            and np.array_equal(np.unique(both[0]), np.unique(both[1]))
        ),
        None,
    )
    attributes = (*(() if chains is None else (chains,)), "resids", "icodes", "resnames", "names")
    for attribute in attributes:
        if (both := _values(file, topology, attribute)) is None:
            continue
        _, numbers = np.unique(np.concatenate(both), return_inverse=True)
        _, keys = np.unique(keys * (int(numbers.max()) + 1) + numbers, return_inverse=True)
    return keys[:n], keys[n:]


def _order_by_serials(
    file: Atoms, topology: Atoms, theirs: NDArray[np.int64], ours: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the index in the file of each atom of the topology, by the numbers of the atoms.

    None if the numbers are not the same, are in the same order, or name other atoms.
    """
    if (both := _values(file, topology, "ids")) is None:
        return None
    numbers, of_topology = both
    order, order_of_topology = (np.argsort(one, kind="stable") for one in (numbers, of_topology))
    ascending = numbers[order]
    if not np.array_equal(ascending, of_topology[order_of_topology]) or np.array_equal(*both):
        return None
    order_in_file = np.empty(len(numbers), np.int64)
    order_in_file[order_of_topology] = order
    is_unique = (np.diff(ascending) != 0).all()
    return order_in_file if is_unique and np.array_equal(ours[order_in_file], theirs) else None


def _disorder(mobile: Atoms, reference: Atoms) -> str | None:
    """Return a text that shows that the reference has the atoms in another order, or None."""
    for attribute in ("names", "resnames", "resids", "segids"):
        if (both := _values(mobile, reference, attribute)) is None:
            continue
        ours, theirs = both
        if attribute == "resnames":
            ours, theirs = _shared(ours, theirs), _shared(theirs, ours)
        apart = ours != theirs
        if apart.any() and not np.array_equal(np.sort(ours), np.sort(theirs)):
            if attribute != "names":
                continue
            apart = _exchanged(ours, theirs, mobile.residues)
        # Mutants have residues of other names.
        if attribute == "resnames" and apart.mean() < _FEW and _same_numbers(mobile, reference):
            continue
        if apart.any():
            k = int(apart.argmax())
            words = [group.describe(k) for group in (mobile, reference)]
            if attribute == "segids":
                words = [f"{word} of {both[i][k]}" for i, word in enumerate(words)]
            return (
                f"the same {attribute} in another order, the first pair is {words[0]} and"
                f" {words[1]} of the reference"
            )
    return None


def _same_numbers(mobile: Atoms, reference: Atoms) -> bool:
    """Return whether the residues of all pairs have the same number."""
    both = _values(mobile, reference, "resids")
    return both is not None and np.array_equal(*both)


def _other_names(mobile: Atoms, reference: Atoms) -> str | None:
    """Return a text on atoms whose names or residue names differ, or None."""
    apart = np.zeros(len(mobile), np.bool_)
    for attribute in ("names", "resnames"):
        if (both := _values(mobile, reference, attribute)) is not None:
            ours, theirs = both
            # Names are empty in formats without names.
            apart |= (ours != theirs) & (ours != "") & (theirs != "")
    if not apart.any():
        return None
    k = int(apart.argmax())
    words = [group.describe(k) for group in (mobile, reference)]
    return (
        f"{apart.sum()} of {len(apart)} atoms have other names, the first pair is {words[0]}"
        f" and {words[1]} of the reference"
    )


def _other_types(file: Atoms, topology: Atoms) -> str | None:
    """Return a text on atoms whose types or, if the file has no types, masses differ, or None.

    Types of the file that are no numbers are elements, which may differ.
    """
    types, masses = (_values(file, topology, attribute) for attribute in ("types", "masses"))
    if types is not None and np.char.isdigit(types[0].astype(str)).all():
        kind, apart = "types", types[0] != types[1]
    elif masses is not None and (masses[0] > 0).all():
        kind, apart = "masses", np.abs(masses[0] - masses[1]) > MASS_TOLERANCE
    else:
        return None
    if not apart.any():
        return None
    k = int(apart.argmax())
    words = [group.describe(k) for group in (file, topology)]
    return (
        f"{apart.sum()} of {len(apart)} atoms have other {kind}, the first pair is {words[0]} and"
        f" {words[1]} of the reference"
    )


def _shifts(mobile: Atoms, reference: Atoms) -> str | None:
    """Return a text on the first change of the shift between residue numbers within a chain.

    None if the shift is constant in each chain. A chain ends where the segment changes, or where
    the numbers decrease, in either structure.
    """
    if (both := _values(mobile, reference, "resids")) is None:
        return None
    shifts = both[1] - both[0]
    changes = np.diff(shifts) != 0
    for numbers in both:
        changes &= np.diff(numbers) >= 0
    for group in (mobile, reference):
        if (segments := group.column("segids")) is not None:
            changes &= segments[1:] == segments[:-1]
    if not changes.any():
        return None
    k = int(changes.argmax()) + 1
    words = [group.describe(k) for group in (mobile, reference)]
    return (
        f"the residue numbers of the reference differ by {shifts[k - 1]} and, from {words[0]} and"
        f" {words[1]} of the reference on, by {shifts[k]} within a chain: a residue may be missing"
        " in one of the two"
    )


def _values(
    mobile: Atoms, reference: Atoms, attribute: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return an attribute of the atoms of both groups; None if one of them lacks it."""
    ours, theirs = (group.column(attribute) for group in (mobile, reference))
    if ours is None or theirs is None:
        return None
    if attribute == "resnames":
        return _usual(ours), _usual(theirs)
    return ours, theirs


def _usual(names: np.ndarray) -> NDArray[np.str_]:
    """Return residue names with those of protonation states replaced by the usual name."""
    kinds, which = np.unique(names.astype(str), return_inverse=True)
    return np.array([_USUAL.get(kind, kind) for kind in kinds.tolist()], str)[which]


def _shared(names: NDArray[np.str_], others: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return names with `_ANY` for those that are not among the others."""
    return np.where(np.isin(names, others), names, _ANY)


def _exchanged(
    ours: NDArray[np.str_], theirs: NDArray[np.str_], residues: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the pairs with different names that both occur elsewhere in the other's residue.

    A name that the other residue lacks is a different name for the same atom: hydrogens HB1 and HB2
    are also called HB2 and HB3.
    """
    kinds, which = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    one, other = (residues * len(kinds) + half for half in np.split(which, 2))
    return np.asarray((one != other) & np.isin(one, other) & np.isin(other, one))
