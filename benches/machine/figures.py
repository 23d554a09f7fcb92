"""Figures of run times against workers, threads and frames."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from trajet.plots.drawing import bare, shortened, width_of, wrapped
from trajet.plots.look import COLOURS, LINES, MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Horizontal offset between curves, as a fraction of the axis of workers.
APART = 0.012
_PANELS = {
    "t_io": "reading and decoding, $t_{IO}$ (s)",
    "t_comp": "computing, $t_{comp}$ (s)",
    "S": "speed-up S",
    "E": "efficiency E",
}


@dataclass(frozen=True)
class Curve:
    """Means and standard deviations of each quantity against the number of workers."""

    label: str
    workers: Sequence[int]
    figures: Mapping[str, tuple[Sequence[float], Sequence[float]]]


@dataclass(frozen=True)
class FrameCurve:
    """A curve against the number of frames; the group sets its colour, the kind its mark."""

    label: str
    group: str
    kind: str
    frames: Sequence[int]
    values: Sequence[float]


def _style(k: int) -> dict[str, Any]:
    """Return the look of a curve, which no other has."""
    n = len(COLOURS)
    marks = MARKS[k % len(MARKS)], LINES[k // n % len(LINES)]
    return {"color": COLOURS[k % n], "marker": marks[0], "linestyle": marks[1], "linewidth": 1.2}


def scaling(curves: Sequence[Curve], *, title: str, weak: bool) -> "Figure":
    """Draw t_io, t_comp, S and E against the number of workers; `weak`: as many frames for each."""
    from matplotlib.figure import Figure

    numbers = sorted({n for curve in curves for n in curve.workers})
    figure = Figure(figsize=(12.0, 4.0 + 0.1 * len(curves)), layout="constrained", dpi=150)
    grid = figure.subplots(1, len(_PANELS), sharex=True)
    # Side by side, so that no deviation hides another.
    apart = APART * max(1.0, np.log2(numbers[-1] / numbers[0]))
    ideal = {"S": numbers, "E": [1] * len(numbers)}
    for axes, (name, label) in zip(grid, _PANELS.items(), strict=True):
        for k, curve in enumerate(curves):
            mean, sd = (np.array(values) for values in curve.figures[name])
            x = np.array(curve.workers) * 2 ** (apart * (k - (len(curves) - 1) / 2))
            own = shortened(curve.label)
            how: dict[str, Any] = {"markersize": 4, "capsize": 2, "label": own, **_style(k)}
            axes.errorbar(x, mean, yerr=np.nan_to_num(sd), **how)
        if name in ideal:
            axes.plot(numbers, ideal[name], color="0.6", ls="--", lw=0.8, zorder=0, label="ideal")
        axes.set_ylim(bottom=0)
        axes.set_title(label, fontsize="medium")
        axes.set_xlabel("workers" + (", each with as many frames" if weak else ""))
        bare(axes)
    grid[0].set_xscale("log", base=2)
    grid[0].set_xticks(numbers, [str(n) for n in numbers])
    grid[0].minorticks_off()
    figure.suptitle(shortened(title), fontsize="medium")
    handles, labels = grid[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def throughput(
    curves: Mapping[str, Mapping[str, Sequence[NDArray[np.float64]]]], *, title: str
) -> "Figure":
    """Draw tasks per second against time: the mean and one standard deviation of the repeats.

    `curves` has, by pool and number of workers, an array `(n, 2)` per repeat: times since its start
    (s), and rates.
    """
    figure, axes = _logarithmic("time since the begin of the run (s)", "tasks a second", title)
    for k, (pool, by_workers) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        for (workers, repeats), style in zip(by_workers.items(), ("-", "--"), strict=False):
            times = np.mean(repeats, axis=0)[:, 0]
            rates = np.array(repeats)[:, :, 1]
            mean, sd = rates.mean(axis=0), rates.std(axis=0, ddof=min(1, len(rates) - 1))
            axes.plot(times, mean, color=colour, linestyle=style, label=f"{pool}, {workers}")
            low = np.maximum(mean - sd, mean / 10)
            axes.fill_between(times, low, mean + sd, color=colour, alpha=0.15, linewidth=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def against_frames(curves: Sequence[FrameCurve], *, quantity: str, title: str) -> "Figure":
    """Draw what grows with the number of frames."""
    from matplotlib.ticker import LogLocator

    figure, axes = _logarithmic("frames", quantity, title)
    groups = list(dict.fromkeys(curve.group for curve in curves))
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    for curve in curves:
        colour, kind = COLOURS[groups.index(curve.group) % len(COLOURS)], kinds.index(curve.kind)
        # Marks of equal curves are seen through each other.
        fill = {"markerfacecolor": "none", "markersize": 7} if kind else {"markersize": 5}
        how: dict[str, Any] = {"marker": MARKS[kind % len(MARKS)], "label": shortened(curve.label)}
        axes.plot(
            curve.frames, curve.values, color=colour, ls=LINES[kind % len(LINES)], **how, **fill
        )
    numbers = sorted({n for curve in curves for n in curve.frames})
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def _logarithmic(x: str, y: str, title: str) -> tuple["Figure", Any]:
    """Return a figure with logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
    axes.set_title(wrapped(title, width_of(axes)), loc="left", fontsize="medium")
    bare(axes)
    return figure, axes


def points_drawn(
    low: NDArray[np.floating], high: NDArray[np.floating]
) -> Callable[[NDArray[np.float32]], None]:
    """Return a function that draws positions (`(n_atoms, 3)`), seen along y, to an image in memory.

    `low` and `high` are corners of the visible box, Å.
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
