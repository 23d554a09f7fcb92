"""Figures of numbers against time, and of numbers per atom or residue."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.plots.drawing import (
    MOST_BINS,
    abscissa,
    axes_of,
    bare,
    begin_at_zero,
    figure_of,
    height_of,
    label_below,
    legend_of,
    line,
    line_width,
    name_ticks,
    new_figure,
    shortened,
    show_range,
    titled,
    two_axes,
    wrapped,
)
from trajet.plots.look import COLOURS, LINES, PLAIN, Look
from trajet.plots.means import Means, draw_bands
from trajet.plots.residues import (
    Places,
    draw_chains,
    name_elements,
    places_of,
    places_of_residues,
    title_pad,
)
from trajet.plots.shared_axes import (
    limit,
    limits,
    note_values,
    shared_label,
    take_unit,
    time_axis,
    words_on_averages,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RAMACHANDRAN_BINS = 90
# Most columns of which a mean is drawn as bars: more would merge.
_MOST_BARS = 60


def series(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    quantity: str,
    title: str,
    means: Means | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw one or more series against time, with their distribution beside it.

    Parameters
    ----------
    values
        `(n_frames,)` or `(n_frames, n_series)`.
    times, frames
        `(n_frames,)`, ps and frame numbers. If times do not increase, as in concatenated files, the
        x axis shows frame numbers. In axes with other results it has their unit.
    labels
        Name of each series.
    quantity, title
        Label of the y axis, and title of the figure.
    means
        Their means, drawn as bands; None for none. Bands do not change the range of the axis.
    ax
        Axes to draw into, without the distribution; None for a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is not registered with pyplot: save it or show it.

    Raises
    ------
    ValueError
        If the given axes, or others that share their x axis, show something else along it.
    """
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (8.0, 4.0), width_ratios=(5, 1), sharey=True, panels=1)
    is_alone = not left.has_data()
    columns = values.reshape(len(times), len(labels))
    x, x_label = time_axis(left, times, frames)
    names, colours = look.names(labels), look.colours(len(labels))
    seen = columns[np.isfinite(columns)]
    is_whole = bool(seen.size) and np.array_equal(seen, np.round(seen))
    bins = _bins(seen, len(x), is_whole=is_whole)
    smoothed = 1
    for column, (label, colour) in enumerate(zip(names, colours, strict=True)):
        y = columns[:, column]
        # If there are more series than colours, further lines are dashed.
        style = LINES[column // len(COLOURS) % len(LINES)]
        width = line(left, x, y, shortened(label), colour, style, look=look)
        smoothed = max(smoothed, width)
        finite = y[np.isfinite(y)]
        if right is None or not finite.size:
            continue
        _draw_beside(right, finite, bins, colour)
    show_range(left, columns)
    words = ""
    if means is not None:
        words = draw_bands(left, means, colours, is_alone=is_alone)
    x_label = shared_label(left, "x", x_label) + words_on_averages(left, smoothed)
    label_below(left, x_label, words)
    left.set_ylabel(wrapped(shared_label(left, "y", quantity), height_of(left)))
    titled(left, look.title(title))
    left.margins(x=0)
    if is_whole:
        left.yaxis.set_major_locator(MaxNLocator(integer=True))
    bare(left)
    if len(labels) > 1 or look.is_named:
        legend_of(left, ax)
    if right is not None:
        right.set_xlabel("density")
        right.set_xticks([])
        bare(right)
    return figure_of(left)


def _bins(seen: NDArray[np.float64], n_frames: int, *, is_whole: bool) -> NDArray[np.float64]:
    """Return the edges of bins of all finite values; few whole numbers have a bin for each."""
    if is_whole and np.ptp(seen) < MOST_BINS:
        return np.arange(seen.min() - 0.5, seen.max() + 1.0)
    return np.histogram_bin_edges(seen, min(MOST_BINS, max(10, int(np.sqrt(n_frames)))))


def _draw_beside(
    axes: "Axes", finite: NDArray[np.float64], bins: NDArray[np.float64], colour: str
) -> None:
    """Draw the distribution of a series beside it."""
    axes.hist(
        finite,
        bins=bins.tolist(),
        orientation="horizontal",
        histtype="stepfilled",
        density=True,
        edgecolor=colour,
        facecolor=(colour, 0.25),
        linewidth=line_width(1.2),
    )


def angles(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw angles (`(n_frames, n)`, degrees) against time.

    They are drawn as points: lines would cross the jump at 180 degrees.
    """
    axes = axes_of(ax, (8.0, 4.0))
    x, x_label = time_axis(axes, times, frames)
    before = limits(axes, "y")
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    names = look.names(labels[: len(COLOURS)])
    for column, (label, colour) in enumerate(zip(names, look.colours(len(names)), strict=True)):
        axes.scatter(x, values[:, column], s=size, color=colour, label=shortened(label))
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    titled(axes, look.title(f"{shown}dihedral angles"))
    note_values(axes, values)
    axes.set_xlabel(shared_label(axes, "x", x_label))
    axes.set_ylabel(shared_label(axes, "y", "angle (degrees)"))
    limit(axes, "y", (-180, 180), before)
    axes.set_yticks(range(-180, 181, 60))
    axes.margins(x=0.01)
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def ramachandran(
    phi: NDArray[np.float64],
    psi: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw how often φ and ψ (`(n_frames, n_residues)`, degrees) occur together."""
    from matplotlib.colors import LogNorm

    # Compressed: the bar of colours is as high as the square beside it.
    axes = axes_of(ax, (5.4, 4.5), layout="compressed")
    seen = np.isfinite(phi) & np.isfinite(psi)
    limits = ((-180.0, 180.0), (-180.0, 180.0))
    counts, x, y = np.histogram2d(phi[seen], psi[seen], bins=RAMACHANDRAN_BINS, range=limits)
    shown = np.ma.masked_equal(counts.T, 0)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(x, y, shown, cmap=look.colour_map("viridis"), norm=norm, rasterized=True)
    axes.figure.colorbar(mesh, ax=axes, label="count")
    titled(axes, look.only_title(title))
    axes.set_xlabel("φ (degrees)")
    axes.set_ylabel("ψ (degrees)")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(-180, 181, 60))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    return figure_of(axes)


def coordinates(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    look: Look = PLAIN,
) -> "Figure":
    """Draw x, y and z of points (`(n_frames, n_points, 3)`, Å) against time, at most six points."""
    x, x_label = abscissa(times, frames)
    figure = new_figure((8.0, 6.0))
    panels = figure.subplots(3, 1, sharex=True)
    names = look.names(labels[: len(COLOURS)])
    colours = look.colours(len(names))
    for k, (axes, name) in enumerate(zip(panels, "xyz", strict=True)):
        for point, (label, colour) in enumerate(zip(names, colours, strict=True)):
            line(axes, x, values[:, point, k], shortened(label), colour, look=look)
        show_range(axes, values[:, : len(names), k])
        axes.set_ylabel(f"{name} (Å)")
        axes.margins(x=0)
        bare(axes)
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    titled(panels[0], look.title(f"{shown}centres"), figure.get_figwidth())
    panels[-1].set_xlabel(x_label)
    legend_of(panels[0], None)
    return figure


def mean_profile(
    values: NDArray[np.float64],
    *,
    labels: Sequence[str],
    chains: Sequence[str] | None,
    along: str,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw the mean over frames of each column of values (`(n_frames, n_columns)`).

    Of few columns it is drawn as bars, of many as a line. Standard deviations are bars or a band.

    Parameters
    ----------
    labels
        Names of the columns, without those of chains; some are written below the axis.
    chains
        Name of the chain of each column, which are drawn apart from one another; None if there is
        one.
    along
        Kind of the columns: "residue", "atom".
    quantity, title
        Label of the y axis, and title of the figure.
    """
    n = values.shape[1]
    empty = np.full(n, np.nan)
    mean = values.mean(axis=0) if len(values) else empty
    spread = values.std(axis=0) if len(values) else empty
    axes = axes_of(ax, (8.0, 4.0))
    (colour,) = look.colours(1)
    (name,) = look.names(["mean"])
    places = places_of(n, chains)
    take_unit(axes, places.unit(labels), f"{along}s by name")
    note_values(axes, mean)
    x = places.x
    if n <= _MOST_BARS:
        axes.bar(x, mean, width=0.8, color=colour, alpha=0.55, linewidth=0, label=name)
        axes.errorbar(
            *(x, mean, spread),
            fmt="none",
            ecolor="0.25",
            elinewidth=1.0,
            label="± standard deviation",
        )
    else:
        for k, part in enumerate(places.parts):
            first = k == 0
            ends = mean[part] - spread[part], mean[part] + spread[part]
            axes.fill_between(
                *(x[part], *ends),
                color=colour,
                alpha=0.25,
                linewidth=0,
                label="± standard deviation" if first else None,
            )
            axes.plot(
                *(x[part], mean[part]),
                color=colour,
                linewidth=line_width(1.0),
                label=shortened(name) if first else None,
            )
    name_elements(axes, places, labels)
    draw_chains(axes, places)
    axes.set_xlabel(shared_label(axes, "x", along))
    axes.set_ylabel(wrapped(shared_label(axes, "y", quantity), height_of(axes)))
    titled(axes, look.title(title), pad=title_pad(places))
    axes.margins(x=0.005)
    begin_at_zero(axes)
    bare(axes)
    legend_of(axes, ax)
    return figure_of(axes)


def profile(
    values: NDArray[np.float64],
    atoms: Mapping[str, NDArray[np.generic]],
    *,
    quantity: str,
    title: str,
    half_widths: NDArray[np.float64] | None = None,
    ax: "Axes | None" = None,
    look: Look = PLAIN,
) -> "Figure":
    """Draw one value per atom (`(n_atoms,)`), with the longer side of its interval if known.

    The x axis has residue numbers if each residue has one atom and the numbers increase within
    each chain; otherwise it has atoms, some of which are named by their labels. Chains are drawn
    apart from one another.

    Parameters
    ----------
    atoms
        "resid", "chain" and "label" of each atom, as far as they are known.
    """
    numbers = atoms.get("resid")
    residues = None if numbers is None else numbers.astype(np.int64)
    labels, chains = (
        atoms[name].tolist() if name in atoms else None for name in ("label", "chain")
    )
    along = places_of_residues(residues, chains)
    places = along or places_of(len(values), chains)
    axes = axes_of(ax, (8.0, 4.0))
    x_label = "residue" if along else "atom of the selection"
    of = "several chains" if places.chains else "a chain"
    shown = f"residue numbers of {of}" if along else f"atoms of {of}"
    numbered = [""] * len(values) if labels is None else labels
    take_unit(axes, places.unit(None if along else numbered), shown)
    note_values(axes, values)
    (colour,) = look.colours(1)
    (name,) = look.names([""])
    for k, part in enumerate(places.parts):
        _draw_profile(
            axes,
            places.x[part],
            values[part],
            None if half_widths is None else half_widths[part],
            colour,
            shortened(name) if k == 0 else "",
            is_first=k == 0,
        )
    axes.set_xlabel(shared_label(axes, "x", x_label))
    if along is None and labels is not None:
        _name_atoms(axes, places, labels)
    draw_chains(axes, places)
    axes.set_ylabel(wrapped(shared_label(axes, "y", quantity), height_of(axes)))
    titled(axes, look.title(title), pad=title_pad(places))
    axes.margins(x=0)
    begin_at_zero(axes)
    bare(axes)
    if half_widths is not None or look.is_named:
        legend_of(axes, ax)
    return figure_of(axes)


def _name_atoms(axes: "Axes", places: Places, labels: Sequence[str]) -> None:
    """Name some of the atoms below the x axis."""
    if len(places.parts) == 1:
        name_ticks(axes.xaxis, labels, turned=True)
    else:
        name_elements(axes, places, labels)


def _draw_profile(
    axes: "Axes",
    x: NDArray[np.float64],
    values: NDArray[np.float64],
    half_widths: NDArray[np.float64] | None,
    colour: str,
    label: str,
    *,
    is_first: bool,
) -> None:
    """Draw the values of one chain as a line, with an area or the intervals."""
    axes.plot(x, values, color=colour, linewidth=line_width(1.2), label=label or None)
    if half_widths is None:
        axes.fill_between(x, values, color=colour, alpha=0.15, linewidth=0)
        return
    axes.fill_between(
        *(x, values - half_widths, values + half_widths),
        color=colour,
        alpha=0.3,
        linewidth=0,
        label="95 % interval" if is_first else None,
    )
