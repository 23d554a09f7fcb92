"""Figures: the only room that imports matplotlib, when a figure is asked for."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any eyes and on any projector.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Longer series get a running average over this part of their length.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200
PS_PER_NS = 1000.0
MOST_BINS = 60
LEGEND_CHARACTERS = 100
LONGEST_LABEL = 80


def series(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    quantity: str,
    title: str,
) -> "Figure":
    """Draw one or more series against time, with their distribution beside it.

    Parameters
    ----------
    values
        `(n_frames,)` or `(n_frames, n_series)`.
    times, frames
        `(n_frames,)`, ps and frame numbers. Where times do not increase, as in files that were put
        together, frame numbers are the axis.
    labels
        One name a series.
    quantity, title
        What the y axis and the figure say.

    Returns
    -------
    matplotlib.figure.Figure
        Not shown and not registered anywhere: save it or show it.
    """
    from matplotlib.figure import Figure

    columns = values.reshape(len(times), -1)
    x, x_label = _abscissa(times, frames)
    figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 1))
    seen = columns[np.isfinite(columns)]
    bins = np.histogram_bin_edges(seen, min(MOST_BINS, max(10, int(np.sqrt(len(x))))))
    for column, label in enumerate(labels):
        y, colour = columns[:, column], COLOURS[column % len(COLOURS)]
        _line(left, x, y, _shortened(label), colour)
        finite = y[np.isfinite(y)]
        if not finite.size:
            continue
        right.hist(
            finite,
            bins=bins,
            orientation="horizontal",
            histtype="stepfilled",
            density=True,
            edgecolor=colour,
            facecolor=(colour, 0.25),
            linewidth=1.2,
        )
    left.set_xlabel(x_label)
    left.set_ylabel(quantity)
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    left.margins(x=0)
    left.set_ylim(bottom=0)
    right.set_xlabel("density")
    right.set_xticks([])
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    if len(labels) > 1:
        # Side by side where that fits below the axes, else one below the other.
        across = sum(len(_shortened(label)) + 8 for label in labels) <= LEGEND_CHARACTERS
        handles = left.get_legend_handles_labels()
        columns_of_legend = len(labels) if across else 1
        figure.legend(*handles, loc="outside lower center", ncols=columns_of_legend, frameon=False)
    return figure


def _abscissa(
    times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return what the x axis shows, and its label."""
    if len(times) < 2 or not (np.diff(times) > 0).all():
        return frames.astype(np.float64), "frame"
    if times[-1] - times[0] >= 10 * PS_PER_NS:
        return times / PS_PER_NS, "time (ns)"
    return times, "time (ps)"


def _shortened(label: str) -> str:
    """Return a label that fits the width of a figure."""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _line(
    axes: Any, x: NDArray[np.float64], y: NDArray[np.float64], label: str, colour: str
) -> None:
    """Draw a series; where it is long, faintly behind its running average."""
    width = len(y) // SMOOTHED_PART
    if len(y) < SMOOTHED_FROM or not np.isfinite(y).all():
        axes.plot(x, y, color=colour, linewidth=1.2, label=label)
        return
    axes.plot(x, y, color=colour, linewidth=0.5, alpha=0.35)
    smooth = np.convolve(y, np.full(width, 1 / width), mode="valid")
    begin = (len(y) - len(smooth)) // 2
    axes.plot(x[begin : begin + len(smooth)], smooth, color=colour, linewidth=1.8, label=label)
