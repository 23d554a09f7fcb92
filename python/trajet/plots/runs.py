"""Figures of the runs of an ensemble: overlays against time, and violins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    bare,
    entitle,
    figure_of,
    height_of,
    label_below,
    legend_of,
    line,
    line_width,
    panels_of,
    shortened,
    show_range,
    wrapped,
)
from trajet.plots.look import LINES, PLAIN, Look
from trajet.plots.shared_axes import (
    in_unit,
    label_of_times,
    shared_label,
    take_time_unit,
    take_unit,
    words_on_averages,
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


@dataclass(frozen=True)
class RunPanel:
    """One series of all runs, which is drawn in a panel of its own.

    Attributes
    ----------
    name, quantity
        Name of the series, and label of the y axis.
    runs
        The runs, whose values are those of this series.
    intervals
        The groups, in order, with the means of this series.
    """

    name: str
    quantity: str
    runs: Sequence[Run]
    intervals: Sequence[GroupInterval]


def overlay(
    panels: Sequence[RunPanel], *, title: str, ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw all runs against time, groups in their colours, replicas in different lines.

    One group has a colour for each run. Each series has a panel.

    Parameters
    ----------
    panels
        The series, one if `ax` is given. All have the same runs.
    title
        Title of the figure.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups, or of the runs if there is one group.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _overlay(axes, panel, look)
    entitle(drawn, [panel.name for panel in panels], look.title(title), ax)
    legend_of(drawn[0], ax)
    return figure_of(drawn[0])


def _overlay(axes: "Axes", panel: RunPanel, look: Look) -> None:
    """Draw a series of all runs."""
    runs = panel.runs
    groups = list(dict.fromkeys(run.group for run in runs))
    # Labels that users give for each run of one group are all shown.
    is_named = len(runs) <= _MOST_NAMED or (look.is_named and len(groups) == 1)
    if len(groups) > 1:
        colours = look.colours_of([run.group for run in runs])
        named = dict(zip(groups, look.names(groups), strict=True))
        labels = [_label(named[run.group], run.name) for run in runs]
    else:
        colours = look.colours(len(runs))
        labels = look.names([_label(run.group, run.name) for run in runs])
        named = dict.fromkeys(groups, groups[0])
    # Many runs of one group have colours of their own: the name of the group has none of them.
    is_alone = len(groups) == 1 and not is_named
    unit = take_time_unit(axes, [run.times for run in runs])
    xs = [in_unit(run.times, run.frames, unit) for run in runs]
    seen: dict[str, int] = {}
    smoothed = 1
    for run, x, colour, label in zip(runs, xs, colours, labels, strict=True):
        number = seen[run.group] = seen.get(run.group, -1) + 1
        shown = label if is_named else "" if number or is_alone else named[run.group]
        style = LINES[number % len(LINES)] if is_named and len(groups) > 1 else "-"
        width = line(axes, x, run.values, shortened(shown), colour, style, look=look)
        smoothed = max(smoothed, width)
    if is_alone and groups[0]:
        name = shortened(f"{groups[0]} ({len(runs)} runs)")
        axes.plot([], [], color="0.5", linewidth=line_width(1.2), label=name)
    show_range(axes, np.concatenate([run.values for run in runs]))
    x_label = shared_label(axes, "x", label_of_times(unit))
    label_below(axes, x_label + words_on_averages(axes, smoothed), "")
    axes.set_ylabel(wrapped(shared_label(axes, "y", panel.quantity), height_of(axes)))
    axes.margins(x=0)
    bare(axes)


def violins(
    panels: Sequence[RunPanel],
    *,
    x_label: str,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the distribution and the mean of each run, and the means of groups with intervals.

    Parameters
    ----------
    panels
        The series, one if `ax` is given; the runs of a group stand side by side.
    x_label, title
        Label of the x axis, and title.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _violins(axes, panel, look)
        axes.set_xlabel(x_label)
    words = "bands: 95 % between replicas; points: means of runs"
    entitle(drawn, [panel.name for panel in panels], look.title(title), ax, words=words)
    legend_of(drawn[0], ax)
    return figure_of(drawn[0])


def _violins(axes: "Axes", panel: RunPanel, look: Look) -> None:
    """Draw the distributions of a series of all runs."""
    groups = [one.group for one in panel.intervals]
    colours = look.colours_of(groups)
    runs = [f"{run.group} {run.name}" for run in panel.runs]
    take_unit(axes, ("runs", *runs), "runs")
    names: list[str] = []
    place = 0.0
    ticks: list[float] = []
    for interval, colour, group in zip(panel.intervals, colours, look.names(groups), strict=True):
        own = [run for run in panel.runs if run.group == interval.group]
        places = place + np.arange(len(own))
        for run, x in zip(own, places.tolist(), strict=True):
            _violin(axes, run.values, x, colour)
        ends = [places[0] - 0.45, places[-1] + 0.45]
        if np.isfinite(interval.half_width):
            low, high = (interval.mean + sign * interval.half_width for sign in (-1, 1))
            axes.fill_between(ends, low, high, color=colour, alpha=0.2, linewidth=0, zorder=0.9)
        n = len(own)
        label = shortened(f"{group} ({n} replica{'s' * (n > 1)})")
        width = line_width(1.6)
        axes.plot(ends, [interval.mean] * 2, color=colour, linewidth=width, label=label, zorder=3)
        names += [run.name for run in own]
        ticks += places.tolist()
        place = places[-1] + 1.5
    axes.set_xticks(ticks, [shortened(name, 24) for name in names])
    if len(names) >= _TURNED_FROM and any(len(name) > 3 for name in names):
        for text in axes.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")
    axes.set_ylabel(wrapped(shared_label(axes, "y", panel.quantity), height_of(axes)))
    show_range(axes, np.concatenate([run.values for run in panel.runs]))
    bare(axes)


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


def _label(group: str, name: str) -> str:
    return ", ".join(filter(None, [group, name]))
