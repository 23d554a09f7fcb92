"""Figures by matplotlib, which is imported when a figure is drawn; no other module imports it."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which is safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Of classes of secondary structure: helices are blue, strands orange.
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
MARKS = ("o", "s", "^", "D", "v", "x")
LINES = ("-", "--", ":", "-.")
# The running average of a series covers 1/50 of its length, from 200 frames on.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200
PS_PER_NS = 1000.0
MOST_BINS = 60
RAMACHANDRAN_BINS = 90
# Frames of an image of pairs along each side, at most.
MOST_PIXELS = 2000
LEGEND_CHARACTERS = 100
LONGEST_LABEL = 80
# Components whose share of the variance is drawn.
MOST_VARIANCES = 20
# Most names beside one axis.
MOST_NAMES = 6
# Pairs whose occupancies are drawn.
MOST_BARS = 12
# Horizontal offset between curves, as a fraction of the axis of workers.
APART = 0.012


def png(figure: "Figure") -> bytes:
    """Return a figure as a PNG image."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def series(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one or more series against time, with their distribution beside it.

    Parameters
    ----------
    values
        `(n_frames,)` or `(n_frames, n_series)`.
    times, frames
        `(n_frames,)`, ps and frame numbers. If times do not increase, as in concatenated files, the
        x axis shows frame numbers.
    labels
        Name of each series.
    quantity, title
        Label of the y axis, and title of the figure.
    ax
        Axes to draw into, without the distribution; None for a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is not registered with pyplot: save it or show it.
    """
    from matplotlib.figure import Figure

    columns = values.reshape(len(times), len(labels))
    x, x_label = _abscissa(times, frames)
    left, right = ax, None
    if left is None:
        figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 1))
    seen = columns[np.isfinite(columns)]
    bins = np.histogram_bin_edges(seen, min(MOST_BINS, max(10, int(np.sqrt(len(x))))))
    smoothed = False
    for column, label in enumerate(labels):
        y, colour = columns[:, column], COLOURS[column % len(COLOURS)]
        # Where there are more series than colours, lines are dashed.
        style = LINES[column // len(COLOURS) % len(LINES)]
        smoothed |= _line(left, x, y, _shortened(label), colour, style)
        finite = y[np.isfinite(y)]
        if right is None or not finite.size:
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
    bold = f"; bold: mean of {_smoothing(len(x))} neighbouring frames" if smoothed else ""
    left.set_xlabel(x_label + bold)
    left.set_ylabel(_shortened(quantity))
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    left.margins(x=0)
    left.set_ylim(bottom=0)
    _bare(left)
    if right is None:
        if len(labels) > 1:
            left.legend(frameon=False, fontsize="small")
        return _figure_of(left)
    right.set_xlabel("density")
    right.set_xticks([])
    _bare(right)
    if len(labels) > 1:
        # Side by side where that fits below the axes, else one below the other.
        across = sum(len(_shortened(label)) + 8 for label in labels) <= LEGEND_CHARACTERS
        handles = left.get_legend_handles_labels()
        columns_of_legend = len(labels) if across else 1
        figure.legend(*handles, loc="outside lower center", ncols=columns_of_legend, frameon=False)
    return figure


def angles(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw angles (`(n_frames, n)`, degrees) against time.

    As points: lines would cross the jump at 180 degrees.
    """
    x, x_label = _abscissa(times, frames)
    axes = axes_of(ax, (8.0, 4.0))
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    for column, label in enumerate(labels[: len(COLOURS)]):
        axes.scatter(x, values[:, column], s=size, color=COLOURS[column], label=_shortened(label))
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    axes.set_title(f"{shown}dihedral angles", loc="left", fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel("angle (degrees)")
    axes.set_ylim(-180, 180)
    axes.set_yticks(range(-180, 181, 60))
    axes.margins(x=0.01)
    _bare(axes)
    if ax is None:
        axes.figure.legend(loc="outside right upper", frameon=False)
    else:
        axes.legend(frameon=False, fontsize="small")
    return _figure_of(axes)


def ramachandran(
    phi: NDArray[np.float64],
    psi: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
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
    mesh = axes.pcolormesh(x, y, shown, cmap="viridis", norm=norm, rasterized=True)
    axes.figure.colorbar(mesh, ax=axes, label="count")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.set_xlabel("φ (degrees)")
    axes.set_ylabel("ψ (degrees)")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(-180, 181, 60))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    return _figure_of(axes)


def matrix(
    values: NDArray[np.float64],
    rows: NDArray[np.int64 | np.str_],
    columns: NDArray[np.int64 | np.str_],
    *,
    quantity: str,
    axes: tuple[str, str],
    ax: "Axes | None" = None,
    of: str = "atom",
) -> "Figure":
    """Draw a matrix of pairs (`(n_rows, n_columns)`) as an image, the first row at the bottom.

    Parameters
    ----------
    rows, columns
        The atoms, by index, or the names of groups.
    quantity
        Quantity of the colours.
    axes
        Selection of the rows and of the columns.
    of
        Noun for a row or a column.
    """
    drawn = axes_of(ax, (5.6, 4.6))
    image = drawn.imshow(
        values, origin="lower", cmap="viridis", aspect="auto", interpolation="nearest"
    )
    drawn.figure.colorbar(image, ax=drawn, label=quantity)
    for axis, atoms, label in (
        (drawn.yaxis, rows, axes[0]),
        (drawn.xaxis, columns, axes[1]),
    ):
        places = np.unique(np.linspace(0, len(atoms) - 1, 5).astype(int))
        axis.set_ticks(places, [str(atom) for atom in atoms[places]])
        axis.set_label_text(f"{of} ({_shortened(label)})")
    return _figure_of(drawn)


def coordinates(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
) -> "Figure":
    """Draw x, y and z of points (`(n_frames, n_points, 3)`, Å) against time, at most six points."""
    from matplotlib.figure import Figure

    x, x_label = _abscissa(times, frames)
    figure = Figure(figsize=(8.0, 6.0), layout="constrained", dpi=150)
    panels = figure.subplots(3, 1, sharex=True)
    for k, (axes, name) in enumerate(zip(panels, "xyz", strict=True)):
        for point, label in enumerate(labels[: len(COLOURS)]):
            _line(axes, x, values[:, point, k], _shortened(label), COLOURS[point])
        axes.set_ylabel(f"{name} (Å)")
        axes.margins(x=0)
        _bare(axes)
    shown = f"the first {len(COLOURS)} of {len(labels)} " if len(labels) > len(COLOURS) else ""
    panels[0].set_title(f"{shown}centres", loc="left", fontsize="medium")
    panels[-1].set_xlabel(x_label)
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", frameon=False)
    return figure


def contact_map(
    values: NDArray[np.float64],
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    labels: tuple[str, str],
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw fractions of frames (`(n_rows, n_columns)`) as an image, the first row at the bottom.

    Pairs that are left out are grey.

    Parameters
    ----------
    row_names, column_names
        Names of the rows and columns, some of which are shown.
    labels
        What the rows and the columns are.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    # Compressed: the bar of colours is as high as the map beside it.
    axes = axes_of(ax, (5.8, 4.8), layout="compressed")
    n_rows, n_columns = values.shape
    axes.set_facecolor("0.85")
    image = axes.imshow(
        np.ma.masked_invalid(values),
        origin="lower",
        cmap="Blues",
        vmin=0,
        vmax=1,
        aspect="equal" if max(n_rows, n_columns) <= 3 * min(n_rows, n_columns) else "auto",
        interpolation="nearest",
    )
    _figure_of(axes).colorbar(image, ax=axes, label="fraction of frames")
    for axis, names, label in (
        (axes.yaxis, row_names, labels[0]),
        (axes.xaxis, column_names, labels[1]),
    ):

        def name(place: float, _: int, names: Sequence[str] = names) -> str:
            is_row = place == int(place) and 0 <= place < len(names)
            return _shortened(names[int(place)]) if is_row else ""

        axis.set_major_locator(MaxNLocator(MOST_NAMES, integer=True))
        axis.set_major_formatter(FuncFormatter(name))
        axis.set_label_text(_shortened(label))
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    return _figure_of(axes)


def frame_pairs(
    values: NDArray[np.float32],
    rows: tuple[NDArray[np.float64], NDArray[np.int64]],
    columns: tuple[NDArray[np.float64], NDArray[np.int64]] | None,
    *,
    quantity: str,
    labels: tuple[str, ...],
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw a matrix of pairs of frames as an image, the first frame at the lower left.

    Parameters
    ----------
    values
        `(n_rows, n_columns)`. Of more than 2000 frames only every k-th is drawn.
    rows, columns
        Times and frame numbers of the frames; None for the columns of a matrix within one
        trajectory.
    quantity
        What the colours mean.
    labels
        The selection, or those of rows and columns.
    """
    # Compressed: the bar of colours is as high as the image beside it.
    axes = axes_of(ax, (5.6, 4.6), layout="compressed")
    sides = [columns or rows, rows]
    steps = [-(-len(frames) // MOST_PIXELS) or 1 for _, frames in sides]
    shown = np.ma.masked_invalid(np.asarray(values[:: steps[1], :: steps[0]]))
    extent: list[float] = []
    for (times, frames), axis, label in zip(
        sides, (axes.xaxis, axes.yaxis), (labels[-1], labels[0]), strict=True
    ):
        x, x_label = _abscissa(times, frames)
        even = len(x) > 1 and bool(np.allclose(np.diff(x), (x[-1] - x[0]) / (len(x) - 1)))
        if not even:
            # Frames that are chosen one by one: an image has equal steps.
            x, x_label = np.arange(len(frames), dtype=np.float64), "frame of the choice"
        half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
        extent += [x[0] - half, x[-1] + half] if len(x) else [0.0, 1.0]
        axis.set_label_text(x_label if columns is None else f"{x_label}, {_shortened(label)}")
    image = axes.imshow(
        shown,
        origin="lower",
        cmap="viridis",
        extent=(extent[0], extent[1], extent[2], extent[3]),
        aspect="equal" if columns is None else "auto",
        interpolation="nearest",
        vmin=0,
    )
    _figure_of(axes).colorbar(image, ax=axes, label=quantity)
    if columns is None:
        axes.set_title(_shortened(f"pairs of frames, {labels[0]}"), loc="left", fontsize="medium")
    return _figure_of(axes)


def components(
    projections: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    variances: NDArray[np.float64],
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw projections on the first two components, coloured by time, and shares of the variance.

    Parameters
    ----------
    projections
        `(n_frames, n_components)`, Å. If there is one component only, it is drawn against time.
    times, frames
        `(n_frames,)`, ps and frame numbers.
    variances
        `(n,)`, Å², of all components, in descending order.
    """
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (9.0, 4.2), width_ratios=(1.15, 1))
    shares = variances / variances.sum()
    names = [f"component {k + 1}, {100 * share:.1f} % (Å)" for k, share in enumerate(shares[:2])]
    time, time_label = _abscissa(times, frames)
    size = max(2.0, min(16.0, 6000.0 / max(1, len(time))))
    pair = projections.shape[1] > 1
    x, y = (projections[:, 0], projections[:, 1]) if pair else (time, projections[:, 0])
    dots = left.scatter(x, y, c=time, s=size, cmap="viridis")
    left.set_xlabel(names[0] if pair else time_label)
    left.set_ylabel(names[1] if pair else names[0])
    if pair:
        left.set_aspect("equal", adjustable="datalim")
        _figure_of(left).colorbar(dots, ax=left, label=time_label)
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    _bare(left)
    if right is None:
        return _figure_of(left)
    shown = min(len(shares), MOST_VARIANCES)
    numbers = np.arange(1, shown + 1)
    right.bar(numbers, 100 * shares[:shown], color=COLOURS[0], label="each")
    summed = 100 * np.cumsum(shares)[:shown]
    right.plot(numbers, summed, color=COLOURS[1], marker="o", markersize=3, label="cumulated")
    right.set_xlabel("component")
    right.set_ylabel("share of the variance (%)")
    right.set_ylim(0, 105)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.legend(frameon=False, loc="center right")
    _bare(right)
    return _figure_of(left)


def clusters(
    labels: NDArray[np.int64],
    sizes: NDArray[np.int64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the cluster of each frame (`(n_frames,)`) against time, and sizes (`(n_clusters,)`)."""
    from matplotlib.ticker import MaxNLocator

    left, right = two_axes(ax, (8.0, 4.0), width_ratios=(4, 1), sharey=True)
    x, x_label = _abscissa(times, frames)
    size = max(1.0, min(12.0, 3000.0 / max(1, len(x))))
    left.scatter(x, labels, s=size, color=COLOURS[0])
    left.set_xlabel(x_label)
    left.set_ylabel("cluster")
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    left.invert_yaxis()
    _bare(left)
    if right is None:
        return _figure_of(left)
    right.barh(np.arange(len(sizes)), sizes, color=COLOURS[0])
    right.set_xlabel("frames")
    _bare(right)
    return _figure_of(left)


def mean_profile(
    values: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    along: str,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the mean over frames of each column of values (`(n_frames, n_columns)`), one bar each.

    The band is one standard deviation wide on either side.

    Parameters
    ----------
    labels
        Names of the columns, some of which are written below the axis.
    along
        What the columns are: "residue", "atom".
    quantity, title
        Label of the y axis, and title of the figure.
    """
    x = np.arange(values.shape[1])
    empty = np.full(len(x), np.nan)
    mean = values.mean(axis=0) if len(values) else empty
    spread = values.std(axis=0) if len(values) else empty
    axes = axes_of(ax, (8.0, 4.0))
    axes.bar(x, mean, width=1.0, color=COLOURS[0], alpha=0.55, linewidth=0, label="mean")
    axes.errorbar(
        *(x, mean, spread),
        fmt="none",
        ecolor="0.25",
        elinewidth=max(0.3, min(1.5, 120 / max(1, len(x)))),
        label="± standard deviation",
    )
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), 16)).astype(int))
    axes.set_xticks(places, [_shortened(labels[k]) for k in places], rotation=45, ha="right")
    axes.set_xlabel(along)
    axes.set_ylabel(quantity)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.margins(x=0.005)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="upper right")
    _bare(axes)
    return _figure_of(axes)


