"""Means over time with their errors: bands in figures, convergence, histograms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    MOST_BINS,
    axes_of,
    bare,
    begin_at_zero,
    figure_of,
    height_of,
    label_below,
    legend_of,
    line_width,
    shortened,
    show_range,
    titled,
    two_axes,
    wrapped,
)
from trajet.plots.look import COLOURS, PLAIN, Look
from trajet.plots.shared_axes import lag_axis, limit, limits, shared_label, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Opacity of bands.
_ALPHA = 0.15
# Labels of lines and bands of means that are not resolved; legends leave out what begins with "_".
_UNRESOLVED_LINE, _UNRESOLVED_BAND = "_mean, not resolved", "_band, not resolved"


@dataclass(frozen=True)
class Means:
    """Means of several series; every array is `(n_series,)`.

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


def draw_bands(
    axes: "Axes",
    means: Means,
    colours: Sequence[str],
    *,
    upright: bool = False,
    is_alone: bool = True,
) -> str:
    """Draw each mean as a line with a band, and return words on them for the label of an axis.

    The limits of the axes stay as they are. Of a mean that is not resolved the band is hatched, and
    left out, also that of an earlier result, if there are others: wide bands hide one another.

    Parameters
    ----------
    axes
        The axes, whose y axis, or x axis if `upright`, shows the values.
    means, colours
        The means, and their colours.
    upright
        Whether bands are vertical.
    is_alone
        Whether the axes have no other results, so that a wide band hides nothing.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    transform = axes.get_xaxis_transform() if upright else axes.get_yaxis_transform()
    known = np.flatnonzero(np.isfinite(means.half_width))
    if not is_alone:
        for patch in [one for one in axes.patches if one.get_label() == _UNRESOLVED_BAND]:
            patch.remove()
    is_alone = is_alone and len(known) == 1
    for k in known[: len(COLOURS)].tolist():
        colour, mean, half = colours[k], float(means.mean[k]), float(means.half_width[k])
        ends = ([mean, mean], [0.0, 1.0]) if upright else ([0.0, 1.0], [mean, mean])
        is_resolved = bool(means.resolved[k])
        middle = Line2D(*ends, transform=transform, color=colour, linestyle="--")
        middle.set(linewidth=line_width(0.8), label="" if is_resolved else _UNRESOLVED_LINE)
        axes.add_artist(middle)
        if not is_resolved and not is_alone:
            continue
        corner = (mean - half, 0.0) if upright else (0.0, mean - half)
        size = (2 * half, 1.0) if upright else (1.0, 2 * half)
        band = Rectangle(
            corner,
            *size,
            transform=transform,
            facecolor=(colour, _ALPHA),
            edgecolor=(colour, 2 * _ALPHA),
            linewidth=0,
            hatch=None if is_resolved else "//",
            zorder=0.9,
            label="" if is_resolved else _UNRESOLVED_BAND,
        )
        axes.add_artist(band)
    unresolved = any(drawn.get_label() == _UNRESOLVED_LINE for drawn in axes.lines)
    if not len(known) and not unresolved:
        return ""
    return "band: 95 % interval of the mean" + (
        f"; {'hatched' if is_alone else 'no band'}: not resolved" * unresolved
    )


def convergence(
    lengths: NDArray[np.float64],
    means: NDArray[np.float64],
    half_widths: NDArray[np.float64],
    correlation_times: NDArray[np.float64],
    resolved: NDArray[np.bool_],
    *,
    labels: tuple[str, ...],
    quantity: str,
    unit: str,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw means and correlation times of the first part of series against its length.

    Parameters
    ----------
    lengths
        `(n,)`, lengths of the parts, in `unit`.
    means, half_widths, correlation_times, resolved
        `(n, n_series)`: of each part, at most as many series as there are colours.
    labels
        Name of each series.
    quantity, title
        Label of the y axis, and title.
    unit
        "ps" or "frames".
    ax
        Axes for the means; None for a figure of its own with both.
    """
    left, right = two_axes(ax, (9.0, 4.0), width_ratios=(3, 2))
    before = limits(left, "y")
    x, shown = lengths, unit
    if unit == "ps" and len(lengths):
        x, shown = lag_axis(left, lengths, float(np.ptp(lengths)))
    else:
        take_unit(left, "frame", "numbers of frames")
    x_label = shared_label(left, "x", f"length of the series ({shown})")
    names, colours = look.names(labels), look.colours(len(labels))
    for k, (label, colour) in enumerate(zip(names, colours, strict=True)):
        mean, half = means[:, k], half_widths[:, k]
        left.plot(x, mean, color=colour, label=shortened(label), marker=".", markersize=3)
        low, high, clear = mean - half, mean + half, resolved[:, k]
        if not clear.all():
            edge = (colour, 2 * _ALPHA)
            # Also between a length that is not resolved and one that is.
            unclear = np.convolve(~clear, np.ones(3), "same") > 0
            left.fill_between(
                *(x, low, high, unclear), facecolor="none", edgecolor=edge, linewidth=0, hatch="//"
            )
        left.fill_between(x, low, high, where=clear, color=colour, alpha=_ALPHA, linewidth=0)
        if right is not None:
            right.plot(x, correlation_times[:, k], color=colour, marker=".", markersize=3)
    _limit(left, means, half_widths, before)
    hatched = "" if resolved.all() else "; hatched: not resolved"
    label_below(left, x_label, f"band: 95 % interval of the mean{hatched}")
    left.set_ylabel(wrapped(shared_label(left, "y", f"mean {quantity}"), height_of(left)))
    titled(left, look.title(title))
    left.margins(x=0)
    bare(left)
    if len(labels) > 1 or look.is_named:
        legend_of(left, ax)
    if right is not None:
        label_below(right, x_label, "")
        right.set_ylabel(wrapped(f"correlation time ({unit})", height_of(right)))
        right.margins(x=0)
        show_range(right, correlation_times)
        bare(right)
    return figure_of(left)


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
    means: Means,
    *,
    labels: tuple[str, ...],
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the distribution of series (`(n_frames, n_series)`), with their means as bands."""
    axes = axes_of(ax, (6.4, 4.0))
    is_alone = not axes.has_data()
    take_unit(axes, "values", f"values, {quantity}")
    seen = values[np.isfinite(values)]
    count = min(MOST_BINS, max(10, int(np.sqrt(len(values)))))
    bins = np.histogram_bin_edges(seen, count).tolist()
    names, colours = look.names(labels), look.colours(len(labels))
    for k, (label, colour) in enumerate(zip(names, colours, strict=True)):
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
                label=shortened(label),
            )
    words = draw_bands(axes, means, colours, upright=True, is_alone=is_alone)
    label_below(axes, shared_label(axes, "x", quantity), words)
    axes.set_ylabel("density")
    titled(axes, look.title(title))
    axes.margins(x=0)
    begin_at_zero(axes)
    bare(axes)
    if len(labels) > 1 or look.is_named:
        legend_of(axes, ax)
    return figure_of(axes)
