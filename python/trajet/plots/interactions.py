"""Figures of interactions: occupancies of pairs, and beside them when they occur."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import Numbers
from trajet.plots.drawing import (
    abscissa,
    axes_of,
    colours_in,
    draw_bars,
    finish,
    line_width,
    marker_size,
    new_figure,
    shortened,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.replicas import CHANGE, MARKED, ReplicaCurve
from trajet.plots.shared_axes import take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Pairs that are drawn, and the least occupancy of these.
MAX_ROWS, MIN_OCCUPANCY = 24, 0.1
# Columns of the timeline, each with the share of its frames.
_MAX_COLUMNS = 400
_LONGEST_PAIR = 32
# Those of labels with the kind, and inches of a row with one bar and of each further one.
_LONGEST_LABEL = 48
_ROW, _BAR = 0.22, 0.12


def interactions(
    result: Numbers,
    names: Sequence[str],
    kinds: Sequence[str],
    rows: NDArray[np.int64],
    seen: NDArray[np.bool_] | None = None,
    times: "tuple[NDArray[np.float64], NDArray[np.int64]] | None" = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the occupancies of some pairs by kind, and if there is room, when they interact.

    Parameters
    ----------
    result
        Occupancies with their intervals.
    names, kinds
        Both ends, and the kind, of each of the drawn pairs.
    rows
        The drawn pairs among those of the result.
    seen
        `(n_frames, n_rows)`, whether each of them interacts in each frame; None for bars alone.
    times
        Times and numbers of the frames.
    """
    n = len(rows)
    panels: list[Axes] = []
    if seen is None or times is None or ax is not None:
        panels = [axes_of(ax, (6.4, 1.6 + 0.22 * max(n, 4)))]
    else:
        size = (10.0, 1.6 + 0.22 * max(n, 4))
        panels = [*new_figure(size).subplots(1, 2, sharey=True, width_ratios=(1, 1.6))]
    bars = panels[0]
    take_unit(bars, ("occupancy", *names, *kinds), "pairs")
    found = list(dict.fromkeys(kinds))
    colours = dict(zip(found, colours_in(bars, look, len(found)), strict=True))
    halves = look.intervals(result.values, result.half_widths, result.resolved, are_curves=False)
    y = np.arange(n, dtype=np.float64)
    for kind, label in zip(found, look.names(found), strict=True):
        own = np.array([one == kind for one in kinds])
        values = result.values[rows[own]]
        draw_bars(bars, y[own], values, halves[rows[own]], colours[kind], label, is_lying=True)
    _name_rows(bars, [shortened(name, _LONGEST_PAIR) for name in names])
    bars.set_xlim(0, 1)
    bars.set_xlabel(f"occupancy, {n} of {len(result.values)} pairs")
    if len(panels) > 1 and seen is not None and times is not None:
        _draw_timeline(panels[1], seen, [colours[kind] for kind in kinds], *times)
    return finish(panels, ax, look, has_grid=False, has_legend=True, half_widths=halves)


def _name_rows(axes: "Axes", names: Sequence[str]) -> None:
    """Name the rows beside the y axis, the first at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", labelsize="small", length=0)
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)


def replica_pairs(
    names: Sequence[str],
    curves: Sequence[ReplicaCurve],
    *,
    quantity: str,
    limits: tuple[float, float],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the means of pairs as bars, those of groups side by side, and replicas as points.

    Parameters
    ----------
    names
        Labels of the pairs.
    curves
        The groups, with as many numbers each.
    quantity
        Label of the x axis.
    limits
        Least and largest possible value, at which intervals end.
    """
    axes = _axes_of_rows(ax, names, len(curves))
    labels = look.names([curve.label for curve in curves])
    colours = look.colours_of([curve.label for curve in curves])
    height = 0.8 / len(curves)
    for k, (curve, label, colour) in enumerate(zip(curves, labels, colours, strict=True)):
        y = curve.x + height * (k + 0.5) - 0.4
        n = len(curve.replicas)
        text = shortened(f"{label} ({n} replica{'s' * (n > 1)})")
        halves = look.intervals(curve.mean, curve.half_width, None)
        _draw_row_bars(axes, y, curve.mean, halves, colour, text, height, limits)
        for values in curve.replicas:
            size = marker_size(3)
            axes.plot(values, y, "o", color=colour, markersize=size, alpha=0.7, clip_on=False)
    if np.isfinite(limits[1]):
        axes.set_xlim(*limits)
    axes.set_xlabel(quantity)
    return finish(axes, ax, look, has_grid=False, has_legend=len(curves) > 1)


