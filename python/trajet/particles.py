"""Masses and elements of particles, and which of them are heavy atoms: one rule for all analyses.

Virtual sites, extra points, lone pairs, Drude particles and shells are no atoms (`Topology.sites`):
they have no element, no surface, and form no hydrogen bonds. Their mass is that of the file, 0 too.
"""

import contextlib

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import HEAVIEST_HYDROGEN, SelectionError
from trajet.messages import Code, Message
from trajet.topology import Atoms, first_of

# Symbols of hydrogen and its isotopes.
HYDROGENS = ("H", "D", "T")
_USE_MASSES = "use a topology with masses, such as a TPR, PSF or PRMTOP"
# Most names of atoms that an error asks to leave out.
_MAX_LEFT_OUT = 8


def equal_weights(how: str = 'weights="equal"') -> str:
    """Return advice that needs no masses, given how equal weights are written."""
    return f"weigh all atoms equally ({how})"


# Advice of analyses whose weights are `weights`.
EQUAL_WEIGHTS = equal_weights()


def masses(atoms: Atoms, messages: list[Message], instead: str | None) -> NDArray[np.float64]:
    """Return the masses of atoms, u; append a message if they are guessed from names.

    Stated masses of 0, as virtual sites have, are masses.

    Parameters
    ----------
    atoms
        The atoms.
    messages
        Messages of the analysis.
    instead
        Advice for the error and the message: an alternative that needs no masses; None if there is
        none, and all atoms are needed.

    Raises
    ------
    SelectionError
        If the mass of an atom is unknown.
    """
    native, where = atoms.topology.native, str(atoms.topology)
    found = atoms.column("masses")
    values = np.full(len(atoms), np.nan) if found is None else found
    is_guessed = "masses" in native.guessed
    # Guesses of unknown masses are 0, as MDAnalysis' are.
    known = np.isfinite(values) & ((values > 0) if is_guessed else (values >= 0))
    if not known.all():
        raise SelectionError(_without_masses(atoms, known, where, instead))
    # By its name, Martini's W is tungsten. Masses of elements that the file states are certain.
    if is_guessed and (named := without_element(atoms)).any():
        names = atoms.column("names")
        kinds, first, counts = np.unique(values[named], return_index=True, return_counts=True)
        # Wrong guesses are mostly rare, and the list is cut.
        words = [
            f"{'?' if names is None else names[named][first[k]]} {kinds[k]:.3f}"
            for k in np.lexsort([-kinds, counts])
        ]
        messages.append(
            Message(
                Code.GUESSED_MASSES,
                f"masses{_some(named)} are guessed from the names of atoms ({first_of(words)}), as"
                f" {where} has neither masses nor elements{_theirs(named)}; coarse-grained and"
                " united atoms have other masses",
                f"{_USE_MASSES}{'' if instead is None else f', or {instead}'}",
            )
        )
    return np.ascontiguousarray(values, np.float64)


def without_element(atoms: Atoms) -> NDArray[np.bool_]:
    """Return the atoms whose element the file does not state, `(n,)`; sites have none."""
    native = atoms.topology.native
    column = None if "elements" in native.guessed else native.column("elements")
    if not isinstance(column, tuple):
        return np.ones(len(atoms), np.bool_)
    codes, symbols = column
    is_empty: NDArray[np.bool_] = np.array([symbol == "" for symbol in symbols], np.bool_)
    return is_empty[codes[atoms.indices]]


def _some(named: NDArray[np.bool_]) -> str:
    """Return how many atoms a message is about, if not all."""
    return "" if named.all() else f" of {int(named.sum())} of {len(named)} atoms"


def _theirs(named: NDArray[np.bool_]) -> str:
    return "" if named.all() else " of these"


def guessed_elements_text(named: NDArray[np.bool_], where: str) -> str:
    """Return why elements of some atoms, a mask, are guessed from names."""
    what = "that are guessed from the names of atoms, as"
    if named.all():
        return f"{what} {where} has no elements"
    return f"{what} {where} has none of {int(named.sum())} of {len(named)} atoms"


