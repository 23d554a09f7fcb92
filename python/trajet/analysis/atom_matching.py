"""Checks that the atoms of two structures, which are compared one by one, are the same atoms.

Names and numbers in the topology of a trajectory and in a reference may differ: force fields use
different names for atoms and residues, chains may be renumbered, and mutants are compared. So it is
an error only if names, residues or chains that both structures have are in a different order. Other
names give a remark. Residue numbers may be shifted by a constant; if the shift changes within a
chain, a remark says so.
"""

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
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


def check_pairs(mobile: Atoms, reference: Atoms, what: str, *, given: bool) -> list[str]:
    """Raise an error if two groups cannot be compared atom by atom; return remarks.

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
    return [f"{what}: {one}: atoms are compared in their order" for one in reasons if one]


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
