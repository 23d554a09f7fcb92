"""Donors, hydrogens and acceptors of hydrogen bonds, by bonds and elements."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import SelectionError
from trajet.messages import Code, Message
from trajet.particles import (
    HYDROGENS,
    guessed_elements_text,
    known_elements,
    without_element,
)
from trajet.quoting import quoted
from trajet.topology import Topology
from trajet.trajectory import Selection


@dataclass(frozen=True)
class HydrogenSites:
    """Atoms that may form hydrogen bonds.

    Attributes
    ----------
    pairs
        `(n_pairs, 2)`, int64: a donor and one of its hydrogens, by index in the topology.
    acceptors
        `(n_acceptors,)`, int64.
    """

    pairs: NDArray[np.int64]
    acceptors: NDArray[np.int64]


def hydrogen_sites(
    main: Selection,
    donors: Selection | None,
    hydrogens: Selection | None,
    acceptors: Selection | None,
    *,
    elements: Sequence[str],
    guess_bonds: bool,
    messages: list[Message],
) -> HydrogenSites:
    """Return the donors with their hydrogens, and the acceptors, of a selection.

    Parameters
    ----------
    main
        Donors and acceptors are among these atoms.
    donors, acceptors
        The atoms to use; None for those of the elements.
    hydrogens
        The atoms to use; None for all hydrogens.
    elements
        Symbols of elements of donors and acceptors.
    guess_bonds
        Whether bonds are guessed, and not those of the topology.
    messages
        A message on guessed bonds or elements is appended.

    Raises
    ------
    SelectionError
        If there are no bonds, no donors with hydrogens, or no acceptors.
    """
    topology = main.trajectory.topology
    symbols = _Elements(topology, messages)
    among = _mask(topology, main)
    is_hydrogen = (
        _mask(topology, hydrogens) if hydrogens is not None else symbols.are_among(HYDROGENS)
    )
    is_donor = _mask(topology, donors) if donors is not None else symbols.are_among(elements)
    is_acceptor = (
        _mask(topology, acceptors) if acceptors is not None else symbols.are_among(elements)
    )
    both_ways = _bonds(topology, guess_bonds, messages)
    both_ways = np.concatenate([both_ways, both_ways[:, ::-1]])
    kept = is_hydrogen[both_ways[:, 1]] & is_donor[both_ways[:, 0]] & among[both_ways[:, 0]]
    pairs = np.unique(both_ways[kept], axis=0)
    if hydrogens is None:
        pairs = _at_one_location(topology, pairs, among, messages)
    if not len(pairs):
        if not (is_donor & among).any():
            raise SelectionError(
                f"selection {quoted(main.label)} of {topology} has no donor"
                f" ({', '.join(elements)}): give other atoms, donors= or elements="
            )
        if not is_hydrogen.any():
            raise SelectionError(
                f"selection {quoted(main.label)} of {topology} has no hydrogens, whose positions"
                " hydrogen bonds need: use an all-atom topology with its trajectory, or choose"
                " hydrogens="
            )
        guess = "" if guess_bonds else " guess bonds (guess_bonds=True), or"
        raise SelectionError(
            f"selection {quoted(main.label)} of {topology} has no hydrogen that is bonded to a"
            f" donor ({', '.join(elements)}):{guess} choose donors= and elements="
        )
    found = np.flatnonzero(is_acceptor & among)
    if not len(found):
        raise SelectionError(
            f"selection {quoted(main.label)} of {topology} has no acceptor of hydrogen bonds"
            f" ({', '.join(elements)}): choose acceptors= or other atoms"
        )
    return HydrogenSites(pairs, found)


def _at_one_location(
    topology: Topology,
    pairs: NDArray[np.int64],
    selected: NDArray[np.bool_],
    messages: list[Message],
) -> NDArray[np.int64]:
    """Return the pairs of donors and hydrogens whose hydrogens are there with the selected atoms.

    Hydrogens that are not selected are left out if they are at another location than a selected
    atom of their residue, or than an earlier hydrogen of it, with a message.
    """
    if (found := topology.alternate_locations) is None:
        return pairs
    residues, locations = found
    atoms = np.flatnonzero((locations != 0) & selected)
    taken: dict[int, set[int]] = {}
    for residue, location in zip(residues[atoms].tolist(), locations[atoms].tolist(), strict=True):
        taken.setdefault(residue, set()).add(location)
    kept = np.ones(len(pairs), np.bool_)
    n_others = 0
    hydrogens = pairs[:, 1]
    for k in np.flatnonzero((locations[hydrogens] != 0) & ~selected[hydrogens]).tolist():
        residue, location = int(residues[hydrogens[k]]), int(locations[hydrogens[k]])
        is_chosen = residue in taken
        kept[k] = location in taken.setdefault(residue, {location})
        n_others += not is_chosen
    if n_others and not kept.all():
        messages.append(
            Message(
                Code.HYDROGENS_LEFT_OUT,
                f"{int((~kept).sum())} hydrogens are left out, as they are at other alternate"
                " locations than atoms of their residues",
                "select hydrogens, too, or choose hydrogens=",
            )
        )
    return pairs[kept]


class _Elements:
    """The elements of the atoms of a topology, found when they are first asked for."""

    def __init__(self, topology: Topology, messages: list[Message]) -> None:
        self._topology = topology
        self._messages = messages
        self._symbols: NDArray[np.str_] | None = None

    def are_among(self, symbols: Sequence[str]) -> NDArray[np.bool_]:
        """Return which atoms have one of these elements, `(n_atoms,)`."""
        if self._symbols is None:
            self._symbols = self._found()
        return np.isin(self._symbols, [symbol.capitalize() for symbol in symbols])

    def _found(self) -> NDArray[np.str_]:
        """Return the symbol of each atom."""
        topology = self._topology
        found = known_elements(topology.atoms)
        named = without_element(topology.atoms) & (found != "")
        if "masses" in topology.native.guessed and named.any():
            self._messages.append(
                Message(
                    Code.UNDECIDED_ELEMENTS,
                    "donors and acceptors are chosen by elements"
                    f" {guessed_elements_text(named, str(topology))}",
                )
            )
        return found


def _mask(topology: Topology, selection: Selection) -> NDArray[np.bool_]:
    """Return which atoms of the topology are selected, without virtual sites, `(n_atoms,)`."""
    mask = np.zeros(topology.n_atoms, np.bool_)
    mask[selection.indices] = True
    return np.asarray(mask & ~topology.sites)


def _bonds(topology: Topology, guess_bonds: bool, messages: list[Message]) -> NDArray[np.int64]:
    """Return the bonds of a topology, `(n_bonds, 2)`.

    Raises
    ------
    SelectionError
        If it has none, or some only.
    """
    if guess_bonds:
        guessed = topology.guessed_bonds
        messages.append(
            Message(
                Code.GUESSED_BONDS,
                f"hydrogens belong to donors by {len(guessed)} bonds that are guessed from"
                f" distances in {topology}",
            )
        )
        return guessed
    if (listed := topology.bonds) is None or not topology.has_all_bonds:
        raise SelectionError(
            f"{topology.missing_bonds_message}; bonds connect each hydrogen to its donor: use a"
            " topology with all bonds, such as a TPR, PSF or PRMTOP, or guess them from distances"
            " with guess_bonds=True"
        )
    return listed