def secondary_structure(
    codes: NDArray[np.uint8],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    classes: Mapping[str, str],
    labels: tuple[str, ...],
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the class of each residue against time, with the share of each class in the legend.

    Parameters
    ----------
    codes
        `(n_frames, n_residues)`, numbers of classes in their order.
    times, frames
        `(n_frames,)`, ps and frame numbers; the x axis is that of `series`.
    classes
        Names of the classes by letters.
    labels
        Names of the residues, some of which are written beside the axis.
    title
        Title of the figure.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    x, x_label = _abscissa(times, frames)
    axes = axes_of(ax, (9.0, 5.0))
    # Each frame and each residue is a cell around its place.
    half = (x[-1] - x[0]) / (2 * (len(x) - 1)) if len(x) > 1 else 0.5
    ends = (x[0] - half, x[-1] + half) if len(x) else (0.0, 1.0)
    axes.imshow(
        codes.T,
        aspect="auto",
        origin="lower",
        interpolation="nearest",
        cmap=ListedColormap([CLASS_COLOURS[letter] for letter in classes]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        extent=(*ends, -0.5, codes.shape[1] - 0.5),
    )
    places = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), 12)).astype(int))
    axes.set_yticks(places, [_shortened(labels[k]) for k in places])
    axes.set_xlabel(x_label)
    axes.set_ylabel("residue")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    shares = np.bincount(codes.ravel(), minlength=len(classes)) / max(1, codes.size)
    handles = [
        Patch(
            facecolor=CLASS_COLOURS[letter],
            edgecolor="0.6",
            linewidth=0.6,
            label=f"{letter}  {name}, {100 * share:.1f} %",
        )
        for (letter, name), share in zip(classes.items(), shares, strict=True)
        if share > 0
    ]
    if ax is None:
        _figure_of(axes).legend(handles=handles, loc="outside right upper", frameon=False)
    else:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return _figure_of(axes)


