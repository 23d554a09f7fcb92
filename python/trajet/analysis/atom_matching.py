"""Whether atoms of two structures that are compared one by one are the same atoms.

Names and numbers of a trajectory's topology and of a reference may differ, as force fields call
atoms and residues otherwise, chains are numbered through, and mutants are compared. So an order is
refused where names, residues or chains that both have stand in another order there; what is called
otherwise and may be right is told of. Numbers of residues may be shifted by the same amount; where
the amount changes within a chain, a remark says so.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajet import mdanalysis
from trajet._trajet import SelectionError

# By how much the masses of atoms that are compared may differ, u; MDAnalysis' RMSD takes the same.
MASS_TOLERANCE = 0.1
# What force fields call residues in their states of protonation, and nucleotides.
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
# Part of the atoms that belong to residues of other names, at most, in mutants.
_FEW = 0.1
# In place of a name that only one of two structures knows.
_ANY = "*"


def _check_same_kind(mobile: Any, reference: Any, what: str) -> None:
    """Make sure that two groups of atoms can be compared one by one.

    Raises
    ------
    SelectionError
        If their numbers differ, or the masses of a pair by more than `MASS_TOLERANCE`.
    """
    if len(mobile) != len(reference):
        raise SelectionError(
            f"{what}: {len(mobile)} atoms in the trajectory, {len(reference)} in the reference:"
            " choose a selection that names the same atoms in both"
        )
    if not (hasattr(mobile, "masses") and hasattr(reference, "masses")):
        return
    # Written so that masses that are not known differ.
    apart = np.flatnonzero(~(np.abs(mobile.masses - reference.masses) <= MASS_TOLERANCE))
    if apart.size:
        k = int(apart[0])
        names = [f"{getattr(g[k], 'name', '?')} of {g[k].mass:.3f} u" for g in (mobile, reference)]
        raise SelectionError(
            f"{what}: {apart.size} atoms differ in mass by more than {MASS_TOLERANCE} u, the first"
            f" pair is atom {mobile[k].index} ({names[0]}) and atom {reference[k].index} of the"
            f" reference ({names[1]}): choose a selection that names the same atoms in both"
        )


def check_pairs(mobile: Any, reference: Any, what: str, *, given: bool) -> list[str]:
    """Make sure that two groups of atoms can be compared one by one; return doubts as remarks.

    Where their order was not `given` but that of two files, it must not be another one. Masses do
    not tell: CHARMM writes CB before C, the PDB behind it.

    Raises
    ------
    SelectionError
        As of `_check_same_kind`, or if what both structures know stands in another order.
    """
    _check_same_kind(mobile, reference, what)
    found = _disorder(mobile, reference)
    if found is not None and not given:
        raise SelectionError(
            f"{what}: {found}: give a structure whose atoms have the order of the trajectory, or"
            " an AtomGroup in that order"
        )
    doubts = [found] if found else [_other_names(mobile, reference), _shifts(mobile, reference)]
    return [f"{what}: {doubt}: atoms are compared in their order" for doubt in doubts if doubt]


def _disorder(mobile: Any, reference: Any) -> str | None:
    """Return what shows that atoms stand in another order in the reference, in words."""
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
            apart = _exchanged(ours, theirs, mobile.resindices)
        # Mutants may exchange residues.
        if attribute == "resnames" and apart.mean() < _FEW and _same_numbers(mobile, reference):
            continue
        if apart.any():
            k = int(apart.argmax())
            words = [mdanalysis.describe_atom(group[k]) for group in (mobile, reference)]
            if attribute == "segids":
                words = [f"{word} of {both[i][k]}" for i, word in enumerate(words)]
            return (
                f"the same {attribute} in another order, the first pair is {words[0]} and"
                f" {words[1]} of the reference"
            )
    return None


def _same_numbers(mobile: Any, reference: Any) -> bool:
    """Tell whether the residues of all pairs have the same number."""
    both = _values(mobile, reference, "resids")
    return both is not None and np.array_equal(*both)


def _other_names(mobile: Any, reference: Any) -> str | None:
    """Return how many atoms have another name, or are of a residue that has, in words."""
    apart = np.zeros(len(mobile), np.bool_)
    for attribute in ("names", "resnames"):
        if (both := _values(mobile, reference, attribute)) is not None:
            ours, theirs = both
            # Formats without names give empty ones.
            apart |= (ours != theirs) & (ours != "") & (theirs != "")
    if not apart.any():
        return None
    k = int(apart.argmax())
    words = [mdanalysis.describe_atom(group[k]) for group in (mobile, reference)]
    return (
        f"{apart.sum()} of {len(apart)} atoms are called otherwise, the first pair is {words[0]}"
        f" and {words[1]} of the reference"
    )


def _shifts(mobile: Any, reference: Any) -> str | None:
    """Return where two numberings of residues begin to differ by another amount, in words.

    None where they differ by the same amount throughout each chain. A chain ends where the segment
    changes, or the numbers step back, in either structure.
    """
    if (both := _values(mobile, reference, "resids")) is None:
        return None
    shifts = both[1] - both[0]
    changes = np.diff(shifts) != 0
    for numbers in both:
        changes &= np.diff(numbers) >= 0
    for group in (mobile, reference):
        if hasattr(group, "segids"):
            segments = np.asarray(group.segids).astype(str)
            changes &= segments[1:] == segments[:-1]
    if not changes.any():
        return None
    k = int(changes.argmax()) + 1
    words = [mdanalysis.describe_atom(group[k]) for group in (mobile, reference)]
    return (
        f"the residue numbers of the reference differ by {shifts[k - 1]} and, from {words[0]} and"
        f" {words[1]} of the reference on, by {shifts[k]}, though the chain goes on: a residue may"
        " be missing in one of the two"
    )


def _values(
    mobile: Any, reference: Any, attribute: str
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return what both groups call their atoms; None where one of them does not."""
    if not (hasattr(mobile, attribute) and hasattr(reference, attribute)):
        return None
    ours, theirs = (np.asarray(getattr(group, attribute)) for group in (mobile, reference))
    if attribute == "resids":
        return ours, theirs
    if attribute == "resnames":
        return _usual(ours), _usual(theirs)
    return ours.astype(str), theirs.astype(str)


def _usual(names: NDArray[Any]) -> NDArray[np.str_]:
    """Return names of residues without what tells states of protonation."""
    kinds, which = np.unique(names.astype(str), return_inverse=True)
    return np.array([_USUAL.get(kind, kind) for kind in kinds.tolist()], str)[which]


def _shared(names: NDArray[np.str_], others: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return names with one word for all that the others do not know."""
    return np.where(np.isin(names, others), names, _ANY)


def _exchanged(
    ours: NDArray[np.str_], theirs: NDArray[np.str_], residues: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which pairs have two names that the other structure has elsewhere in the residue.

    A name that it has not is another one for the same atom, as where hydrogens HB1 and HB2 are
    called HB2 and HB3.
    """
    kinds, which = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    one, other = (residues * len(kinds) + half for half in np.split(which, 2))
    return np.asarray((one != other) & np.isin(one, other) & np.isin(other, one))
