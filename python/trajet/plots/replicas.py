"""Figures of means over replicas, and of differences of two groups of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    bare,
    entitle,
    figure_of,
    height_of,
    legend_of,
    line_width,
    panels_of,
    shortened,
    show_range,
    wrapped,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.shared_axes import PS_PER_NS, lowest_value, reveal, shared_label, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Units of the names of columns, as on the axis of a figure.
_UNITS = {"A": "Å", "A2": "Å²", "A3": "Å³", "degrees": "degrees", "ps": "ps", "fraction": ""}
# Words of names of columns that have capitals in figures.
_CAPITALS = {"rmsd": "RMSD", "rmsf": "RMSF", "msd": "MSD", "sasa": "SASA", "rg": "Rg", "q": "Q"}
# Colours of a difference, and of what is significant: groups have others.
_CHANGE, _MARKED = "0.35", "black"
# Most significant points that are drawn large.
_MOST_LARGE = 40
# Most names beside the x axis.
_MOST_NAMES = 12
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
    panels: Sequence[ReplicaPanel],
    *,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw replicas as thin lines, and means with their intervals as bands.

    Parameters
    ----------
    panels
        The quantities, one if `ax` is given.
    title
        Title of the figure.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _replica_panel(axes, panel, look)
    bands = f"{'bands' if panels[0].names is None else 'bars'}: 95 % between replicas"
    entitle(drawn, [panel.name for panel in panels], look.title(title), ax, words=bands)
    legend_of(drawn[0], ax)
    return figure_of(drawn[0])


def _replica_panel(axes: "Axes", panel: ReplicaPanel, look: Look) -> None:
    """Draw the groups of one quantity."""
    curves = panel.curves
    colours = look.colours_of([curve.label for curve in curves])
    labels = look.names([curve.label for curve in curves])
    x_label, per_unit = _take_x(axes, panel)
    for k, (curve, colour) in enumerate(zip(curves, colours, strict=True)):
        n = len(curve.replicas)
        label = shortened(f"{labels[k]} ({n} replica{'s' * (n > 1)})")
        if panel.names is not None:
            shift = _SPREAD * ((k + 0.5) / len(curves) - 0.5)
            _points(axes, curve, colour, label, shift)
            continue
        x = curve.x / per_unit
        for values in curve.replicas:
            axes.plot(x, values, color=colour, linewidth=line_width(0.5), alpha=0.45)
        low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        reveal(axes, "x", x)
        axes.plot(x, curve.mean, color=colour, linewidth=line_width(1.6), label=label)
        axes.margins(x=0)
    if panel.names is not None:
        _name(axes, panel.names)
    _show_replicas(axes, curves)
    axes.set_xlabel(shared_label(axes, "x", x_label))
    axes.set_ylabel(wrapped(shared_label(axes, "y", panel.quantity), height_of(axes)))
    bare(axes)


def _take_x(axes: "Axes", panel: ReplicaPanel | DifferencePanel) -> tuple[str, float]:
    """Return the label of the x axis and the unit of its numbers in theirs; see `take_unit`."""
    if panel.names is not None:
        take_unit(axes, ("names", *panel.names), "quantities")
        return panel.x_label, 1.0
    if panel.x_label.startswith("atom "):
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
    title: str,
    n_replicas: tuple[int, int],
    n_tests: int,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw differences with their intervals; significant ones are marked.

    The title has the numbers of replicas and of tests for which probabilities are corrected. No
    colour is that of a group.

    Parameters
    ----------
    panels
        The quantities, one if `ax` is given.
    """
    drawn = panels_of(ax, len(panels))
    marked = f"p < 0.05, corrected for {n_tests} tests" if n_tests > 1 else "p < 0.05"
    for axes, panel in zip(drawn, panels, strict=True):
        _difference_panel(axes, panel, marked, look)
    counts = f"n = {n_replicas[0]} and {n_replicas[1]} replicas"
    entitle(drawn, [panel.name for panel in panels], look.only_title(title), ax, words=counts)
    # Only some panels may have significant differences.
    first = next((k for k, one in enumerate(panels) if one.is_significant.any()), 0)
    legend_of(drawn[first], ax)
    return figure_of(drawn[0])


def _difference_panel(axes: "Axes", panel: DifferencePanel, marked: str, look: Look) -> None:
    """Draw the differences of one quantity; the significant ones are `marked` in the legend."""
    x_label, per_unit = _take_x(axes, panel)
    x, difference, half_width = panel.x / per_unit, panel.difference, panel.half_width
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    colour = _CHANGE if look.color is None else look.colours(1)[0]
    interval = "95 % by Welch's t"
    if panel.names is None:
        low, high = difference - half_width, difference + half_width
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0, label=interval)
        axes.plot(x, difference, color=colour, linewidth=line_width(1.2))
        axes.margins(x=0)
    else:
        axes.errorbar(x, difference, half_width, color=colour, fmt="o", capsize=3, label=interval)
        _name(axes, panel.names)
    known = panel.is_significant
    if known.any():
        axes.plot(
            x[known],
            difference[known],
            linestyle="",
            marker="o",
            markersize=5 if known.sum() <= _MOST_LARGE else 2.5,
            color=_MARKED,
            label=marked,
            zorder=3,
        )
    axes.set_xlabel(shared_label(axes, "x", x_label))
    label = shared_label(axes, "y", f"change of {panel.quantity}")
    axes.set_ylabel(wrapped(label, height_of(axes)))
    bare(axes)


def _points(axes: "Axes", curve: ReplicaCurve, colour: str, label: str, shift: float) -> None:
    """Draw the numbers of each replica as small points, and means with bars."""
    x = curve.x + shift
    for values in curve.replicas:
        axes.plot(x, values, linestyle="", marker="o", markersize=3, color=colour, alpha=0.4)
    half = np.where(np.isfinite(curve.half_width), curve.half_width, 0)
    axes.errorbar(x, curve.mean, half, color=colour, fmt="D", markersize=5, capsize=4, label=label)


def _name(axes: "Axes", names: Sequence[str]) -> None:
    """Name some of the numbers below the x axis."""
    ticks = np.unique(np.linspace(0, len(names) - 1, min(len(names), _MOST_NAMES)).astype(int))
    # Of "rmsf_A:31_rows" the part behind the quantity, which the y axis has with its unit.
    shown = [names[k].partition(":")[2].replace("_", " ") or _words(names[k]) for k in ticks]
    axes.set_xticks(ticks, [shortened(name, 24 if len(names) > 2 else 60) for name in shown])
    if len(names) > 3:
        for text in axes.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.5 - _SPREAD / 2, len(names) - 0.5 + _SPREAD / 2)