def radial(
    edges: NDArray[np.float64],
    g: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw g(r) (`(bins,)`) over the `edges` (`(bins + 1,)`, Å)."""
    axes = axes_of(ax, (6.4, 4.0))
    r = (edges[:-1] + edges[1:]) / 2
    axes.axhline(1, color="0.6", linewidth=0.8, linestyle="--")
    axes.plot(r, g, color=COLOURS[0], linewidth=1.5)
    axes.set_xlabel("r (Å)")
    axes.set_ylabel("g(r)")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.set_xlim(edges[0], edges[-1])
    if np.isfinite(g).any():
        axes.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(g))))
    _bare(axes)
    return _figure_of(axes)


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
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    _bare(axes)
    return _figure_of(axes)


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
        axes.plot(r, values, color=colour, linestyle=style, linewidth=1.5, label=_shortened(label))
    axes.set_xlabel("r (Å)")
    axes.set_ylabel("g(r)")
    title = f"RDF of {labels[0]}" if len(labels) == 1 else "RDF"
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.set_xlim(edges[0], edges[-1])
    if np.isfinite(g).any():
        axes.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(g))))
    _bare(axes)
    if len(labels) > 1:
        _legend_below(axes, ax, 2)
    return _figure_of(axes)


def density_profile(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    axis: str,
    quantity: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw densities in slices (`(bins, n)`) between `edges` (`(bins + 1,)`, Å)."""
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
            label=_shortened(label),
        )
    if values.size and np.nanmin(values, initial=0) < 0:
        axes.axhline(0, color="0.6", linewidth=0.8)
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{axis} (Å)")
    axes.set_ylabel(quantity)
    axes.margins(x=0)
    _bare(axes)
    _legend_below(axes, ax, 1 if len(labels) > 3 else 3)
    return _figure_of(axes)


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

    sides = ((0, 1), (0, 2), (1, 2))
    if ax is None:
        figure: Figure = Figure(figsize=(11.0, 4.0), layout="constrained", dpi=150)
        panels = list(figure.subplots(1, 3))
        figure.suptitle(_shortened(title), fontsize="medium")
    else:
        figure, panels = _figure_of(ax), [ax]
        ax.set_title(_shortened(title), loc="left", fontsize="medium")
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


