"""Figures of the runs of an ensemble: overlays against time, and violins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    COLOURS,
    LINES,
    PS_PER_NS,
    abscissa,
    axes_of,
    bare,
    colours_of,
    figure_of,
    height_of,
    legend_of,
    line,
    shortened,
    show_range,
    titled,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

# Most runs that the legend of an overlay names; of more it names the groups.
_MOST_NAMED = 12
# Most values of a run from which a violin is made.
_MOST_VALUES = 20_000
# Names of violins are turned from this number on.
_TURNED_FROM = 7


@dataclass(frozen=True)
class Run:
    """Values of one run, for a figure.

    Attributes
    ----------
    group, name
        The group, and the name of the run within it.
    values, times, frames
        `(n_frames,)`; times in ps.
    """

    group: str
    name: str
    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]


@dataclass(frozen=True)
class GroupInterval:
    """Mean of a group over its replicas, and half of its 95 % interval; NaN if there is none."""

    group: str
    mean: float
    half_width: float


def overlay(
    runs: Sequence[Run], *, quantity: str, title: str, ax: "Axes | None" = None
) -> "Figure":
    """Draw all runs against time, groups in their colours, replicas in different lines.

    One group has a colour for each run.
    """
    axes = axes_of(ax, (8.0, 4.0))
    groups = list(dict.fromkeys(run.group for run in runs))
    is_named = len(runs) <= _MOST_NAMED
    colours = (
        colours_of([run.group for run in runs])
        if len(groups) > 1
        else [COLOURS[k % len(COLOURS)] for k in range(len(runs))]
    )
    xs, x_label = _abscissas(runs)
    seen: dict[str, int] = {}
    for run, x, colour in zip(runs, xs, colours, strict=True):
        number = seen[run.group] = seen.get(run.group, -1) + 1
        label = shortened(_label(run)) if is_named else shortened(run.group) if not number else ""
        style = LINES[number % len(LINES)] if is_named and len(groups) > 1 else "-"
        line(axes, x, run.values, label, colour, style)
    show_range(axes, axes.lines[-1], np.concatenate([run.values for run in runs]))
    axes.set_xlabel(x_label)
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    titled(axes, title)
    axes.margins(x=0)
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def violins(
    runs: Sequence[Run],
    intervals: Sequence[GroupInterval],
    *,
    x_label: str,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the distribution and the mean of each run, and the means of groups with intervals.

    Parameters
    ----------
    runs
        The runs; those of a group stand side by side.
    intervals
        The groups, in order.
    x_label, quantity, title
        Labels of the axes, and title.
    ax
        Axes to draw into; None for a figure of its own.
    """
    axes = axes_of(ax, (8.0, 4.0))
    colours = colours_of([one.group for one in intervals])
    names: list[str] = []
    place = 0.0
    ticks: list[float] = []
    for interval, colour in zip(intervals, colours, strict=True):
        own = [run for run in runs if run.group == interval.group]
        places = place + np.arange(len(own))
        for run, x in zip(own, places.tolist(), strict=True):
            _violin(axes, run.values, x, colour)
        ends = [places[0] - 0.45, places[-1] + 0.45]
        if np.isfinite(interval.half_width):
            low, high = (interval.mean + sign * interval.half_width for sign in (-1, 1))
            axes.fill_between(ends, low, high, color=colour, alpha=0.2, linewidth=0, zorder=0.9)
        n = len(own)
        label = shortened(f"{interval.group} ({n} replica{'s' * (n > 1)})")
        axes.plot(ends, [interval.mean] * 2, color=colour, linewidth=1.6, label=label, zorder=3)
        names += [run.name for run in own]
        ticks += places.tolist()
        place = places[-1] + 1.5
    axes.set_xticks(ticks, [shortened(name, 24) for name in names])
    if len(names) >= _TURNED_FROM and any(len(name) > 3 for name in names):
        for text in axes.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlabel(x_label)
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    titled(axes, f"{title}; bands: 95 % between replicas; points: means of runs")
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def _violin(axes: "Axes", values: NDArray[np.float64], x: float, colour: str) -> None:
    """Draw the distribution of some values and their mean; of a constant the mean alone."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    if np.ptp(finite) > 0:
        some = finite[:: -(-len(finite) // _MOST_VALUES)]
        drawn = axes.violinplot([some], positions=[x], widths=0.8, showextrema=False)
        for body in cast("list[PolyCollection]", drawn["bodies"]):
            body.set(facecolor=colour, edgecolor=colour, alpha=0.35, linewidth=0.8)
    axes.plot([x], [finite.mean()], color=colour, marker="o", markersize=5, zorder=4)


def _label(run: Run) -> str:
    return ", ".join(filter(None, [run.group, run.name]))


def _abscissas(runs: Sequence[Run]) -> tuple[list[NDArray[np.float64]], str]:
    """Return the x values of all runs in one unit, and their label."""
    found = [abscissa(run.times, run.frames) for run in runs]
    labels = {label for _, label in found}
    if "frame" in labels:
        return [run.frames.astype(np.float64) for run in runs], "frame"
    if len(labels) == 1:
        return [x for x, _ in found], labels.pop()
    return [run.times / PS_PER_NS for run in runs], "time (ns)"
