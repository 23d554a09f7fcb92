"""Figures of the runs of an ensemble: overlays against time, and violins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    finish,
    label_axes,
    line,
    line_width,
    marker_size,
    panels_of,
    shortened,
    show_range,
)
from trajet.plots.look import COLOURS, LINES, PLAIN, Look
from trajet.plots.residues import name_ticks
from trajet.plots.shared_axes import in_unit, label_of_times, take_time_unit, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

# Most values of a run from which a violin is made.
_MAX_VALUES = 20_000


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
    panels: Sequence[RunPanel], *, note: str, ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw all runs against time, groups in their colours, replicas in different lines.

    One group has a colour for each run. Each series has a panel.

    Parameters
    ----------
    panels
        The series, one if `ax` is given. All have the same runs.
    note
        Title of the legend.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups, or of the runs if there is one group.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _overlay(axes, panel, look)
    names, has_legend = [panel.name for panel in panels], len(panels[0].runs) > 1 or bool(note)
    return finish(drawn, ax, look, names=names, has_legend=has_legend, note=note)


def _overlay(axes: "Axes", panel: RunPanel, look: Look) -> None:
    """Draw a series of all runs."""
    runs = panel.runs
    groups = list(dict.fromkeys(run.group for run in runs))
    # Of more runs the legend names the groups, but labels of users for each run of one are shown.
    is_named = len(runs) <= len(COLOURS) or (look.is_named and len(groups) == 1)
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
    for run, x, colour, label in zip(runs, xs, colours, labels, strict=True):
        number = seen[run.group] = seen.get(run.group, -1) + 1
        shown = label if is_named else "" if number or is_alone else named[run.group]
        style = LINES[number % len(LINES)] if is_named and len(groups) > 1 else "-"
        line(axes, x, run.values, shortened(shown), colour, style, look=look)
    if is_alone and groups[0]:
        name = shortened(f"{groups[0]} ({len(runs)} runs)")
        axes.plot([], [], color="0.5", linewidth=line_width(1.2), label=name)
    show_range(axes, np.concatenate([run.values for run in runs]))
    label_axes(axes, label_of_times(unit), panel.quantity)
    axes.margins(x=0)


def violins(
    panels: Sequence[RunPanel],
    *,
    x_label: str,
    note: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the distribution and the mean of each run, and the means of groups with intervals.

    Parameters
    ----------
    panels
        The series, one if `ax` is given; the runs of a group stand side by side.
    x_label, note
        Label of the x axis, and title of the legend.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Its labels and colours are those of the groups.
    """
    drawn = panels_of(ax, len(panels))
    for axes, panel in zip(drawn, panels, strict=True):
        _violins(axes, panel, x_label, look)
    names, has_legend = [panel.name for panel in panels], len(panels[0].intervals) > 1 or bool(note)
    return finish(drawn, ax, look, names=names, has_legend=has_legend, note=note)


def _violins(axes: "Axes", panel: RunPanel, x_label: str, look: Look) -> None:
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
        if np.isfinite(interval.half_width) and look.band is not False:
            low, high = (interval.mean + sign * interval.half_width for sign in (-1, 1))
            axes.fill_between(ends, low, high, color=colour, alpha=0.2, linewidth=0, zorder=0.9)
        n = len(own)
        label = shortened(f"{group} ({n} replica{'s' * (n > 1)})")
        width = line_width(1.6)
        axes.plot(ends, [interval.mean] * 2, color=colour, linewidth=width, label=label, zorder=3)
        names += [run.name for run in own]
        ticks += places.tolist()
        place = places[-1] + 1.5
    name_ticks(axes.xaxis, ticks, [shortened(name, 24) for name in names])
    label_axes(axes, x_label, panel.quantity)
    show_range(axes, np.concatenate([run.values for run in panel.runs]))


def _violin(axes: "Axes", values: NDArray[np.float64], x: float, colour: str) -> None:
    """Draw the distribution of some values and their mean; of a constant the mean alone."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return
    if np.ptp(finite) > 0:
        some = finite[:: -(-len(finite) // _MAX_VALUES)]
        drawn = axes.violinplot([some], positions=[x], widths=0.8, showextrema=False)
        for body in cast("list[PolyCollection]", drawn["bodies"]):
            body.set(facecolor=colour, edgecolor=colour, alpha=0.35, linewidth=0.8)
    axes.plot([x], [finite.mean()], color=colour, marker="o", markersize=marker_size(6), zorder=4)


def _label(group: str, name: str) -> str:
    return ", ".join(filter(None, [group, name]))
