"""Values of residues and atoms along an axis, with chains apart from one another."""

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import ResultAxis
from trajet.plots.drawing import (
    LONGEST_TICK,
    axes_of,
    begin_at_zero,
    character_inches,
    colours_in,
    draw_band,
    draw_bars,
    figure_of,
    finish,
    inches_of,
    label_axes,
    line_width,
    shortened,
    show_range,
    turn_ticks,
    whole_ticks,
    width_of,
)
from trajet.plots.look import Look
from trajet.plots.shared_axes import note_values, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Gap between two chains, as a part of all elements.
_GAP = 0.02
# Most numbers beside an axis.
_MAX_NUMBERS = 10
# Height of a line of text beside an axis, or its width if it is turned, in characters.
_LINE = 2.5
# Space between two names, in characters.
_BETWEEN = 1.5
# What stands beside names on the left and below turned ones on an axis, in characters.
_BESIDE, _BELOW = 4.0, 2.6
# Characters of a name that are always shown.
_MIN_TICK = 8
# The name of a residue before its number, in a label.
_NAME = re.compile(r"(^|:)[A-Za-z]{3}(?=-?\d)")
# Least number of bars for which axes have room.
_FEW_BARS = 6
# Names that are so few are turned if that shows more of them.
_FEW_NAMES = 5
# Least number of residues whose atoms have their numbers.
_FEW_RESIDUES = 4
# Most chains that are named.
_MAX_CHAINS = 12


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
        `(n,)`, residue numbers, if these have the positions.
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
        if self.residues is None or not self.chains:
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
        return Places(x, parts, names, residues)
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


def along(
    elements: ResultAxis,
    values: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    *,
    quantity: str,
    is_bars: bool,
    ax: "Axes | None",
    look: Look,
    by_name: bool = False,
    highest: float | None = None,
) -> "Figure":
    """Draw one value per residue or atom (`(n,)`) as a line or as bars, with known intervals.

    The x axis has residue numbers if each residue has one value and the numbers increase within
    each chain; otherwise it has the names of some elements. Chains are apart from one another.

    Parameters
    ----------
    elements
        The residues or atoms.
    half_widths
        `(n,)`, longer sides of the intervals, NaN where none is drawn.
    by_name
        Whether the x axis has names, whatever the numbers. If there is no room for all, values of 0
        are left out.
    highest
        The largest value that there can be, at which bars and intervals end; None for none.
    """
    axes = axes_of(ax, (8.0, 4.0))
    inches = width_of(axes)
    names = elements.labels() if by_name else []
    if len(fitting(axes.xaxis, names, inches)[0]) < len(names) and values.any():
        seen = values != 0
        elements = elements.some(seen)
        values, half_widths = values[seen], half_widths[seen]
    columns = elements.columns
    numbers, chains = columns.get("resid"), columns.get("chain")
    of_chains = None if chains is None else chains.astype(np.str_).tolist()
    labels = elements.without_chains()[1] if "label" in columns else [""] * len(values)
    residues = None if numbers is None else numbers.astype(np.int64)
    by_number = None if by_name else places_of_residues(residues, of_chains)
    places = by_number or places_of(len(values), of_chains)
    of = "several chains" if places.chains else "a chain"
    shown = f"residue numbers of {of}" if by_number else f"{elements.kind} of {of}"
    take_unit(axes, places.unit(None if by_number else labels), shown)
    (colour,), (name,) = colours_in(axes, look, 1), look.names([""])
    if is_bars:
        draw_bars(axes, places.x, values, half_widths, colour, name)
    for k, part in enumerate([] if is_bars else places.parts):
        x, y = places.x[part], values[part]
        label = shortened(name) if k == 0 and name else None
        marker = "o" if len(y) == 1 else None
        axes.plot(x, y, color=colour, linewidth=line_width(1.2), label=label, marker=marker)
        draw_band(axes, x, y, half_widths[part], colour)
    _draw_chains(axes, places)
    if by_name:
        # Few bars are no wider than others, if there is room for their names.
        room = room_for(0.93 * inches, max(map(len, labels), default=0) + _BETWEEN)
        beside = 0.6 + max(0.0, (min(_FEW_BARS, room) - len(values)) / 2)
        inches *= (np.ptp(places.x) + 1) / (np.ptp(places.x) + 2 * beside)
    is_named = by_name and elements.kind != "numbers"
    x_label = "" if is_named else "residue" if by_number else _kind(elements, labels)
    if is_bars or by_number is None or places.chains:
        has_names = not by_number or is_bars
        if name_places(axes.xaxis, elements, inches, places, has_names=has_names):
            x_label = numbered(x_label)
    else:
        whole_ticks(axes.xaxis)
    label_axes(axes, x_label, quantity)
    axes.margins(x=0.01)
    if by_name:
        axes.set_xlim(places.x[0] - beside, places.x[-1] + beside)
    note_values(axes, values)
    if is_bars:
        begin_at_zero(axes)
        if highest is not None:
            axes.set_ylim(top=highest)
    else:
        show_range(axes, values)
    return finish(axes, ax, look, has_grid=not is_bars, half_widths=half_widths)