def profile(
    values: NDArray[np.float64],
    atoms: NDArray[np.int64],
    residues: NDArray[np.int64] | None,
    *,
    labels: Sequence[str] | None,
    quantity: str,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw one value per atom (`(n_atoms,)`).

    Along residue numbers where each residue has one atom and numbers go up, else along the atoms,
    of which some are named by their `labels`.
    """
    along = residues is not None and len(residues) > 1 and bool((np.diff(residues) > 0).all())
    x = residues if along and residues is not None else np.arange(len(atoms))
    axes = axes_of(ax, (8.0, 4.0))
    axes.plot(x, values, color=COLOURS[0], linewidth=1.2)
    axes.fill_between(x, values, color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.set_xlabel("residue" if along else "atom of the selection")
    if labels is not None and not along:
        name_ticks(axes.xaxis, labels, turned=True)
    axes.set_ylabel(quantity)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    _bare(axes)
    return _figure_of(axes)


def axes_of(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    layout: Literal["constrained", "compressed"] = "constrained",
) -> "Axes":
    """Return the given axes, or those of a new figure of this size (inches)."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout, dpi=150).subplots() if ax is None else ax


def two_axes(
    ax: "Axes | None",
    size: tuple[float, float],
    *,
    width_ratios: tuple[float, float],
    sharey: bool = False,
) -> "tuple[Axes, Axes | None]":
    """Return the given axes and None, or two axes side by side of a new figure (inches)."""
    from matplotlib.figure import Figure

    if ax is not None:
        return ax, None
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=sharey, width_ratios=width_ratios)
    return left, right


