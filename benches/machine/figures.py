"""Figures of run times against workers, threads and frames."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from trajet.plots.drawing import LEGEND_CHARACTERS, bare, shortened, titled
from trajet.plots.look import COLOURS, LINES, MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Horizontal offset between curves, as a fraction of the axis of workers.
APART = 0.012


@dataclass(frozen=True)
class Curve:
    """A curve against the number of workers; curves of the same `row` share axes.

    Attributes
    ----------
    row, label
        Names of the row of axes and of the curve.
    workers, figures
        Numbers of workers; means and standard deviations of each quantity.
    """

    row: str
    label: str
    workers: Sequence[int]
    figures: Mapping[str, tuple[Sequence[float], Sequence[float]]]


def scaling(curves: Sequence[Curve], *, title: str, weak: bool) -> "Figure":
    """Draw reading, computing, speed-up and efficiency against the number of workers.

    Parameters
    ----------
    curves
        Curves with the quantities t_io, t_comp, S and E, and at most as many labels as there are
        colours.
    title
        Title of the figure.
    weak
        Whether the frames grow with the workers.
    """
    from matplotlib.figure import Figure

    panels = (
        ("t_io", "reading and decoding, $t_{IO}$ (s)"),
        ("t_comp", "computing, $t_{comp}$ (s)"),
        ("S", "speed-up S"),
        ("E", "efficiency E"),
    )
    rows = list(dict.fromkeys(curve.row for curve in curves))
    labels = list(dict.fromkeys(curve.label for curve in curves))
    numbers = sorted({n for curve in curves for n in curve.workers})
    figure = Figure(figsize=(12.0, 2.2 * len(rows) + 1.6), layout="constrained", dpi=150)
    grid = figure.subplots(len(rows), len(panels), sharex=True, sharey="col", squeeze=False)
    # Side by side, so that no deviation hides another.
    apart = APART * max(1.0, np.log2(numbers[-1] / numbers[0]))
    handles = dict[str, Any]()  # matplotlib takes containers for artists, its types do not
    for curve in curves:
        k = labels.index(curve.label)
        for axes, (name, _) in zip(grid[rows.index(curve.row)], panels, strict=True):
            mean, sd = (np.array(values) for values in curve.figures[name])
            handles[shortened(curve.label)] = axes.errorbar(
                np.array(curve.workers) * 2 ** (apart * (k - (len(labels) - 1) / 2)),
                mean,
                yerr=np.nan_to_num(sd),
                color=COLOURS[k % len(COLOURS)],
                marker=MARKS[k % len(MARKS)],
                markersize=4,
                linewidth=1.2,
                capsize=2,
            )
    ideal = {"S": numbers, "E": [1] * len(numbers)}
    for axes_of_row, row in zip(grid, rows, strict=True):
        axes_of_row[0].set_ylabel(shortened(row))
        for axes, (name, _) in zip(axes_of_row, panels, strict=True):
            axes.set_ylim(bottom=0)
            if name in ideal:
                (line,) = axes.plot(numbers, ideal[name], color="0.6", ls="--", lw=0.8, zorder=0)
                handles["ideal"] = line
            bare(axes)
    grid[0, 0].set_xscale("log", base=2)
    grid[0, 0].set_xticks(numbers, [str(n) for n in numbers])
    grid[0, 0].minorticks_off()
    for top, bottom, (_, label) in zip(grid[0], grid[-1], panels, strict=True):
        top.set_title(label, fontsize="medium")
        bottom.set_xlabel("workers" + (", each with as many frames" if weak else ""))
    figure.suptitle(shortened(title), fontsize="medium")
    # The figure is half as wide again as others.
    across = sum(len(label) + 8 for label in handles) <= 1.5 * LEGEND_CHARACTERS
    columns, place = len(handles) if across else 3, "outside lower center"
    figure.legend(handles.values(), handles, loc=place, ncols=columns, frameon=False)
    return figure


def throughput(
    curves: Mapping[str, Mapping[str, Sequence[NDArray[np.float64]]]], *, title: str
) -> "Figure":
    """Draw tasks per second against time.

    Parameters
    ----------
    curves
        By pool and number of workers: an array `(n, 2)` per repeat, with times since its start (s)
        and rates. The line is the mean over the repeats, the band one standard deviation.
    title
        Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    for k, (pool, by_workers) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        for (workers, repeats), style in zip(by_workers.items(), ("-", "--"), strict=False):
            times = np.mean(repeats, axis=0)[:, 0]
            rates = np.array(repeats)[:, :, 1]
            mean, sd = rates.mean(axis=0), rates.std(axis=0, ddof=min(1, len(rates) - 1))
            label = f"{pool}, {workers}"
            axes.plot(times, mean, color=colour, linestyle=style, linewidth=1.5, label=label)
            low = np.maximum(mean - sd, mean / 10)
            axes.fill_between(times, low, mean + sd, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("time since the begin of the run (s)")
    axes.set_ylabel("tasks a second")
    titled(axes, title)
    bare(axes)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


@dataclass(frozen=True)
class FrameCurve:
    """A curve against the number of frames.

    Attributes
    ----------
    label, group, kind
        Name of the curve; the group sets its colour, the kind its mark.
    frames, values
        Points of the curve.
    """

    label: str
    group: str
    kind: str
    frames: Sequence[int]
    values: Sequence[float]


def against_frames(curves: Sequence[FrameCurve], *, quantity: str, title: str) -> "Figure":
    """Draw what grows with the number of frames, on logarithmic axes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(9.0, 5.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    groups = list(dict.fromkeys(curve.group for curve in curves))
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    for curve in curves:
        group, kind = groups.index(curve.group), kinds.index(curve.kind)
        axes.plot(
            curve.frames,
            curve.values,
            color=COLOURS[group % len(COLOURS)],
            marker=MARKS[kind % len(MARKS)],
            # Marks of equal curves are seen through each other.
            markerfacecolor="none" if kind else None,
            markersize=5 if kind == 0 else 7,
            linestyle=LINES[kind % len(LINES)],
            linewidth=1.2,
            label=shortened(curve.label),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    numbers = sorted({n for curve in curves for n in curve.frames})
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("frames")
    axes.set_ylabel(quantity)
    titled(axes, title)
    bare(axes)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def points_drawn(
    low: NDArray[np.floating], high: NDArray[np.floating]
) -> Callable[[NDArray[np.float32]], None]:
    """Return a function that draws positions (`(n_atoms, 3)`), seen along y, to an image in memory.

    Parameters
    ----------
    low, high
        `(3,)`, corners of the visible box, Å.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[2], high[2])
    axes.set_aspect("equal")
    (points,) = axes.plot([], [], linestyle="none", marker=",", color=COLOURS[0])

    def draw(positions: NDArray[np.float32]) -> None:
        points.set_data(positions[:, 0], positions[:, 2])
        canvas.draw()

    return draw
