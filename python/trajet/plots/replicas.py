"""Figures of means over replicas, and of differences of two groups of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    draw_band,
    finish,
    label_axes,
    line_width,
    marker_size,
    panels_of,
    shortened,
    show_range,
    whole_ticks,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.residues import name_ticks
from trajet.plots.shared_axes import PS_PER_NS, lowest_value, reveal, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Units of the names of columns, as on the axis of a figure.
_UNITS = {"A": "Å", "A2": "Å²", "A3": "Å³", "degrees": "degrees", "ps": "ps", "fraction": ""}
# Words of names of columns that have capitals in figures.
_CAPITALS = {"rmsd": "RMSD", "rmsf": "RMSF", "msd": "MSD", "sasa": "SASA", "rg": "Rg", "q": "Q"}
# Colours of a difference, and of what is significant: groups have others.
CHANGE, MARKED = "0.35", "black"
# Most significant points that are drawn large.
_MAX_LARGE = 40
# Width of the points of one group beside one another, as a part of the distance of two names.
_SPREAD = 0.5


@dataclass(frozen=True)
class ReplicaCurve:
    """The replicas of one group, for a figure.

    Attributes
    ----------
    label
        Name of the group.
    x
        `(n,)`, position of each number along the x axis.
    replicas
        `(n_replicas, n)`.
    mean, half_width
        `(n,)`: mean, and half of its interval; NaN if there is none.
    """

    label: str
    x: NDArray[np.float64]
    replicas: NDArray[np.float64]
    mean: NDArray[np.float64]
    half_width: NDArray[np.float64]


def quantity_and_unit(name: str) -> tuple[str, str]:
    """Return words and unit of the name of a column, without its label: "rmsf_A" as "rmsf", "Å"."""
    whole = name.partition(":")[0]
    stem, _, unit = whole.rpartition("_")
    if not stem or unit not in _UNITS:
        stem, unit = whole, ""
    return stem.replace("_", " "), _UNITS.get(unit, "")


def column_label(name: str) -> str:
    """Return the name of a column as a label: "rmsf_A" as "RMSF (Å)"."""
    unit = quantity_and_unit(name)[1]
    return f"{_words(name)} ({unit})" if unit else _words(name)


def _words(name: str) -> str:
    """Return the words of the name of a column, with capitals: "rmsf_A" as "RMSF"."""
    words = quantity_and_unit(name)[0]
    return " ".join(_CAPITALS.get(word, word) for word in words.split(" "))


@dataclass(frozen=True)
class ReplicaPanel:
    """The numbers of one quantity, which are drawn in a panel of their own.

    Attributes
    ----------
    name
        Name of the quantity, above one of several panels.
    quantity, x_label
        Labels of the axes.
    curves
        The groups.
    names
        Names of the numbers, which then are points with bars, groups side by side; else None.
    """

    name: str
    quantity: str
    x_label: str
    curves: Sequence[ReplicaCurve]
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class DifferencePanel:
    """The differences of one quantity, which are drawn in a panel of their own.

    Attributes
    ----------
    name, quantity, x_label, names
        See `ReplicaPanel`.
    x
        `(n,)`, position of each difference along the x axis.
    difference, half_width, is_significant
        `(n,)`.
    """

    name: str
    quantity: str
    x_label: str
    x: NDArray[np.float64]
    difference: NDArray[np.float64]
    half_width: NDArray[np.float64]
    is_significant: NDArray[np.bool_]
    names: Sequence[str] | None = None


def replica_means(
    panels: Sequence[ReplicaPanel], *, note: str, ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw replicas as thin lines, and means with their intervals as bands.

    Parameters
    ----------
    panels
        The quantities, one if `ax` is given.
    note
        Title of the legend.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _replica_panel(axes, panel, look)
    names, has_legend = [panel.name for panel in panels], len(panels[0].curves) > 1 or bool(note)
    return finish(drawn, ax, look, names=names, has_legend=has_legend, note=note)


def _replica_panel(axes: "Axes", panel: ReplicaPanel, look: Look) -> None:
    """Draw the groups of one quantity."""
    curves = panel.curves
    colours = look.colours_of([curve.label for curve in curves])
    labels = look.names([curve.label for curve in curves])
    x_label, per_unit = _take_x(axes, panel)
    for k, (curve, colour) in enumerate(zip(curves, colours, strict=True)):
        n = len(curve.replicas)
        label = shortened(f"{labels[k]} ({n} replica{'s' * (n > 1)})")
        half_width = look.intervals(curve.mean, curve.half_width, None)
        if panel.names is not None:
            shift = _SPREAD * ((k + 0.5) / len(curves) - 0.5)
            _points(axes, curve, half_width, colour, label, shift)
            continue
        x = curve.x / per_unit
        for values in curve.replicas:
            axes.plot(x, values, color=colour, linewidth=line_width(0.5), alpha=0.45)
        draw_band(axes, x, curve.mean, half_width, colour)
        reveal(axes, "x", x)
        axes.plot(x, curve.mean, color=colour, linewidth=line_width(1.6), label=label)
        axes.margins(x=0)
    _show_replicas(axes, curves)
    _name_x(axes, panel)
    label_axes(axes, x_label, panel.quantity)


def _name_x(axes: "Axes", panel: ReplicaPanel | DifferencePanel) -> None:
    """Name the numbers below the x axis, or let residues have whole numbers."""
    if panel.names is not None:
        _name(axes, panel.names)
    elif panel.x_label == "residue":
        whole_ticks(axes.xaxis)


def _take_x(axes: "Axes", panel: ReplicaPanel | DifferencePanel) -> tuple[str, float]:
    """Return the label of the x axis and the unit of its numbers in theirs; see `take_unit`."""
    if panel.names is not None:
        take_unit(axes, ("names", *panel.names), "quantities")
        return panel.x_label, 1.0
    if panel.x_label == "atom":
        curves = panel.curves if isinstance(panel, ReplicaPanel) else [panel]
        take_unit(axes, ("atoms", *(curve.x.tobytes() for curve in curves)), "atoms")
        return panel.x_label, 1.0
    stem, _, unit = panel.x_label.removesuffix(")").rpartition(" (")
    taken = take_unit(axes, unit if stem else panel.x_label, panel.x_label)
    return (f"{stem} (ns)", PS_PER_NS) if (unit, taken) == ("ps", "ns") else (panel.x_label, 1.0)


def _show_replicas(axes: "Axes", curves: Sequence[ReplicaCurve]) -> None:
    """Let the y axis show all replicas, and bands as far as replicas could be.

    Bands of quantities that cannot be negative may be.
    """
    values = np.concatenate([curve.replicas.ravel() for curve in curves])
    show_range(axes, values)
    finite = values[np.isfinite(values)]
    if finite.size and lowest_value(axes) >= 0 > axes.get_ylim()[0]:
        axes.set_ylim(bottom=0.0, auto=None)


def replica_difference(
    panels: Sequence[DifferencePanel],
    *,
    note: str,
    n_tests: int,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw differences with their intervals; significant ones are marked.

    No colour is that of a group.

    Parameters
    ----------
    panels
        The quantities, one if `ax` is given.
    note
        Title of the legend.
    n_tests
        Number of tests for which probabilities are corrected.
    """
    drawn = panels_of(ax, len(panels))
    marked = "p < 0.05, corrected" if n_tests > 1 else "p < 0.05"
    for axes, panel in zip(drawn, panels, strict=True):
        _difference_panel(axes, panel, marked, look)
    has_legend = any(one.is_significant.any() for one in panels) or bool(note)
    names = [panel.name for panel in panels]
    return finish(drawn, ax, look, names=names, has_legend=has_legend, note=note)


