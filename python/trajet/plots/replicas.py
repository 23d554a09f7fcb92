"""Figures of means over replicas, and of differences of two groups of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    axes_of,
    bare,
    colours_of,
    figure_of,
    height_of,
    legend_of,
    shortened,
    titled,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Units of the names of columns, as on the axis of a figure.
_UNITS = {"A": "Å", "A2": "Å²", "A3": "Å³", "degrees": "degrees", "ps": "ps", "fraction": ""}
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
    """Return the name of a column as a label: "rmsf_A" as "rmsf (Å)"."""
    words, unit = quantity_and_unit(name)
    return f"{words} ({unit})" if unit else words


def replica_means(
    curves: Sequence[ReplicaCurve],
    *,
    x_label: str,
    quantity: str,
    title: str,
    names: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw replicas as thin lines, and means with their intervals as bands.

    Parameters
    ----------
    curves
        The groups.
    x_label, quantity, title
        Labels of the axes, and title of the figure.
    names
        Names of the numbers, which then are points with bars, groups side by side.
    ax
        Axes to draw into; None for a figure of its own.
    """
    axes = axes_of(ax, (8.0, 4.0))
    colours = colours_of([curve.label for curve in curves])
    for k, (curve, colour) in enumerate(zip(curves, colours, strict=True)):
        n = len(curve.replicas)
        label = shortened(f"{curve.label} ({n} replica{'s' * (n > 1)})")
        if names is not None:
            shift = _SPREAD * ((k + 0.5) / len(curves) - 0.5)
            _points(axes, curve, colour, label, shift)
            continue
        for values in curve.replicas:
            axes.plot(curve.x, values, color=colour, linewidth=0.5, alpha=0.45)
        low, high = curve.mean - curve.half_width, curve.mean + curve.half_width
        axes.fill_between(curve.x, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(curve.x, curve.mean, color=colour, linewidth=1.6, label=label)
        axes.margins(x=0)
    if names is not None:
        _name(axes, names)
    axes.set_xlabel(x_label)
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    titled(axes, f"{title}; {'bands' if names is None else 'bars'}: 95 % between replicas")
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def replica_difference(
    x: NDArray[np.float64],
    difference: NDArray[np.float64],
    half_width: NDArray[np.float64],
    is_significant: NDArray[np.bool_],
    *,
    x_label: str,
    quantity: str,
    title: str,
    n_replicas: tuple[int, int],
    n_tests: int,
    names: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw differences (`(n,)`) with their intervals; significant ones are marked.

    The title has the numbers of replicas and of tests for which probabilities are corrected. No
    colour is that of a group.
    """
    axes = axes_of(ax, (8.0, 4.0))
    axes.axhline(0.0, color="0.4", linewidth=0.8)
    interval = "95 % by Welch's t"
    if names is None:
        low, high = difference - half_width, difference + half_width
        axes.fill_between(x, low, high, color=_CHANGE, alpha=0.2, linewidth=0, label=interval)
        axes.plot(x, difference, color=_CHANGE, linewidth=1.2)
        axes.margins(x=0)
    else:
        axes.errorbar(x, difference, half_width, color=_CHANGE, fmt="o", capsize=3, label=interval)
        _name(axes, names)
    if is_significant.any():
        axes.plot(
            x[is_significant],
            difference[is_significant],
            linestyle="",
            marker="o",
            markersize=5 if is_significant.sum() <= _MOST_LARGE else 2.5,
            color=_MARKED,
            label=f"p < 0.05, corrected for {n_tests} tests" if n_tests > 1 else "p < 0.05",
            zorder=3,
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(wrapped(f"change of {quantity}", height_of(axes)))
    titled(axes, f"{title}; n = {n_replicas[0]} and {n_replicas[1]} replicas")
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


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
    # Of "rmsf_A:31_rows" the part behind the quantity, which the y axis has.
    shown = [(names[k].partition(":")[2] or names[k]).replace("_", " ") for k in ticks]
    axes.set_xticks(ticks, [shortened(name, 24 if len(names) > 2 else 60) for name in shown])
    if len(names) > 3:
        for text in axes.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlim(-0.5 - _SPREAD / 2, len(names) - 0.5 + _SPREAD / 2)
