"""Positions of residues and atoms along an axis, with chains apart from one another."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import LONGEST_TICK, character_inches, shortened, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Gap between two chains, as a part of all elements.
_GAP = 0.02
# Most ticks of an axis.
_MOST_TICKS = 16
# Space between two names, in characters.
_BETWEEN = 2
# The name of a residue before its number, in a label.
_NAME = re.compile(r"(^|:)[A-Za-z]{3}(?=-?\d)")
# Most chains that are named.
_MOST_CHAINS = 12


@dataclass(frozen=True)
class Places:
    """Positions of elements along an axis.

    Attributes
    ----------
    x
        `(n,)`, the position of each element.
    parts
        The elements of each chain, of which there is one at least.
    chains
        Name of each chain; empty if there is one.
    residues
        `(n,)`, residue numbers, if ticks show these.
    """

    x: NDArray[np.float64]
    parts: list[slice]
    chains: list[str]
    residues: NDArray[np.int64] | None = None

    def unit(self, labels: Sequence[str] | None) -> Hashable:
        """Return what is the same for other elements if these have the same positions.

        Parameters
        ----------
        labels
            Names of the elements, which must be the same apart from names of residues, since
            mutants are compared; None for residue numbers, of which those of several chains must
            have the same ends.
        """
        if labels is not None:
            return "names", *self.chains, *(_NAME.sub(r"\1", label) for label in labels)
        if self.residues is None:
            return "residue"
        ends = [(int(self.residues[part][0]), int(self.residues[part][-1])) for part in self.parts]
        return "residue", *self.chains, *ends


def places_of(n: int, chains: Sequence[str] | None) -> Places:
    """Return positions of n elements, one after the other, with gaps between chains."""
    parts, names = _parts(n, chains)
    x = np.arange(n, dtype=np.float64)
    for k, part in enumerate(parts):
        x[part] += k * max(1.0, round(_GAP * n))
    return Places(x, parts, names)


def places_of_residues(
    residues: NDArray[np.int64] | None, chains: Sequence[str] | None
) -> Places | None:
    """Return positions by residue numbers, with gaps between chains.

    Returns
    -------
    Places or None
        None if numbers do not increase within each chain, or there is one residue. Positions are
        residue numbers if there is one chain.
    """
    if residues is None or len(residues) < 2:
        return None
    parts, names = _parts(len(residues), chains)
    if any((np.diff(residues[part]) <= 0).any() for part in parts):
        return None
    x = residues.astype(np.float64)
    if len(parts) == 1:
        return Places(x, parts, names)
    lengths = [residues[part][-1] - residues[part][0] + 1 for part in parts]
    gap, begin = max(1, round(_GAP * sum(lengths))), 0
    for part, length in zip(parts, lengths, strict=True):
        x[part] += begin - residues[part][0]
        begin += length + gap
    return Places(x, parts, names, residues)


def _parts(n: int, chains: Sequence[str] | None) -> tuple[list[slice], list[str]]:
    """Return the elements of each run of one chain, and the names of these."""
    if chains is None or n == 0:
        return [slice(0, n)], []
    ends = [k for k in range(1, n) if chains[k] != chains[k - 1]]
    parts = [slice(a, b) for a, b in zip([0, *ends], [*ends, n], strict=True)]
    return parts, [chains[part.start] for part in parts] if ends else []


def draw_chains(axes: "Axes", places: Places) -> None:
    """Draw lines between chains, and write their names, with ticks at residue numbers."""
    if not places.chains:
        return
    ends = [(places.x[part][0], places.x[part][-1]) for part in places.parts]
    for (_, last), (first, _) in pairwise(ends):
        axes.axvline((last + first) / 2, color="0.7", linewidth=0.8, zorder=0.5)
    if places.residues is not None:
        _number_residues(axes, places)
    if len(ends) > _MOST_CHAINS:
        return
    for (first, last), name in zip(ends, places.chains, strict=True):
        axes.annotate(
            shortened(name, LONGEST_TICK),
            ((first + last) / 2, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small",
            color="0.3",
        )


def title_pad(places: Places) -> float | None:
    """Return the space between axes and title in points, where names of chains may be."""
    return 18.0 if 0 < len(places.chains) <= _MOST_CHAINS else None


def _number_residues(axes: "Axes", places: Places) -> None:
    """Set ticks at round residue numbers of each chain."""
    assert places.residues is not None
    span = float(np.ptp(places.x)) or 1.0
    longest = len(str(int(np.abs(places.residues).max()))) + _BETWEEN
    most = min(_MOST_TICKS, max(2, int(width_of(axes) / character_inches() / longest)))
    step = round_step(span / most)
    ticks: list[float] = []
    names: list[str] = []
    for part in places.parts:
        numbers, x = places.residues[part], places.x[part]
        first = int(numbers[0])
        for number in range(-(-first // step) * step, int(numbers[-1]) + 1, step):
            ticks.append(float(x[0]) + number - first)
            names.append(str(number))
    axes.set_xticks(ticks, names)


def draw_chains_of_image(axes: "Axes", labels: Sequence[str], side: Literal["x", "y"]) -> None:
    """Draw lines between the chains of residues ("A:MET1") along one side of an image."""
    chains = [label.partition(":")[0] if label.count(":") == 1 else "" for label in labels]
    draw = axes.axvline if side == "x" else axes.axhline
    for k in range(1, len(chains)):
        if chains[k] != chains[k - 1]:
            draw(k - 0.5, color="0.2", linewidth=0.8)


def round_step(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, … that is not smaller."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10


def name_elements(axes: "Axes", places: Places, labels: Sequence[str]) -> None:
    """Name some of the elements of each chain below the x axis, at equal steps."""
    n = len(labels)
    step = round_step(n / _MOST_TICKS) if n > _MOST_TICKS else 1
    ticks = [k for part in places.parts for k in range(part.start, part.stop, step)]
    axes.set_xticks(places.x[ticks], [shortened(labels[k], LONGEST_TICK) for k in ticks])
    longest = max((len(labels[k]) for k in ticks), default=0) + _BETWEEN
    if len(ticks) * longest * character_inches() > width_of(axes):
        for text in axes.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
