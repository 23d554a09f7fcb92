"""Means over time with their errors: bands in figures, convergence, histograms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    MAX_BINS,
    axes_of,
    bare,
    begin_at_zero,
    check_axes,
    colours_in,
    draw_band,
    finish,
    label_axes,
    line_width,
    marker_size,
    new_figure,
    shortened,
    show_range,
)
from trajet.plots.look import COLOURS, PLAIN, Look, first_of
from trajet.plots.shared_axes import lag_axis, limit, limits, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Opacity of bands.
_ALPHA = 0.15


@dataclass(frozen=True)
class Means:
    """Means of several series; every array is `(n_series,)`, or `(n, n_series)` of parts of them.

    Attributes
    ----------
    mean, half_width
        Mean, and the longer side of its 95 % interval; NaN where it is unknown.
    resolved
        Whether the mean is resolved.
    """

    mean: NDArray[np.float64]
    half_width: NDArray[np.float64]
    resolved: NDArray[np.bool_]


def draw_means(
    axes: "Axes", means: Means, colours: Sequence[str], look: Look, *, upright: bool = False
) -> None:
    """Draw each mean as a line, and its 95 % interval as a band, as far as it is resolved.

    Users can ask for others, or for none. The limits of the axes stay as they are.

    Parameters
    ----------
    axes
        The axes, whose y axis, or x axis if `upright`, shows the values.
    means, colours
        The means, at most as many as there are colours, and their colours.
    upright
        Whether bands are vertical.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    transform = axes.get_xaxis_transform() if upright else axes.get_yaxis_transform()
    has_line = means.resolved if look.mean is None else np.full(len(means.mean), look.mean)
    has_band = has_line & means.resolved if look.band is None else np.full(len(has_line), look.band)
    for k, colour in enumerate(colours[: len(COLOURS)]):
        mean, half = float(means.mean[k]), float(means.half_width[k])
        if has_line[k] and np.isfinite(mean):
            middle = Line2D(
                *(([mean, mean], [0.0, 1.0]) if upright else ([0.0, 1.0], [mean, mean])),
                transform=transform,
                color=colour,
                linestyle="--",
                linewidth=line_width(0.8),
            )
            axes.add_artist(middle)
        if has_band[k] and np.isfinite(half):
            band = Rectangle(
                (mean - half, 0.0) if upright else (0.0, mean - half),
                *((2 * half, 1.0) if upright else (1.0, 2 * half)),
                transform=transform,
                facecolor=(colour, _ALPHA),
                linewidth=0,
                zorder=0.9,
            )
            axes.add_artist(band)


def convergence(
    lengths: NDArray[np.float64],
    means: Means,
    correlation_times: NDArray[np.float64],
    *,
    labels: Sequence[str],
    quantity: str,
    unit: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw means and correlation times of the first part of series against its length.

    Parameters
    ----------
    lengths
        `(n,)`, lengths of the parts, in `unit`.
    means, correlation_times
        `(n, n_series)`: of each part, at most as many series as there are colours.
    labels
        Name of each series, of which only the first may be drawn.
    quantity
        Label of the y axis.
    unit
        "ps" or "frames".
    ax
        Axes for the means; None for a figure of its own with both.
    """
    check_axes(ax)
    left, right = ax, None
    if left is None:
        figure = new_figure((9.0, 4.0), panels=2)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    before = limits(left, "y")
    x, shown = lengths, unit
    if unit == "ps" and len(lengths):
        x, shown = lag_axis(left, lengths, float(np.ptp(lengths)))
    else:
        take_unit(left, "frame", "numbers of frames")
    x_label = f"length of the series ({shown})"
    n_series = means.mean.shape[1]
    names, colours = look.names(labels[:n_series]), colours_in(left, look, n_series)
    # Points of a curve stand for runs of other lengths: each has its interval, if it is resolved.
    halves = look.intervals(means.mean, means.half_width, means.resolved, are_curves=False)
    size = marker_size(3)
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        mean = means.mean[:, k]
        left.plot(x, mean, color=colour, label=shortened(name), marker=".", markersize=size)
        draw_band(left, x, mean, halves[:, k], colour)
        if right is not None:
            right.plot(x, correlation_times[:, k], color=colour, marker=".", markersize=size)
    _limit(left, means.mean, halves, before)
    label_axes(left, x_label, f"mean {quantity}")
    left.margins(x=0)
    if right is not None:
        label_axes(right, x_label, f"correlation time ({unit})")
        right.margins(x=0)
        show_range(right, correlation_times)
        bare(right)
    return finish(left, ax, look, note=first_of(len(labels)))


def _limit(
    axes: "Axes",
    means: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    before: tuple[float, float] | None,
) -> None:
    """Let the y axis show the means, and the last band as far as it is no wider than they range.

    Bands of short parts are huge: they would hide how the mean changes. What was within the limits
    `before` stays there.
    """
    seen = means[np.isfinite(means)]
    most = np.ptp(seen) if seen.size else 0.0
    widths = half_widths[-1] if most == 0 else np.minimum(half_widths[-1], most)
    ends = np.concatenate([seen, means[-1] - widths, means[-1] + widths], axis=None)
    ends = ends[np.isfinite(ends)]
    if ends.size and np.ptp(ends) > 0:
        margin = 0.05 * np.ptp(ends)
        limit(axes, "y", (ends.min() - margin, ends.max() + margin), before)


def histogram(
    values: NDArray[np.float64],
    means: Means | None,
    *,
    labels: Sequence[str],
    quantity: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the distribution of series (`(n_frames, n_series)`), with their means as bands."""
    axes = axes_of(ax, (6.4, 4.0))
    take_unit(axes, "values", f"values, {quantity}")
    seen = values[np.isfinite(values)]
    count = min(MAX_BINS, max(10, int(np.sqrt(len(values)))))
    if (seen == np.round(seen)).all() and 0 < np.ptp(seen) < MAX_BINS:
        # Each number of a count has a bin of its own.
        bins = np.arange(seen.min() - 0.5, seen.max() + 1).tolist()
    else:
        bins = np.histogram_bin_edges(seen, count).tolist()
    n_series = values.shape[1]
    names, colours = look.names(labels[:n_series]), colours_in(axes, look, n_series)
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        column = values[:, k]
        finite = column[np.isfinite(column)]
        if finite.size:
            axes.hist(
                finite,
                bins=bins,
                density=True,
                histtype="stepfilled",
                edgecolor=colour,
                facecolor=(colour, 0.25),
                linewidth=line_width(1.2),
                label=shortened(name),
            )
    if means is not None:
        draw_means(axes, means, colours, look, upright=True)
    label_axes(axes, quantity, "density")
    axes.margins(x=0)
    begin_at_zero(axes)
    return finish(axes, ax, look, note=first_of(len(labels)))
