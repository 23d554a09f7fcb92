"""Figures of distributions in space, and of displacements."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    axes_of,
    bare,
    figure_of,
    height_of,
    label_below,
    legend_of,
    line_width,
    shortened,
    show_range,
    titled,
    wrapped,
)
from trajet.plots.look import COLOURS, LINES, PLAIN, Look
from trajet.plots.shared_axes import (
    PS_PER_NS,
    lag_axis,
    limit,
    limits,
    reveal,
    shared_label,
    take_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def radial(
    edges: NDArray[np.float64],
    g: NDArray[np.float64],
    *,
    labels: Sequence[str],
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw each g(r) (`(n, bins)`) over the `edges` (`(bins + 1,)`, Å), with known intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    take_unit(axes, "Å", "r (Å)")
    before = limits(axes, "x")
    r = (edges[:-1] + edges[1:]) / 2
    axes.axhline(1, color="0.6", linewidth=0.8, linestyle="--")
    names, colours = look.names(labels), look.colours(len(labels))
    for k, (values, label, colour) in enumerate(zip(g, names, colours, strict=True)):
        style, width = LINES[k // len(COLOURS) % len(LINES)], line_width(1.5)
        name = shortened(label) or None
        axes.plot(r, values, color=colour, linestyle=style, linewidth=width, label=name)
        if half_widths is not None:
            low, high, band = values - half_widths[k], values + half_widths[k], "95 % interval"
            axes.fill_between(r, low, high, color=colour, alpha=0.3, linewidth=0, label=band)
    axes.set_xlabel(shared_label(axes, "x", "r (Å)"))
    axes.set_ylabel(shared_label(axes, "y", "g(r)"))
    titled(axes, look.title(title))
    limit(axes, "x", (edges[0], edges[-1]), before)
    show_range(axes, np.append(g, 1.0))
    bare(axes)
    if half_widths is not None or len(labels) > 1 or look.is_named:
        legend_of(axes, ax)
    return figure_of(axes)


def displacement(
    values: NDArray[np.float64],
    lags: NDArray[np.float64],
    *,
    fit: tuple[float, float],
    line: tuple[float, float],
    legend: str,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
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
    half_widths
        `(n_lags,)`, longer sides of the 95 % intervals, drawn as a band; None for none.
    """
    axes = axes_of(ax, (6.4, 4.4))
    shown = (lags > 0) & (values > 0)
    x = lags[shown]
    _, name_of_unit = lag_axis(axes, x, x[-1] if len(x) else 0.0)
    unit = PS_PER_NS if name_of_unit == "ns" else 1.0
    (colour,), (name,) = look.colours(1), look.names(["MSD"])
    other = COLOURS[1] if look.color is None else colour
    axes.plot(
        x / unit, values[shown], color=colour, linewidth=line_width(1.5), label=shortened(name)
    )
    if half_widths is not None and np.isfinite(half_widths[shown]).any():
        # Nothing below 0 is on a logarithmic axis: the band ends at the lower edge.
        y, half = values[shown], half_widths[shown]
        low = np.maximum(y - half, y.min() / 1.5)
        axes.fill_between(
            x / unit, low, y + half, color=colour, alpha=0.2, linewidth=0, label="95 % interval"
        )
    if np.isfinite(fit).all():
        fitted = line[0] + line[1] * x
        positive = fitted > 0
        axes.plot(
            x[positive] / unit,
            fitted[positive],
            "--",
            color=other,
            linewidth=line_width(1.2),
            label=legend,
        )
        axes.axvspan(fit[0] / unit, fit[1] / unit, color=other, alpha=0.1, linewidth=0)
    if len(x):
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlabel(shared_label(axes, "x", f"lag ({name_of_unit})"))
    axes.set_ylabel(shared_label(axes, "y", "MSD (Å²)"))
    titled(axes, look.title(title))
    bare(axes)
    if len(x):
        legend_of(axes, ax)
    return figure_of(axes)


def density_profile(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    labels: Sequence[str],
    axis: str,
    quantity: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw densities in slices (`(n, bins)`) between `edges` (`(bins + 1,)`, Å), with intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    take_unit(axes, "Å", f"{axis} (Å)")
    names, colours = look.names(labels), look.colours(len(labels))
    for k, (label, colour) in enumerate(zip(names, colours, strict=True)):
        style = LINES[k // len(COLOURS) % len(LINES)]
        axes.stairs(
            values[k],
            edges,
            baseline=None,
            color=colour,
            linestyle=style,
            linewidth=line_width(1.2),
            label=shortened(label),
        )
        if half_widths is not None:
            ends = [values[k] + sign * half_widths[k] for sign in (-1, 1)]
            low, high = (np.append(end, end[-1:]) for end in ends)
            axes.fill_between(edges, low, high, step="post", color=colour, alpha=0.2, linewidth=0)
    if values.size and np.nanmin(values, initial=0) < 0:
        axes.axhline(0, color="0.6", linewidth=0.8)
    show_range(axes, values)
    reveal(axes, "x", edges)
    bands = "" if half_widths is None else "; bands: 95 % intervals"
    label_below(axes, shared_label(axes, "x", f"{axis} (Å)") + bands, "")
    axes.set_ylabel(wrapped(shared_label(axes, "y", quantity), height_of(axes)))
    axes.margins(x=0)
    bare(axes)
    if len(labels) > 1 or look.is_named:
        legend_of(axes, ax)
    else:
        titled(axes, f"density of {labels[0]}")
    return figure_of(axes)
