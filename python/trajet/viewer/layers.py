"""Layers: some atoms, and how they are drawn."""

from dataclasses import dataclass

import numpy as np

from trajet._trajet import SelectionError
from trajet.particles import known_elements
from trajet.quoting import quoted
from trajet.trajectory import Selection, Trajectory

REPRESENTATIONS = ("cartoon", "ball", "spheres", "lines", "surface", "points")
# The colour of the first result with values per atom or residue.
VALUES = "values"
COLOURS = ("chain", "residue", "name", "element", "secondary", "sequence", VALUES)
# Atoms above which a layer without a cartoon is drawn as lines, and as points.
_BALLS, _LINES = 5_000, 50_000
# Share of a layer's atoms that belong to chains with a backbone, above which it is a cartoon.
_CARTOON = 0.5
# Residues of them from which a cartoon shows anything.
_MIN_RESIDUES = 8
# Selections that are drawn if none is given: the first that matches.
_DEFAULTS = ("protein or nucleic", "all")


@dataclass(frozen=True)
class Layer:
    """Some atoms, and how they are drawn.

    Attributes
    ----------
    selection
        The atoms, of the trajectory without transforms.
    representation
        One of `REPRESENTATIONS`.
    colour
        One of `COLOURS`.
    """

    selection: Selection
    representation: str
    colour: str

    @property
    def label(self) -> str:
        """The selection as text."""
        return self.selection.label


def parse_layer(trajectory: Trajectory, text: str) -> Layer:
    """Return the layer that a text describes: `SELECTION[:REPRESENTATION[:COLOUR]]`.

    Colons within the selection, as in "resid 1:10", are part of it.

    Raises
    ------
    SelectionError
        If the selection is invalid or matches no atom.
    ValueError
        If there is no selection.
    """
    words = text.split(":")
    colour = words.pop().strip() if words[-1].strip() in COLOURS else None
    representation = words.pop().strip() if words[-1:] and _is_representation(words[-1]) else None
    selection = ":".join(words).strip()
    if not selection:
        raise ValueError(
            f"{quoted(text)}: write SELECTION:REPRESENTATION:COLOUR, with a representation"
            f" ({', '.join(REPRESENTATIONS)}) and a colour ({', '.join(COLOURS)}) if you like"
        )
    return make_layer(trajectory.select(selection), representation, colour)


def _is_representation(word: str) -> bool:
    return word.strip() in REPRESENTATIONS


def check_style(representation: str | None, colour: str | None) -> None:
    """Raise an error if a representation or a colour does not exist.

    Raises
    ------
    ValueError
        If one does not.
    """
    for given, known in ((representation, REPRESENTATIONS), (colour, COLOURS)):
        if given is not None and given not in known:
            raise ValueError(f"{quoted(given)}: is none of {', '.join(known)}")


def make_layer(
    selection: Selection, representation: str | None = None, colour: str | None = None
) -> Layer:
    """Return a layer; what is None is chosen by the kind and number of atoms."""
    if representation is None:
        polymer = polymer_atoms(selection)
        if (
            polymer is not None
            and polymer.n_atoms > _CARTOON * selection.n_atoms
            and len(np.unique(polymer.topology_atoms.residues)) >= _MIN_RESIDUES
        ):
            representation = "cartoon"
        elif _are_beads(selection):
            representation = "spheres" if selection.n_atoms <= _LINES else "points"
        elif selection.n_atoms <= _BALLS:
            representation = "ball"
        else:
            representation = "lines" if selection.n_atoms <= _LINES else "points"
    if colour is None:
        if representation in ("cartoon", "surface"):
            colour = "chain"
        else:
            colour = _colour_of_beads(selection) if _are_beads(selection) else "element"
    return Layer(selection, representation, colour)


def _are_beads(selection: Selection) -> bool:
    """Return whether elements are unknown, as those of beads are."""
    try:
        return not (known_elements(selection.topology_atoms) != "").any()
    except SelectionError:
        return True


def _colour_of_beads(selection: Selection) -> str:
    """Return the colour that tells beads apart: names of residues, or of beads if there is one."""
    atoms = selection.topology_atoms
    names = atoms.topology.column("resnames")
    one_residue = names is not None and len(np.unique(names[atoms.residues])) == 1
    return "name" if one_residue else "residue"


def default_layers(trajectory: Trajectory) -> list[Layer]:
    """Return the layers that are drawn if none is given.

    They are proteins and nucleic acids, and the other molecules but water and single ions, unless
    these have more than 50,000 atoms; or all atoms.

    Raises
    ------
    SelectionError
        If the trajectory has no atom.
    """
    for text in _DEFAULTS[:-1]:
        try:
            polymer = make_layer(trajectory.select(text))
        except SelectionError:
            continue
        others = _other_molecules(trajectory)
        if others is None or others.n_atoms > _LINES:
            return [polymer]
        return [polymer, make_layer(others)]
    return [make_layer(trajectory.select(_DEFAULTS[-1]))]


def _other_molecules(trajectory: Trajectory) -> Selection | None:
    """Return ligands, lipids and the like: neither polymers, nor water, nor residues of one atom.

    Among atoms, dummies whose element is unknown are left out: without bonds of theirs, which
    cannot be guessed, no molecule of the picture would be made whole.
    """
    try:
        others = trajectory.select(f"not ({_DEFAULTS[0]} or water)")
        atoms = others.topology_atoms
        residues, n_atoms = np.unique(atoms.residues, return_counts=True)
        names = atoms.topology.column("resnames")
        is_taken = n_atoms > 1
        if not _are_beads(others):
            unknown = atoms.residues[known_elements(atoms) == ""]
            is_taken &= ~np.isin(residues, unknown)
        several = residues[is_taken]
        if names is None or not len(several):
            return None
        found = trajectory.select("resname " + " ".join(np.unique(names[several]).tolist()))
    except SelectionError:
        return None
    # A name that polymers have, too.
    return found if np.isin(found.columns, others.columns).all() else found & others


def polymer_atoms(selection: Selection, names: str = "") -> Selection | None:
    """Return the atoms of a selection that belong to proteins or nucleic acids; None without any.

    Parameters
    ----------
    names
        Names of atoms to which they are restricted; all if empty.
    """
    text = "(protein or nucleic)" + (f" and name {names}" if names else "")
    try:
        return selection.trajectory.select(text) & selection
    except SelectionError:
        return None