def _kind(elements: ResultAxis, labels: Sequence[str]) -> str:
    """Return what elements are, with the residue that atoms have in common: "atom of ALA1"."""
    if elements.kind == "numbers":
        return "neighbours"
    kind, owners = elements.kind.removesuffix("s"), {label.rpartition(":")[0] for label in labels}
    has_owner = kind == "atom" and len(owners) == 1 and "" not in owners
    return f"{kind} of {owners.pop()}" if has_owner else kind


def _draw_chains(axes: "Axes", places: Places) -> None:
    """Draw lines between chains, and write their names at the top."""
    if not places.chains:
        return
    ends = [(places.x[part][0], places.x[part][-1]) for part in places.parts]
    for (_, last), (first, _) in pairwise(ends):
        axes.axvline((last + first) / 2, color="0.7", linewidth=0.8, zorder=0.5)
    if len(ends) > _MAX_CHAINS:
        return
    for (first, last), name in zip(ends, places.chains, strict=True):
        axes.annotate(
            shortened(name, LONGEST_TICK),
            ((first + last) / 2, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, -2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="small",
            color="0.3",
        )


def draw_chains_of_image(axes: "Axes", elements: ResultAxis, side: Literal["x", "y"]) -> None:
    """Draw lines between the chains of residues along one side of an image."""
    chains = elements.without_chains()[0] if elements.kind == "residues" else None
    draw = axes.axvline if side == "x" else axes.axhline
    for part in _parts(len(elements), chains)[0][1:]:
        draw(part.start - 0.5, color="0.2", linewidth=0.8)


def name_places(
    axis: "Axis",
    elements: ResultAxis,
    inches: float,
    places: Places | None = None,
    *,
    has_names: bool = True,
) -> bool:
    """Name residues, atoms or groups along an axis of this length, at equal steps.

    All have their names if there is room, if need be turned. Otherwise residues have ticks at round
    numbers, as have the first atoms of residues.

    Parameters
    ----------
    places
        Their positions, where the names of chains are seen; None for 0, 1, ….
    has_names
        Whether residues may have their names; else they have numbers.

    Returns
    -------
    bool
        Whether ticks have numbers of residues; see `numbered`.
    """
    n, columns = len(elements), elements.columns
    has_labels = places is None or "label" in columns
    chains, labels = elements.without_chains() if has_labels else (None, [""] * n)
    if len({*(chains or ())}) < 2 or places is not None:
        chains = None
    elif has_names:
        labels = elements.labels()
    labels = _short(elements, labels)
    at, is_turned = fitting(axis, labels, inches)
    numbers = columns.get("resid") if elements.kind == "residues" else None
    if places is not None:
        numbers = places.residues
    first, is_seen = np.arange(n), len(at) == n and not is_turned
    if numbers is None and elements.kind == "atoms" and "resid" in columns:
        first, is_seen = _first_atoms(elements), len(at) == n
        numbers = columns["resid"] if len(first) >= _FEW_RESIDUES else None
    is_numbered = numbers is not None and not (is_seen and has_names and _fits(axis, labels))
    if is_numbered and numbers is not None:
        of = numbers.astype(np.int64)
        labels = list(map(str, of.tolist()))
        if chains is not None:
            labels = [f"{chain}:{number}" for chain, number in zip(chains, labels, strict=True)]
        # As many beside an upright axis as below another one: both sides of a map are alike.
        room = room_for(inches, max(map(len, labels), default=0) + _BETWEEN)
        step = round_step(len(first) / min(_MAX_NUMBERS, room))
        at, is_turned = first[of[first] % step == 0].tolist(), False
    elif len(at) < n and elements.kind == "residues" and "resid" in columns:
        # Not all are round: residues are out of order, or some are left out.
        every = list(map(str, columns["resid"].astype(np.int64).tolist()))
        if is_numbered := fitting(axis, every, inches) == ([*range(n)], False):
            labels, at = every, list(range(n))
    x = np.arange(n) if places is None else places.x
    axis.set_ticks(x[at], [shortened(labels[k], _longest(axis)) for k in at])
    if is_turned:
        turn_ticks(axis)
    return is_numbered


def name_ticks(axis: "Axis", x: Sequence[float], names: Sequence[str]) -> None:
    """Write names at places along the x axis, or some of them if there is no room for all."""
    at, is_turned = fitting(axis, names, width_of(axis.axes))
    axis.set_ticks([x[k] for k in at], [names[k] for k in at])
    if is_turned:
        turn_ticks(axis)


def numbered(label: str) -> str:
    """Return the label of an axis whose ticks have numbers of residues."""
    return re.sub("^atom", "atoms of residue", label) or "residue"


def has_room(axis: "Axis", elements: ResultAxis, inches: float) -> bool:
    """Return whether the names of all elements fit beside an axis of this length, not turned."""
    labels = _short(elements, elements.labels())
    return fitting(axis, labels, inches) == ([*range(len(labels))], False) and _fits(axis, labels)


def fitting(axis: "Axis", names: Sequence[str], inches: float) -> tuple[list[int], bool]:
    """Return which of these names fit beside an axis of this length, and whether they are turned.

    They are all, or some at equal steps.
    """
    n, longest = len(names), min(max(map(len, names), default=0), LONGEST_TICK)
    is_upright = axis is axis.axes.yaxis
    room = room_for(inches, _LINE if is_upright else longest + _BETWEEN)
    turned = 0
    if not is_upright and longest / np.sqrt(2) + _BELOW <= _beside(axis):
        turned = room_for(inches, _LINE)
    is_turned = room < min(n, turned) and (n <= turned or room < _FEW_NAMES)
    return list(range(0, n, -(-n // (turned if is_turned else room)) or 1)), is_turned


def room_for(inches: float, characters: float) -> int:
    """Return how many names of so many characters fit along an axis, at least one."""
    return max(1, int(inches / character_inches("xtick.labelsize") / characters))


def _beside(axis: "Axis") -> float:
    """Return the characters for which there is room on the left of or below an axis.

    Layout engines make room for all.
    """
    figure, box = figure_of(axis.axes), axis.axes.get_position(original=True)
    if figure.get_layout_engine() is not None:
        return math.inf
    # Other axes are on the left or below if they end there and lie side by side with these.
    side = 0 if axis is axis.axes.yaxis else 1
    (low, high), size = box.get_points(), inches_of(figure)
    others = [one.get_position(original=True).get_points() for one in figure.axes]
    ends = [
        end[side]
        for begin, end in others
        if end[side] <= low[side]
        and begin[1 - side] < high[1 - side]
        and low[1 - side] < end[1 - side]
    ]
    inches = (low[side] - max(ends, default=0.0)) * size[side]
    return float(inches / character_inches("xtick.labelsize"))


def _longest(axis: "Axis") -> int:
    """Return the most characters of a name beside an axis."""
    if axis is not axis.axes.yaxis:
        return LONGEST_TICK
    return int(min(LONGEST_TICK, max(_MIN_TICK, _beside(axis) - _BESIDE)))


def _fits(axis: "Axis", names: Sequence[str]) -> bool:
    """Return whether there is room for the names of an upright axis, and its label, beside it."""
    return axis is not axis.axes.yaxis or max(map(len, names), default=0) <= _beside(axis) - _BESIDE


def _short(elements: ResultAxis, labels: list[str]) -> list[str]:
    """Return labels of atoms without the residue, or without the name, that all of them share."""
    if elements.kind != "atoms" or len(labels) < 2:
        return labels
    residues, _, names = zip(*(label.rpartition(":") for label in labels), strict=True)
    if all(residues) and len({*names}) == 1:
        return list(residues)
    return list(names) if len({*residues}) == 1 else labels


def _first_atoms(elements: ResultAxis) -> NDArray[np.int64]:
    """Return the first atom of each residue."""
    known = [elements.columns[name] for name in ("chain", "resid") if name in elements.columns]
    changed = np.any([column[1:] != column[:-1] for column in known], axis=0)
    return np.flatnonzero(np.append(True, changed))


def round_step(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, … that is not smaller."""
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= least:
                return factor * power
        power *= 10