def _difference_panel(axes: "Axes", panel: DifferencePanel, marked: str, look: Look) -> None:
    """Draw the differences of one quantity; the significant ones are `marked` in the legend."""
    x_label, per_unit = _take_x(axes, panel)
    x, difference = panel.x / per_unit, panel.difference
    half_width = look.intervals(difference, panel.half_width, None)
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    colour = CHANGE if look.color is None else look.colours(1)[0]
    (name,) = look.names([""])
    if panel.names is None:
        draw_band(axes, x, difference, half_width, colour)
        axes.plot(x, difference, color=colour, linewidth=line_width(1.2), label=shortened(name))
        axes.margins(x=0.01)
    else:
        _draw_points(axes, x, difference, half_width, colour, "o", shortened(name))
    _name_x(axes, panel)
    known = panel.is_significant
    axes.plot(
        x[known],
        difference[known],
        linestyle="",
        marker="o",
        markersize=marker_size(6 if known.sum() <= _MAX_LARGE else 3),
        color=MARKED,
        label=marked,
        zorder=3,
    )
    label_axes(axes, x_label, panel.quantity)


def _points(
    axes: "Axes",
    curve: ReplicaCurve,
    half_width: NDArray[np.float64],
    colour: str,
    label: str,
    shift: float,
) -> None:
    """Draw the numbers of each replica as small points, and means with bars."""
    x = curve.x + shift
    for values in curve.replicas:
        size = marker_size(4)
        axes.plot(x, values, linestyle="", marker="o", markersize=size, color=colour, alpha=0.4)
    _draw_points(axes, x, curve.mean, half_width, colour, "D", label)


def _draw_points(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    half_width: NDArray[np.float64],
    colour: str,
    marker: str,
    label: str,
) -> None:
    """Draw numbers as points, with bars where intervals are known."""
    axes.errorbar(
        x,
        y,
        np.nan_to_num(half_width),
        color=colour,
        fmt=marker,
        markersize=marker_size(6),
        elinewidth=line_width(1.2),
        capsize=marker_size(3),
        label=label,
    )


def _name(axes: "Axes", names: Sequence[str]) -> None:
    """Name some of the numbers below the x axis, at equal steps."""
    # Of "rmsf_A:31_rows" the part behind the quantity, which the y axis has with its unit.
    parts = [name.partition(":")[2].replace("_", " ") for name in names]
    most = 24 if len(names) > 2 else 60
    shown = [shortened(part or _words(name), most) for part, name in zip(parts, names, strict=True)]
    # A single quantity has its name beside the y axis.
    known = [] if parts == [""] else shown
    name_ticks(axes.xaxis, range(len(known)), known)
    axes.set_xlim(-0.5 - _SPREAD / 2, len(names) - 0.5 + _SPREAD / 2)
