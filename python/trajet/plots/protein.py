"""Figures of secondary structure, of hydrogen bonds, and of lifetimes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.plots.drawable import Numbers, OfFrames
from trajet.plots.drawing import (
    MAX_BINS,
    axes_of,
    colours_in,
    draw_bars,
    draw_counts,
    figure_of,
    finish,
    height_of,
    label_axes,
    line_width,
    shortened,
)
from trajet.plots.look import PLAIN, Look
from trajet.plots.residues import draw_chains_of_image, name_places
from trajet.plots.shared_axes import OF_CHOICE, even_time_axis, lag_axis, limit, limits, take_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of classes of secondary structure: helices are blue, strands orange.
CLASS_COLOURS = {
    "H": "#0072B2",
    "G": "#56B4E9",
    "I": "#332288",
    "E": "#D55E00",
    "B": "#E69F00",
    "T": "#009E73",
    "S": "#B5D99C",
    "-": "#F2F2F2",
}
# Pairs whose occupancies are drawn.
MAX_BARS = 12
# Most characters of the name of such a pair.
LONGEST_PAIR = 48


def secondary_structure(
    result: OfFrames,
    codes: NDArray[np.uint8],
    classes: Mapping[str, str],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the class of each residue against time.

    Parameters
    ----------
    result
        Its axes are frames and residues. If the steps between frames are not equal, the x axis
        counts the chosen frames; else it is that of `series`.
    codes
        `(n_frames, n_residues)`, numbers of classes in their order.
    classes
        Names of the classes by letters.

    Raises
    ------
    ValueError
        If the given axes, or others that share their x axis, show something else along it.
    """
    from matplotlib.colors import ListedColormap

    colours = [CLASS_COLOURS[letter] for letter in classes]
    if look.color is not None:
        colours = look.colours(len(classes))
    look.check_unnamed()
    axes = axes_of(ax, (9.0, 5.0))
    x, x_label = even_time_axis(axes, result.times, result.frames)
    before = limits(axes, "x")
    # Each frame and each residue is a cell around its place.
    half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
    ends = (x[0] - half, x[-1] + half) if len(x) else (0.0, 1.0)
    # Only classes that occur have a colour.
    seen = np.unique(codes)
    image = axes.imshow(
        np.searchsorted(seen, codes).T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=ListedColormap([colours[k] for k in seen]),
        vmin=-0.5,
        vmax=max(1, len(seen)) - 0.5,
        extent=(*ends, -0.5, codes.shape[1] - 0.5),
    )
    bar = figure_of(axes).colorbar(image, ax=axes)
    names = list(classes.values())
    bar.set_ticks(list(range(len(seen))), labels=[names[k] for k in seen])
    bar.ax.tick_params(length=0)
    name_places(axes.yaxis, result.axes[1], height_of(axes))
    draw_chains_of_image(axes, result.axes[1], "y")
    if len(x) > 1:
        # It begins at the first time; chosen frames are seen whole. Axes beside it may still grow.
        shown = ends if x_label == OF_CHOICE else (x[0], x[-1])
        limit(axes, "x", shown, before, keep_auto=True)
    label_axes(axes, x_label, "residue")
    return finish(axes, ax, look, is_image=True)


def occupancies(
    result: Numbers, labels: Sequence[str], ax: "Axes | None" = None, look: Look = PLAIN
) -> "Figure":
    """Draw occupancies (`(n_pairs,)`, descending) of the pairs that have labels, with intervals."""
    axes = axes_of(ax, (6.4, 4.0))
    # Bars of other pairs would stand beside names that are not theirs.
    take_unit(axes, ("occupancy", *labels), "pairs of atoms")
    n = len(labels)
    (colour,), (name,) = colours_in(axes, look, 1), look.names([""])
    known, resolved = result.half_widths, result.resolved
    halves = look.intervals(result.values, known, resolved, are_curves=False)[:n]
    y = np.arange(n, dtype=np.float64)
    draw_bars(axes, y, result.values[:n], halves, colour, name, is_lying=True)
    shown = [shortened(label, LONGEST_PAIR) for label in labels]
    axes.set_yticks(y, shown if ax is None else [])
    axes.tick_params(axis="y", labelsize="small", length=0)
    for k, label in enumerate([] if ax is None else shown):
        # There may be no room beside the axes of a user.
        axes.text(0.01, k, label, va="bottom", fontsize="small")
    axes.set_ylim(max(n, 1) - 0.4, -0.6 if ax is None else -1.0)
    axes.set_xlim(0, 1)
    n_all = len(result.values)
    axes.set_xlabel(f"occupancy of the first {n} of {n_all} pairs" if n < n_all else "occupancy")
    return finish(axes, ax, look, has_grid=False, half_widths=halves)


def correlations(
    times: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
    quantity: str = "correlation",
) -> "Figure":
    """Draw correlation functions (`(n_lags,)`, by name) against the lag (ps)."""
    axes = axes_of(ax, (6.4, 4.0))
    x, unit = lag_axis(axes, times)
    before = limits(axes, "y")
    names, colours = look.names(list(curves)), colours_in(axes, look, len(curves))
    for label, colour, values in zip(names, colours, curves.values(), strict=True):
        axes.plot(x, values, color=colour, linewidth=line_width(1.5), label=shortened(label))
    label_axes(axes, f"lag ({unit})", quantity)
    axes.margins(x=0)
    limit(axes, "y", (0, 1.02), before)
    return finish(axes, ax, look)


def dwell_times(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    rates: tuple[float, float, float],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the distribution of dwell times, and that of the rate with its 95 % interval.

    Parameters
    ----------
    times, values
        `(n_ages,)`, ages in ps, and fractions that last longer.
    rates
        The rate and the ends of its interval, 1/ps.
    """
    axes = axes_of(ax, (6.4, 4.0))
    x, unit = lag_axis(axes, times)
    before = limits(axes, "y")
    rate, low, high = rates
    names = look.names(["Kaplan-Meier", f"rate {in_digits(rate, significant=3)} 1/ps"])
    colours = colours_in(axes, look, 2)
    width = line_width(1.5)
    axes.plot(x, values, "-", color=colours[0], linewidth=width, label=shortened(names[0]))
    axes.lines[-1].set_drawstyle("steps-post")
    if np.isfinite(rate):
        fit, label = np.exp(-rate * times), shortened(names[1])
        axes.plot(x, fit, "--", color=colours[1], linewidth=width, label=label)
        if look.band is not False:
            fastest, slowest = np.exp(-high * times), np.exp(-low * times)
            axes.fill_between(x, fastest, slowest, color=colours[1], alpha=0.2, linewidth=0)
    label_axes(axes, f"dwell time ({unit})", "fraction that lasts longer")
    axes.margins(x=0)
    limit(axes, "y", (0, 1.02), before)
    return finish(axes, ax, look)


def hydrogen_bond_geometry(
    distances: NDArray[np.float64],
    angles: NDArray[np.float64],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw how often distances (Å) and angles (degrees) of hydrogen bonds occur together."""
    axes = axes_of(ax, (5.6, 4.2))
    bins = min(MAX_BINS, max(10, int(np.sqrt(len(distances)) / 4)))
    counts, x, y = np.histogram2d(distances, angles, bins=bins)
    draw_counts(axes, counts, (x, y), look.colour_map("viridis"))
    label_axes(axes, "distance (Å)", "angle D-H-A (degrees)")
    return finish(axes, ax, look, is_image=True)
