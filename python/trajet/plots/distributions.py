"""Figures of distributions in space, and of displacements."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    COLOURS,
    LINES,
    PS_PER_NS,
    axes_of,
    bare,
    check_axes,
    figure_of,
    height_of,
    legend_of,
    shortened,
    titled,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def radial(
    edges: NDArray[np.float64],
    g: NDArray[np.float64],
    *,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw g(r) (`(bins,)`) over the `edges` (`(bins + 1,)`, Å), with its intervals if known."""
    axes = axes_of(ax, (6.4, 4.0))
    r = (edges[:-1] + edges[1:]) / 2
    axes.axhline(1, color="0.6", linewidth=0.8, linestyle="--")
    axes.plot(r, g, color=COLOURS[0], linewidth=1.5)
    if half_widths is not None:
        low, high = g - half_widths, g + half_widths
        axes.fill_between(
            r, low, high, color=COLOURS[0], alpha=0.3, linewidth=0, label="95 % interval"
        )
        axes.legend(frameon=False)
    axes.set_xlabel("r (Å)")
    axes.set_ylabel("g(r)")
    titled(axes, title)
    axes.set_xlim(edges[0], edges[-1])
    if np.isfinite(g).any():
        axes.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(g))))
    bare(axes)
    return figure_of(axes)


def displacement(
    values: NDArray[np.float64],
    lags: NDArray[np.float64],
    *,
    fit: tuple[float, float],
    line: tuple[float, float],
    legend: str,
    title: str,
    ax: "Axes | None" = None,
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
    shown = (lags > 0) & (values > 0)
    x, x_label, unit = lags[shown], "lag (ps)", 1.0
    if len(x) and x[-1] >= 10 * PS_PER_NS:
        x_label, unit = "lag (ns)", PS_PER_NS
    axes.plot(x / unit, values[shown], color=COLOURS[0], linewidth=1.5, label="MSD")
    if np.isfinite(fit).all():
        fitted = line[0] + line[1] * x
        positive = fitted > 0
        axes.plot(
            x[positive] / unit,
            fitted[positive],
            "--",
            color=COLOURS[1],
            linewidth=1.2,
            label=legend,
        )
        axes.axvspan(fit[0] / unit, fit[1] / unit, color=COLOURS[1], alpha=0.1, linewidth=0)
    if len(x):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(values[shown].min() / 1.5, values[shown].max() * 1.5)
        axes.legend(frameon=False, loc="upper left")
    axes.set_xlabel(x_label)
    axes.set_ylabel("MSD (Å²)")
    titled(axes, title)
    bare(axes)
    return figure_of(axes)


def radials(
    edges: NDArray[np.float64],
    g: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw several g(r) (`(n, bins)`) over the `edges` (`(bins + 1,)`, Å)."""
    axes = axes_of(ax, (6.4, 4.0))
    r = (edges[:-1] + edges[1:]) / 2
    axes.axhline(1, color="0.6", linewidth=0.8, linestyle="--")
    for k, (values, label) in enumerate(zip(g, labels, strict=True)):
        colour, style = COLOURS[k % len(COLOURS)], LINES[k // len(COLOURS) % len(LINES)]
        axes.plot(r, values, color=colour, linestyle=style, linewidth=1.5, label=shortened(label))
    axes.set_xlabel("r (Å)")
    axes.set_ylabel("g(r)")
    title = f"RDF of {labels[0]}" if len(labels) == 1 else "RDF"
    titled(axes, title)
    axes.set_xlim(edges[0], edges[-1])
    if np.isfinite(g).any():
        axes.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(g))))
    bare(axes)
    if len(labels) > 1:
        legend_of(axes, ax)
    return figure_of(axes)


def density_profile(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    axis: str,
    quantity: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw densities in slices (`(bins, n)`) between `edges` (`(bins + 1,)`, Å), with intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    for k, label in enumerate(labels):
        colour, style = COLOURS[k % len(COLOURS)], LINES[k // len(COLOURS) % len(LINES)]
        axes.stairs(
            values[:, k],
            edges,
            baseline=None,
            color=colour,
            linestyle=style,
            linewidth=1.2,
            label=shortened(label),
        )
        if half_widths is not None:
            ends = [values[:, k] + sign * half_widths[:, k] for sign in (-1, 1)]
            low, high = (np.append(end, end[-1:]) for end in ends)
            axes.fill_between(edges, low, high, step="post", color=colour, alpha=0.2, linewidth=0)
    if values.size and np.nanmin(values, initial=0) < 0:
        axes.axhline(0, color="0.6", linewidth=0.8)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{axis} (Å)" + ("" if half_widths is None else "; bands: 95 % intervals"))
    axes.set_ylabel(wrapped(quantity, height_of(axes)))
    axes.margins(x=0)
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def projections(
    values: NDArray[np.float64],
    edges: Sequence[NDArray[np.float64]],
    *,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the mean of a grid (`(nx, ny, nz)`) along z, y and x, as three images.

    Into given axes, only the mean along z is drawn.
    """
    from matplotlib.figure import Figure

    check_axes(ax)
    sides = ((0, 1), (0, 2), (1, 2))
    if ax is None:
        figure: Figure = Figure(figsize=(11.0, 4.0), layout="constrained", dpi=150)
        panels = list(figure.subplots(1, 3))
        figure.suptitle(wrapped(title, figure.get_figwidth()), fontsize="medium")
    else:
        figure, panels = figure_of(ax), [ax]
        titled(ax, title)
    means = [np.nan_to_num(values.mean(axis=axis)) for axis in (2, 1, 0)[: len(panels)]]
    high = max(float(mean.max()) for mean in means)
    low = min(0.0, *(float(mean.min()) for mean in means))
    for axes, mean, (one, other) in zip(panels, means, sides, strict=False):
        image = axes.pcolormesh(
            edges[one],
            edges[other],
            mean.T,
            cmap="viridis",
            vmin=low,
            vmax=high or 1.0,
            rasterized=True,
        )
        axes.set_xlabel(f"{'xyz'[one]} (Å)")
        axes.set_ylabel(f"{'xyz'[other]} (Å)")
        axes.set_aspect("equal")
    figure.colorbar(image, ax=panels, label=f"mean {quantity}")
    return figure