def name_ticks(axis: "Axis", labels: Sequence[str], *, turned: bool = False) -> None:
    """Name some of the elements 0, 1, … along an axis by their labels, if `turned` at an angle."""
    places = np.unique(np.linspace(0, len(labels) - 1, MOST_NAMES).astype(int))
    axis.set_ticks(places, [_shortened(labels[k]) for k in places])
    if turned:
        for text in axis.get_ticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor")


def hydrogen_bonds(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    occupancies: NDArray[np.float64],
    labels: Sequence[str],
    lifetimes: tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]] | None,
    *,
    title: str,
) -> "Figure":
    """Draw the number of hydrogen bonds (`(n_frames,)`) against time, and occupancies of pairs.

    Parameters
    ----------
    occupancies
        `(n_pairs,)`, descending.
    labels
        Names of the first pairs, which are drawn.
    lifetimes
        Lags (ps) and correlation functions, drawn below; or None.
    """
    from matplotlib.figure import Figure

    rows = 1 if lifetimes is None else 2
    figure = Figure(figsize=(10.0, 4.0 + 2.0 * (rows - 1)), layout="constrained", dpi=150)
    grid = figure.add_gridspec(rows, 2, width_ratios=(3, 2))
    left, right = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[:, 1])
    if lifetimes is not None:
        _correlations(figure.add_subplot(grid[1, 0]), *lifetimes)
    x, x_label = _abscissa(times, frames)
    smoothed = _line(left, x, values, "", COLOURS[0])
    bold = f"; bold: mean of {_smoothing(len(x))} neighbouring frames" if smoothed else ""
    left.set_xlabel(x_label + bold)
    left.set_ylabel("hydrogen bonds")
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    left.margins(x=0)
    left.set_ylim(bottom=0)
    _bare(left)
    _bars(right, occupancies, labels)
    return figure


