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
COLOURS = ("chain", "residue", "element", "secondary", "sequence", VALUES)
# Atoms above which a layer without a cartoon is drawn as lines, and as points.
_BALLS, _LINES = 5_000, 50_000
# Share of a layer's atoms that belong to chains with a backbone, above which it is a cartoon.
_CARTOON = 0.5
# Residues of them from which a cartoon shows anything.
_LEAST_RESIDUES = 8
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
            and len(np.unique(polymer.topology_atoms.residues)) >= _LEAST_RESIDUES
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
            colour = "residue" if _are_beads(selection) else "element"
    return Layer(selection, representation, colour)


def _are_beads(selection: Selection) -> bool:
    """Return whether elements are unknown, as those of beads are."""
    try:
        return not (known_elements(selection.topology_atoms) != "").any()
    except SelectionError:
        return True


def default_layers(trajectory: Trajectory) -> list[Layer]:
    """Return the layers that are drawn if none is given: protein and nucleic acids, or all atoms.

    Raises
    ------
    SelectionError
        If the trajectory has no atom.
    """
    for text in _DEFAULTS[:-1]:
        try:
            return [make_layer(trajectory.select(text))]
        except SelectionError:
            continue
    return [make_layer(trajectory.select(_DEFAULTS[-1]))]


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
