"""Figures of distributions in space, and of displacements."""

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawable import Numbers
from trajet.plots.drawing import (
    axes_of,
    colours_in,
    draw_band,
    finish,
    label_axes,
    line_width,
    shortened,
    show_range,
)
from trajet.plots.look import COLOURS, LINES, PLAIN, Look
from trajet.plots.shared_axes import PS_PER_NS, lag_axis, limit, limits, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_T = TypeVar("_T", bound=np.generic)

# The column along the x axis of curves, by the kind of the axis.
CURVES = {"lag": "time", "time": "time", "wavenumber": "wavenumber"}
# Colour of a fitted line, which is that of no result.
_FIT = "0.1"


def over_bins(
    result: Numbers,
    x_label: str,
    y_label: str,
    *,
    level: float | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw each curve of a result over its axis of bins, with intervals.

    Parameters
    ----------
    level
        A number at which a line is drawn, such as 1 for a radial distribution; None for no line.
    """
    along = next(k for k, axis in enumerate(result.axes) if axis.edges is not None)
    axis = result.axes[along]
    edges = axis.edges
    assert edges is not None

    def curves(array: NDArray[_T]) -> NDArray[_T]:
        return np.moveaxis(array, along, -1).reshape(-1, len(edges) - 1)

    values = curves(result.values)
    known, resolved = result.half_widths, result.resolved
    halves = look.intervals(
        values,
        None if known is None else curves(known),
        None if resolved is None else curves(resolved),
    )
    axes = axes_of(ax, (6.4, 4.0))
    # Bins without a quantity of their own are those of distances.
    take_unit(axes, axis.label or "Å", x_label)
    before = limits(axes, "x")
    if level is not None:
        axes.axhline(level, color="0.6", linewidth=line_width(0.8), linestyle="--")
    r = (edges[:-1] + edges[1:]) / 2
    if axis.is_closed and axis.period is not None:
        # Lines go on over both ends of a circle.
        r = np.r_[r[-1] - axis.period, r, r[0] + axis.period]
        values, halves = (np.pad(one, ((0, 0), (1, 1)), "wrap") for one in (values, halves))
    names, colours = look.names(result.columns), colours_in(axes, look, len(values))
    for k, (y, name, colour) in enumerate(zip(values, names, colours, strict=True)):
        style, width = LINES[k // len(COLOURS) % len(LINES)], line_width(1.5)
        axes.plot(r, y, color=colour, linestyle=style, linewidth=width, label=shortened(name))
        draw_band(axes, r, y, halves[k], colour)
    label_axes(axes, x_label, y_label)
    limit(axes, "x", (edges[0], edges[-1]), before)
    show_range(axes, values if level is None else np.append(values, level))
    return finish(axes, ax, look, half_widths=halves)


def curves(result: Numbers, column: str, ax: "Axes | None" = None, look: Look = PLAIN) -> "Figure":
    """Draw each curve of a result over the numbers of its first axis, with intervals.

    Parameters
    ----------
    column
        The column of the axis: times, ps, or wavenumbers, 1/cm.
    """
    x = result.axes[0].columns[column].astype(np.float64)
    values = result.values.reshape(len(x), -1)
    halves = look.intervals(result.values, result.half_widths, result.resolved).reshape(len(x), -1)
    axes = axes_of(ax, (6.4, 4.0))
    x_label = f"{column} (1/cm)"
    if column == "time":
        x, unit = lag_axis(axes, x, float(x.max(initial=0.0)))
        x_label = f"{result.axes[0].kind} ({unit})"
    else:
        take_unit(axes, column, x_label)
    names, colours = look.names(result.columns), colours_in(axes, look, values.shape[1])
    for y, half, name, colour in zip(values.T, halves.T, names, colours, strict=True):
        axes.plot(x, y, color=colour, linewidth=line_width(1.5), label=shortened(name))
        draw_band(axes, x, y, half, colour)
    label_axes(axes, x_label, result.quantity)
    axes.margins(x=0)
    show_range(axes, values)
    return finish(axes, ax, look, half_widths=halves)


def displacement(
    result: Numbers,
    lags: NDArray[np.float64],
    *,
    fit: tuple[float, float],
    line: tuple[float, float],
    legend: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw a mean squared displacement (`(n_lags,)`, Å²) against the lag (ps) on logarithmic axes.

    Parameters
    ----------
    fit
        Range of the fit, ps; NaN without one.
    line
        Intercept (Å²) and slope (Å²/ps) of the fitted line.
    legend
        Name of the line.
    """
    axes = axes_of(ax, (6.4, 4.4))
    shown = (lags > 0) & (result.values > 0)
    x, y = lags[shown], result.values[shown]
    _, unit = lag_axis(axes, x, x[-1] if len(x) else 0.0)
    per_unit = PS_PER_NS if unit == "ns" else 1.0
    (colour,), (name,) = colours_in(axes, look, 1), look.names(["MSD"])
    if len(x):
        axes.set_xscale("log")
        axes.set_yscale("log")
    width = line_width(2.5)
    axes.plot(x / per_unit, y, color=colour, linewidth=width, label=shortened(name))
    halves = look.intervals(result.values, result.half_widths, result.resolved)[shown]
    draw_band(axes, x / per_unit, y, halves, colour)
    has_fit = bool(np.isfinite(fit).all())
    if has_fit:
        within = (x >= fit[0]) & (x <= fit[1])
        at = x[within & (line[0] + line[1] * x > 0)]
        axes.plot(
            at / per_unit,
            line[0] + line[1] * at,
            linestyle="--",
            color=_FIT,
            linewidth=line_width(1.5),
            label=legend,
            zorder=3,
        )
    label_axes(axes, f"lag ({unit})", result.quantity)
    return finish(axes, ax, look, has_legend=has_fit, half_widths=halves)
