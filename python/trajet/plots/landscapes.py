"""Figures of free energies: profiles and maps over bins of coordinates."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.distributions import over_bins
from trajet.plots.drawable import Numbers, ResultAxis
from trajet.plots.drawing import (
    axes_of,
    character_inches,
    figure_of,
    finish,
    height_of,
    label_axes,
    width_of,
    wrapped,
)
from trajet.plots.look import PLAIN, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Contour lines of a map, about.
_LINES = 8
# Most basins that are numbered, and fewest bins of one: single frames are none.
_MAX_NUMBERED, _MIN_BINS = 9, 5
# Fewest frames of a bin that contours pass, and fewest such bins of a map with contours.
_MIN_FRAMES, _MIN_CONTOURED = 5, 30
# Steps between angles at ticks, degrees.
_STEPS = (30, 45, 60, 90)


def landscape(
    result: Numbers,
    basins: NDArray[np.int64] | None = None,
    counts: NDArray[np.int64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw a profile over bins of a coordinate with intervals, or a map over those of two.

    Maps have contour lines, and numbers of basins at their lowest bins; empty bins are white.

    Parameters
    ----------
    basins
        In the shape of the values: the basin of each bin, -1 for none; None without basins.
    counts
        The number of frames of each bin; contours leave bins of few frames out. None for all bins.
    """
    if len(result.axes) == 1:
        (axis,) = result.axes
        figure = over_bins(result, axis.label, result.quantity, ax=ax, look=look)
        axes = figure.axes[0] if ax is None else ax
        _mark_single_bins(axes, result)
        _place_ticks(axes, "x", axis)
        return figure
    axes = axes_of(ax, (5.6, 4.5), layout="compressed")
    x, y = result.axes
    assert x.edges is not None and y.edges is not None
    values = np.ma.masked_invalid(result.values.T)
    image = axes.pcolormesh(
        x.edges, y.edges, values, cmap=look.colour_map("viridis"), rasterized=True
    )
    drawn = (
        result.values if counts is None else np.where(counts < _MIN_FRAMES, np.nan, result.values)
    )
    seen = drawn[np.isfinite(drawn)]
    if min(drawn.shape) > 1 and len(seen) >= _MIN_CONTOURED and np.ptp(seen) > 0:
        _draw_contours(axes, result, drawn)
    figure_of(axes).colorbar(image, ax=axes, label=wrapped(result.quantity, height_of(axes)))
    if basins is not None:
        _number_basins(axes, result, basins)
    label_axes(axes, x.label, y.label)
    _place_ticks(axes, "x", x)
    _place_ticks(axes, "y", y)
    return finish(axes, ax, look, is_image=True)


def _mark_single_bins(axes: "Axes", result: Numbers) -> None:
    """Draw points where a bin has no neighbour with a value, of which a line shows nothing."""
    is_seen = np.pad(np.isfinite(result.values), 1)
    single = is_seen[1:-1] & ~is_seen[:-2] & ~is_seen[2:]
    axes.plot(
        result.axes[0].columns["centre"][single],
        result.values[single],
        marker=".",
        linestyle="none",
        color=axes.get_lines()[-1].get_color(),
    )


def _draw_contours(axes: "Axes", result: Numbers, values: NDArray[np.floating]) -> None:
    """Draw lines of equal values, which on circles go on over the ends of the axes."""
    from matplotlib.ticker import MaxNLocator

    centres = []
    for k, axis in enumerate(result.axes):
        assert axis.edges is not None
        places = (axis.edges[:-1] + axis.edges[1:]) / 2
        if axis.is_closed and axis.period is not None:
            values = np.concatenate([values.take([-1], k), values, values.take([0], k)], axis=k)
            places = np.r_[places[-1] - axis.period, places, places[0] + axis.period]
        centres.append(places)
    seen = values[np.isfinite(values)]
    levels = MaxNLocator(_LINES).tick_values(float(seen.min()), float(seen.max()))
    lines = axes.contour(
        *centres, np.ma.masked_invalid(values.T), levels=levels, colors="white", linewidths=0.7
    )
    lines.set_alpha(0.8)
    for side, axis in zip(("x", "y"), result.axes, strict=True):
        assert axis.edges is not None
        (axes.set_xlim if side == "x" else axes.set_ylim)(axis.edges[0], axis.edges[-1])


def _number_basins(axes: "Axes", result: Numbers, basins: NDArray[np.int64]) -> None:
    """Write the numbers of the deepest basins at their lowest bins."""
    from matplotlib.patheffects import withStroke

    sizes = np.bincount(basins[basins >= 0])
    for basin in np.flatnonzero(sizes >= _MIN_BINS)[:_MAX_NUMBERED].tolist():
        at = np.unravel_index(
            int(np.where(basins == basin, result.values, np.inf).argmin()), basins.shape
        )
        x, y = (float(axis.columns["centre"][k]) for axis, k in zip(result.axes, at, strict=True))
        axes.annotate(
            str(basin),
            (x, y),
            color="white",
            ha="center",
            va="center",
            fontsize="small",
            fontweight="bold",
            path_effects=[withStroke(linewidth=2, foreground="black")],
        )


def _place_ticks(axes: "Axes", side: str, axis: ResultAxis) -> None:
    """Place ticks of a whole circle at parts of it, and end the axis at its ends."""
    if axis.edges is None or not axis.is_closed or axis.period != 360:
        return
    low, high = float(axis.edges[0]), float(axis.edges[-1])
    room = (width_of(axes) if side == "x" else height_of(axes)) / character_inches() / 6
    step = next((one for one in _STEPS if 360 / one < room), 180)
    ticks = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    (axes.xaxis if side == "x" else axes.yaxis).set_ticks(ticks)