def _without_masses(atoms: Atoms, known: NDArray[np.bool_], where: str, instead: str | None) -> str:
    """Return the error on atoms without known mass; its advice leaves some atom."""
    without = np.flatnonzero(~known)
    others = "" if instead is None else f"{_leave_out(atoms, without)}{instead}, or "
    return (
        f"the mass of {without.size} of {len(known)} atoms is unknown in {where}, the first is"
        f" {atoms.describe(int(without[0]))}: {others}{_USE_MASSES}"
    )


def _leave_out(atoms: Atoms, unknown: NDArray[np.int64]) -> str:
    """Return the advice to leave atoms out by their names; empty if no atom would be left."""
    names = atoms.column("names")
    if names is None:
        return ""
    words = np.unique(names[unknown])
    if len(words) > _MAX_LEFT_OUT or not words[0] or np.isin(names, words).all():
        return ""
    return f"leave these atoms out ('… and not name {' '.join(words.tolist())}'), "


def heavy_atoms(atoms: Atoms) -> NDArray[np.bool_]:
    """Return which atoms are neither hydrogens nor sites that are no atoms, `(n,)`.

    Raises
    ------
    SelectionError
        If neither the element nor the mass of an atom is known.
    """
    topology = atoms.topology
    stated = atoms.column("elements")
    symbols = np.full(len(atoms), "") if stated is None else stated
    no_atoms = (topology.sites | topology.named_sites)[atoms.indices]
    if ((symbols == "") & ~no_atoms).any():
        # Beads have no elements.
        with contextlib.suppress(SelectionError):
            symbols = known_elements(atoms)
    named = symbols != ""
    hydrogen = np.isin(np.char.upper(symbols), HYDROGENS)
    values = atoms.column("masses")
    weights = np.full(len(atoms), np.nan) if values is None else values
    if "masses" in topology.native.guessed:
        weights = np.where(weights == 0, np.nan, weights)
    unknown = np.flatnonzero(~named & ~no_atoms & np.isnan(weights))
    if unknown.size:
        raise SelectionError(
            f"{unknown.size} atoms have neither element nor mass, the first is"
            f" {atoms.describe(int(unknown[0]))}: {_leave_out(atoms, unknown)}choose heavy atoms by"
            " their names and give heavy_only=False, or use a topology with"
            " elements or masses, such as a PDB, TPR or PRMTOP"
        )
    heavy: NDArray[np.bool_] = np.where(named, ~hydrogen, weights > HEAVIEST_HYDROGEN) & ~no_atoms
    return heavy


def known_elements(atoms: Atoms) -> NDArray[np.str_]:
    """Return the symbols of the elements of atoms, from masses and names where the file has none.

    They are empty where they are unknown, and for sites that are no atoms.

    Raises
    ------
    SelectionError
        If they cannot be guessed, as for coarse-grained beads.
    """
    codes, symbols = atoms.topology.native.known_elements()
    return np.array(symbols, np.str_)[codes[atoms.indices]]


def masses_as_weights(
    atoms: Atoms,
    messages: list[Message],
    sizes: list[int] | None = None,
    labels: tuple[str, ...] = (),
    instead: str | None = EQUAL_WEIGHTS,
) -> NDArray[np.float64]:
    """Return the masses of atoms that are weights of the centres of groups.

    A group of one particle without mass has its position as centre.

    Parameters
    ----------
    atoms
        The atoms of one group after the other.
    messages, instead
        As for `masses`.
    sizes, labels
        Number of atoms and name of each group; None for one group of all atoms.

    Raises
    ------
    SelectionError
        If a mass is unknown, or the atoms of a group have no mass together.
    """
    weights = masses(atoms, messages, instead)
    groups = np.array([len(atoms)] if sizes is None else sizes, np.int64)
    starts = np.cumsum(groups) - groups
    for k in np.flatnonzero(np.add.reduceat(weights, starts) == 0).tolist():
        if groups[k] > 1:
            name = f"{labels[k]}: " if labels else ""
            raise SelectionError(
                f"{name}the {groups[k]} atoms from {atoms.describe(int(starts[k]))} on have no mass"
                " together, and so no centre of mass: leave them out"
                f"{'' if instead is None else f', or {instead}'}"
            )
        weights[starts[k]] = 1.0
    return weights