def occupancies(
    values: NDArray[np.float64], labels: Sequence[str], *, title: str, ax: "Axes | None" = None
) -> "Figure":
    """Draw the occupancies (`(n_pairs,)`, descending) of the pairs that have labels."""
    axes = axes_of(ax, (6.4, 4.0))
    _bars(axes, values, labels)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    return _figure_of(axes)


def correlations(
    times: NDArray[np.float64],
    curves: Mapping[str, NDArray[np.float64]],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw correlation functions (`(n_lags,)`, by name) against the lag (ps)."""
    axes = axes_of(ax, (6.4, 4.0))
    _correlations(axes, times, curves)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    return _figure_of(axes)


def _correlations(
    axes: "Axes", times: NDArray[np.float64], curves: Mapping[str, NDArray[np.float64]]
) -> None:
    """Draw correlation functions."""
    for k, (label, values) in enumerate(curves.items()):
        axes.plot(times, values, color=COLOURS[k % len(COLOURS)], linewidth=1.5, label=label)
    axes.set_xlabel("lag (ps)")
    axes.set_ylabel("correlation")
    axes.margins(x=0)
    axes.set_ylim(0, 1.02)
    _bare(axes)
    axes.legend(frameon=False)


def _bars(axes: "Axes", values: NDArray[np.float64], labels: Sequence[str]) -> None:
    """Draw horizontal bars, the first one on top."""
    shown = values[: len(labels)]
    axes.barh(np.arange(len(shown)), shown, color=COLOURS[0], height=0.7)
    axes.set_yticks(
        np.arange(len(shown)), [_shortened(label) for label in labels], fontsize="small"
    )
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"occupancy of the first {len(shown)} of {len(values)} pairs")
    axes.spines[["top", "right"]].set_visible(False)


def hydrogen_bond_geometry(
    distances: NDArray[np.float64],
    angles: NDArray[np.float64],
    *,
    title: str,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw how often distances (Å) and angles (degrees) of hydrogen bonds occur together."""
    from matplotlib.colors import LogNorm

    axes = axes_of(ax, (5.6, 4.2))
    bins = min(MOST_BINS, max(10, int(np.sqrt(len(distances)) / 4)))
    counts, x, y = np.histogram2d(distances, angles, bins=bins)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(
        x, y, np.ma.masked_equal(counts.T, 0), cmap="viridis", norm=norm, rasterized=True
    )
    _figure_of(axes).colorbar(mesh, ax=axes, label="count")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.set_xlabel("distance (Å)")
    axes.set_ylabel("angle D-H-A (degrees)")
    return _figure_of(axes)


@dataclass(frozen=True)
class Curve:
    """A curve against the number of workers; curves of the same `row` share axes.

    Attributes
    ----------
    row, label
        Names of the row of axes and of the curve.
    workers, figures
        Numbers of workers; means and standard deviations of each quantity.
    """

    row: str
    label: str
    workers: Sequence[int]
    figures: Mapping[str, tuple[Sequence[float], Sequence[float]]]


def scaling(curves: Sequence[Curve], *, title: str, weak: bool) -> "Figure":
    """Draw reading, computing, speed-up and efficiency against the number of workers.

    Parameters
    ----------
    curves
        Curves with the quantities t_io, t_comp, S and E, and at most as many labels as there are
        colours.
    title
        Title of the figure.
    weak
        Whether the frames grow with the workers.
    """
    from matplotlib.figure import Figure

    panels = (
        ("t_io", "reading and decoding, $t_{IO}$ (s)"),
        ("t_comp", "computing, $t_{comp}$ (s)"),
        ("S", "speed-up S"),
        ("E", "efficiency E"),
    )
    rows = list(dict.fromkeys(curve.row for curve in curves))
    labels = list(dict.fromkeys(curve.label for curve in curves))
    numbers = sorted({n for curve in curves for n in curve.workers})
    figure = Figure(figsize=(12.0, 2.2 * len(rows) + 1.6), layout="constrained", dpi=150)
    grid = figure.subplots(len(rows), len(panels), sharex=True, sharey="col", squeeze=False)
    # Side by side, so that no deviation hides another.
    apart = APART * max(1.0, np.log2(numbers[-1] / numbers[0]))
    handles = dict[str, Any]()  # matplotlib takes containers for artists, its types do not
    for curve in curves:
        k = labels.index(curve.label)
        for axes, (name, _) in zip(grid[rows.index(curve.row)], panels, strict=True):
            mean, sd = (np.array(values) for values in curve.figures[name])
            handles[_shortened(curve.label)] = axes.errorbar(
                np.array(curve.workers) * 2 ** (apart * (k - (len(labels) - 1) / 2)),
                mean,
                yerr=np.nan_to_num(sd),
                color=COLOURS[k % len(COLOURS)],
                marker=MARKS[k % len(MARKS)],
                markersize=4,
                linewidth=1.2,
                capsize=2,
            )
    ideal = {"S": numbers, "E": [1] * len(numbers)}
    for axes_of_row, row in zip(grid, rows, strict=True):
        axes_of_row[0].set_ylabel(_shortened(row))
        for axes, (name, _) in zip(axes_of_row, panels, strict=True):
            axes.set_ylim(bottom=0)
            if name in ideal:
                (line,) = axes.plot(numbers, ideal[name], color="0.6", ls="--", lw=0.8, zorder=0)
                handles["ideal"] = line
            _bare(axes)
    grid[0, 0].set_xscale("log", base=2)
    grid[0, 0].set_xticks(numbers, [str(n) for n in numbers])
    grid[0, 0].minorticks_off()
    for top, bottom, (_, label) in zip(grid[0], grid[-1], panels, strict=True):
        top.set_title(label, fontsize="medium")
        bottom.set_xlabel("workers" + (", each with as many frames" if weak else ""))
    figure.suptitle(_shortened(title), fontsize="medium")
    # The figure is half as wide again as others.
    across = sum(len(label) + 8 for label in handles) <= 1.5 * LEGEND_CHARACTERS
    columns, place = len(handles) if across else 3, "outside lower center"
    figure.legend(handles.values(), handles, loc=place, ncols=columns, frameon=False)
    return figure


def throughput(
    curves: Mapping[str, Mapping[str, Sequence[NDArray[np.float64]]]], *, title: str
) -> "Figure":
    """Draw tasks per second against time.

    Parameters
    ----------
    curves
        By pool and number of workers: an array `(n, 2)` per repeat, with times since its start (s)
        and rates. The line is the mean over the repeats, the band one standard deviation.
    title
        Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    for k, (pool, by_workers) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        for (workers, repeats), style in zip(by_workers.items(), ("-", "--"), strict=False):
            times = np.mean(repeats, axis=0)[:, 0]
            rates = np.array(repeats)[:, :, 1]
            mean, sd = rates.mean(axis=0), rates.std(axis=0, ddof=min(1, len(rates) - 1))
            label = f"{pool}, {workers}"
            axes.plot(times, mean, color=colour, linestyle=style, linewidth=1.5, label=label)
            low = np.maximum(mean - sd, mean / 10)
            axes.fill_between(times, low, mean + sd, color=colour, alpha=0.15, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("time since the begin of the run (s)")
    axes.set_ylabel("tasks a second")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    _bare(axes)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


@dataclass(frozen=True)
class Sized:
    """A curve against the number of frames.

    Attributes
    ----------
    label, group, kind
        Name of the curve; the group sets its colour, the kind its mark.
    frames, values
        Points of the curve.
    """

    label: str
    group: str
    kind: str
    frames: Sequence[int]
    values: Sequence[float]


def against_frames(curves: Sequence[Sized], *, quantity: str, title: str) -> "Figure":
    """Draw what grows with the number of frames, on logarithmic axes."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(9.0, 5.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    groups = list(dict.fromkeys(curve.group for curve in curves))
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    for curve in curves:
        group, kind = groups.index(curve.group), kinds.index(curve.kind)
        axes.plot(
            curve.frames,
            curve.values,
            color=COLOURS[group % len(COLOURS)],
            marker=MARKS[kind % len(MARKS)],
            # Marks of equal curves are seen through each other.
            markerfacecolor="none" if kind else None,
            markersize=5 if kind == 0 else 7,
            linestyle=LINES[kind % len(LINES)],
            linewidth=1.2,
            label=_shortened(curve.label),
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    numbers = sorted({n for curve in curves for n in curve.frames})
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.minorticks_off()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("frames")
    axes.set_ylabel(quantity)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    _bare(axes)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def points_drawn(
    low: NDArray[np.floating], high: NDArray[np.floating]
) -> Callable[[NDArray[np.float32]], None]:
    """Return a function that draws positions (`(n_atoms, 3)`), seen along y, to an image in memory.

    Parameters
    ----------
    low, high
        `(3,)`, corners of the visible box, Å.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[2], high[2])
    axes.set_aspect("equal")
    (points,) = axes.plot([], [], linestyle="none", marker=",", color=COLOURS[0])

    def draw(positions: NDArray[np.float32]) -> None:
        points.set_data(positions[:, 0], positions[:, 2])
        canvas.draw()

    return draw


def _legend_below(axes: "Axes", ax: "Axes | None", columns: int) -> None:
    """Add a legend: below the axes of a figure of our own, within given ones."""
    if ax is None:
        _figure_of(axes).legend(loc="outside lower center", ncols=columns, frameon=False)
    else:
        axes.legend(frameon=False, fontsize="small")


def _figure_of(axes: "Axes") -> "Figure":
    """Return the figure of axes; of users it may be a part of a figure, which can be drawn too."""
    return cast("Figure", axes.figure)


def _bare(axes: "Axes") -> None:
    """Remove the upper and right borders of axes, and add horizontal grid lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def _abscissa(
    times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return the values of the x axis and its label."""
    if len(times) < 2 or not (np.diff(times) > 0).all():
        return frames.astype(np.float64), "frame"
    if times[-1] - times[0] >= 10 * PS_PER_NS:
        return times / PS_PER_NS, "time (ns)"
    return times, "time (ps)"


def _shortened(label: str) -> str:
    """Return a label that fits the width of a figure, for text of matplotlib.

    Dollar signs in selections and file names are escaped: matplotlib uses them for formulas.
    """
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return short.replace("$", r"\$")


def _line(
    axes: "Axes",
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    label: str,
    colour: str,
    style: str = "-",
) -> bool:
    """Draw a series, a long one with its running average; return whether it has one."""
    if len(y) < SMOOTHED_FROM or not np.isfinite(y).all():
        axes.plot(x, y, color=colour, linestyle=style, linewidth=1.2, label=label)
        return False
    width = _smoothing(len(y))
    axes.plot(x, y, color=colour, linewidth=0.5, alpha=0.35)
    smooth = np.convolve(y, np.full(width, 1 / width), mode="valid")
    begin = (len(y) - len(smooth)) // 2
    middle = x[begin : begin + len(smooth)]
    axes.plot(middle, smooth, color=colour, linestyle=style, linewidth=1.8, label=label)
    return True


def _smoothing(n_frames: int) -> int:
    """Return the number of frames of a running average."""
    return n_frames // SMOOTHED_PART