def pair_differences(
    names: Sequence[str],
    differences: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    is_significant: NDArray[np.bool_],
    *,
    quantity: str,
    limits: tuple[float, float],
    n_tests: int,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw differences of pairs as bars, and mark those that are significant.

    Parameters
    ----------
    names, quantity, limits
        See `replica_pairs`.
    differences, half_widths, is_significant
        `(n,)`.
    n_tests
        Number of tests for which probabilities are corrected.
    """
    axes = _axes_of_rows(ax, names, 1)
    y = np.arange(len(names), dtype=np.float64)
    colour = CHANGE if look.color is None else look.colours(1)[0]
    (label,) = look.names([""])
    halves = look.intervals(differences, half_widths, None)
    _draw_row_bars(axes, y, differences, halves, colour, label, 0.8, limits)
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    axes.plot(
        differences[is_significant],
        y[is_significant],
        "o",
        color=MARKED,
        markersize=marker_size(6),
        label="p < 0.05, corrected" if n_tests > 1 else "p < 0.05",
    )
    axes.set_xlabel(quantity)
    return finish(axes, ax, look, has_grid=False, has_legend=bool(is_significant.any()))


def _axes_of_rows(ax: "Axes | None", names: Sequence[str], n_bars: int) -> "Axes":
    """Return axes with a named row for each pair."""
    height = (_ROW + _BAR * (n_bars - 1)) * max(len(names), 4)
    axes = axes_of(ax, (7.2, 1.6 + height))
    take_unit(axes, ("pairs", *names), "pairs")
    _name_rows(axes, [shortened(name, _LONGEST_LABEL) for name in names])
    return axes


def _draw_row_bars(
    axes: "Axes",
    y: NDArray[np.float64],
    values: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    colour: str,
    label: str,
    height: float,
    limits: tuple[float, float],
) -> None:
    """Draw lying bars, with intervals that end at the limits."""
    axes.barh(y, values, height, color=colour, alpha=0.6, label=label)
    halves = np.nan_to_num(half_widths)
    ends = np.clip([values - halves, values + halves], *limits)
    axes.errorbar(
        values,
        y,
        xerr=np.abs(ends - values),
        fmt="none",
        ecolor="0.2",
        elinewidth=line_width(1.0),
    )


def _draw_timeline(
    axes: "Axes",
    seen: NDArray[np.bool_],
    colours: Sequence[str],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
) -> None:
    """Draw the share of frames in which each pair interacts, in columns of as many frames each."""
    from matplotlib.colors import to_rgb

    x, label = abscissa(times, frames)
    axes.set_xlabel(label)
    axes.tick_params(axis="y", length=0)
    if not seen.size:
        return
    starts = np.unique(np.linspace(0, len(seen), _MAX_COLUMNS + 1)[:-1].astype(np.int64))
    counts = np.diff(starts, append=len(seen))
    shares = np.add.reduceat(seen.astype(np.float64), starts, axis=0) / counts[:, np.newaxis]
    inks = 1 - np.array([to_rgb(colour) for colour in colours])
    image = 1 - shares.T[:, :, np.newaxis] * inks[:, np.newaxis]
    step = (x[-1] - x[0]) / max(1, len(x) - 1) or 1.0
    extent = (x[0] - step / 2, x[-1] + step / 2, len(colours) - 0.5, -0.5)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=extent)
    # Gaps between rows, as those of the bars.
    gaps, colour = np.arange(len(colours) + 1) - 0.5, axes.get_facecolor()
    axes.barh(gaps, extent[1] - extent[0], 0.2, left=extent[0], color=colour)
    axes.set_xlim(*extent[:2])
    axes.set_ylim(len(colours) - 0.4, -0.6)
