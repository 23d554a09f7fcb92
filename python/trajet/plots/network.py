"""The figure of a ligand with the residues around it, and lines for their interactions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import axes_of, colours_in, finish, line_width, shortened
from trajet.plots.look import PLAIN
from trajet.plots.shared_axes import take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Distances in lengths of bonds: of residues from the ligand, between residues, and between lines.
_MARGIN, _BETWEEN, _APART = 1.9, 1.6, 0.15
# Most steps in which residues move apart.
_MAX_STEPS = 1000
# Width, points, of the line of an interaction in all frames.
_WIDEST = 5.0


@dataclass(frozen=True)
class Link:
    """An interaction of a residue and a place of the ligand.

    Attributes
    ----------
    residue, kind
        Label of the residue, and kind.
    occupancy
        Fraction of the frames.
    at
        The place, `(2,)`.
    """

    residue: str
    kind: str
    occupancy: float
    at: NDArray[np.float64]


def network(
    positions: NDArray[np.float64],
    symbols: Sequence[str],
    bonds: NDArray[np.int64],
    links: Sequence[Link],
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a ligand, the residues around it, and lines for links, whose widths are occupancies.

    Parameters
    ----------
    positions, symbols
        `(n, 2)`, in lengths of bonds, and elements of the atoms of the ligand.
    bonds
        `(m, 2)`, pairs of these atoms.
    links
        The interactions.
    """
    axes = axes_of(ax, (7.0, 6.0))
    take_unit(axes, "network", "a network")
    grey, shade = "0.3", axes.get_facecolor()
    for bond in positions[bonds]:
        axes.plot(*bond.T, "-", color=grey, linewidth=line_width(1.5), zorder=2)
    box = {"boxstyle": "round", "facecolor": shade, "edgecolor": "none"}
    for (x, y), symbol in zip(positions.tolist(), symbols, strict=True):
        if symbol != "C" or len(symbols) == 1:
            axes.text(x, y, symbol, ha="center", va="center", color=grey, bbox=box, zorder=3)
    places = _places_of(links, positions)
    kinds = list(dict.fromkeys(link.kind for link in links))
    colours = dict(zip(kinds, colours_in(axes, PLAIN, len(kinds)), strict=True))
    labels = {kind: kind for kind in kinds}
    for residue, place in places.items():
        own = [link for link in links if link.residue == residue]
        for k, link in enumerate(own):
            # Lines of one residue that begin at one atom are beside one another, as are numbers.
            same = [i for i, one in enumerate(own) if np.array_equal(one.at, link.at)]
            from_middle = same.index(k) - (len(same) - 1) / 2
            along = place - link.at
            aside = np.array([-along[1], along[0]]) / max(1e-9, float(np.hypot(*along)))
            ends = np.array([link.at + _APART * from_middle * aside, place])
            colour = colours[link.kind]
            width = line_width(0.5 + (_WIDEST - 0.5) * link.occupancy)
            label = labels.pop(link.kind, "_nolegend_")
            axes.plot(*ends.T, "-", color=colour, linewidth=width, alpha=0.7, label=label, zorder=1)
            x, y = (
                ends[0] + (0.5 + 0.12 * (k - (len(own) - 1) / 2)) * (ends[1] - ends[0])
            ).tolist()
            text = f"{100 * link.occupancy:.0f} %"
            axes.text(x, y, text, ha="center", va="center", fontsize="x-small", bbox=box, zorder=4)
        frame = {**box, "edgecolor": "0.5"}
        (x, y), name = place.tolist(), shortened(residue)
        axes.text(x, y, name, ha="center", va="center", fontsize="small", bbox=frame, zorder=5)
    # Text has no place among the limits.
    around = np.concatenate([positions, *(place[np.newaxis] for place in places.values())])
    margin = np.array([1.2, 0.8])
    (left, bottom), (right, top) = around.min(axis=0) - margin, around.max(axis=0) + margin
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal")
    figure = finish(axes, ax, PLAIN, has_grid=False, has_legend=True)
    axes.set_axis_off()
    return figure


def _places_of(
    links: Sequence[Link], positions: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the place of each residue, on a circle, in the directions of its interactions."""
    centre = (positions.min(axis=0) + positions.max(axis=0)) / 2
    sums: dict[str, NDArray[np.float64]] = {}
    for link in links:
        towards = link.occupancy * (link.at - centre)
        sums[link.residue] = sums.get(link.residue, np.zeros(2)) + towards
    directions = {name: float(np.arctan2(*each[::-1])) for name, each in sums.items()}
    names = sorted(sums, key=directions.__getitem__)
    reach = float(np.hypot(*(positions - centre).T).max())
    radius = max(reach + _MARGIN, len(names) * _BETWEEN / (2 * np.pi))
    angles = _spread(np.array([directions[name] for name in names]), _BETWEEN / radius)
    places = centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return dict(zip(names, places, strict=True))


def _spread(angles: NDArray[np.float64], apart: float) -> NDArray[np.float64]:
    """Return ascending angles that are moved until neighbours on the circle are `apart`."""
    n = len(angles)
    if n * apart > 2 * np.pi - 1e-9:
        even: NDArray[np.float64] = angles[0] + 2 * np.pi * np.arange(n) / n
        return even
    for _ in range(_MAX_STEPS):
        lacks = apart - np.diff(angles, append=angles[:1] + 2 * np.pi)
        if n < 2 or lacks.max() <= 1e-3:
            break
        push = np.maximum(lacks, 0) / 2
        angles = angles - push + np.roll(push, 1)
    return angles
