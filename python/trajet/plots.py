"""Figures by matplotlib, which is imported when a figure is drawn; no other module imports it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The palette of Okabe and Ito, which is safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "x")
LINES = ("-", "--", ":", "-.")
# The running average of a series covers 1/50 of its length, from 200 frames on.
SMOOTHED_PART = 50
SMOOTHED_FROM = 200
PS_PER_NS = 1000.0
MOST_BINS = 60
RAMACHANDRAN_BINS = 90
LEGEND_CHARACTERS = 100
LONGEST_LABEL = 80
# Horizontal offset between curves, as a fraction of the axis of workers.
APART = 0.012


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
        `(n_frames,)`, ps and frame numbers. If times do not increase, as in concatenated files, the
        x axis shows frame numbers.
    labels
        Name of each series.
    quantity, title
        Label of the y axis, and title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, which is not registered with pyplot: save it or show it.
    """
    from matplotlib.figure import Figure

    columns = values.reshape(len(times), len(labels))
    x, x_label = _abscissa(times, frames)
    figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(5, 1))
    seen = columns[np.isfinite(columns)]
    bins = np.histogram_bin_edges(seen, min(MOST_BINS, max(10, int(np.sqrt(len(x))))))
    smoothed = False
    for column, label in enumerate(labels):
        y, colour = columns[:, column], COLOURS[column % len(COLOURS)]
        smoothed |= _line(left, x, y, _shortened(label), colour)
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
    bold = f"; bold: mean of {_smoothing(len(x))} neighbouring frames" if smoothed else ""
    left.set_xlabel(x_label + bold)
    left.set_ylabel(_shortened(quantity))
    left.set_title(_shortened(title), loc="left", fontsize="medium")
    left.margins(x=0)
    left.set_ylim(bottom=0)
    right.set_xlabel("density")
    right.set_xticks([])
    _bare(left)
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
) -> "Figure":
    """Draw angles (`(n_frames, n)`, degrees) against time.

    As points: lines would cross the jump at 180 degrees.
    """
    from matplotlib.figure import Figure

    x, x_label = _abscissa(times, frames)
    figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
    axes = figure.subplots()
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
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def ramachandran(phi: NDArray[np.float64], psi: NDArray[np.float64], *, title: str) -> "Figure":
    """Draw how often φ and ψ (`(n_frames, n_residues)`, degrees) occur together."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    # Compressed: the bar of colours is as high as the square beside it.
    figure = Figure(figsize=(5.4, 4.5), layout="compressed", dpi=150)
    axes = figure.subplots()
    seen = np.isfinite(phi) & np.isfinite(psi)
    limits = ((-180.0, 180.0), (-180.0, 180.0))
    counts, x, y = np.histogram2d(phi[seen], psi[seen], bins=RAMACHANDRAN_BINS, range=limits)
    shown = np.ma.masked_equal(counts.T, 0)
    norm = LogNorm(vmin=1, vmax=max(2.0, float(counts.max())))
    mesh = axes.pcolormesh(x, y, shown, cmap="viridis", norm=norm, rasterized=True)
    figure.colorbar(mesh, label="count")
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.set_xlabel("φ (degrees)")
    axes.set_ylabel("ψ (degrees)")
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(-180, 181, 60))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    return figure


def matrix(
    values: NDArray[np.float64],
    rows: NDArray[np.int64 | np.str_],
    columns: NDArray[np.int64 | np.str_],
    *,
    quantity: str,
    axes: tuple[str, str],
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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.6), layout="constrained", dpi=150)
    drawn = figure.subplots()
    image = drawn.imshow(
        values, origin="lower", cmap="viridis", aspect="auto", interpolation="nearest"
    )
    figure.colorbar(image, label=quantity)
    for axis, atoms, label in (
        (drawn.yaxis, rows, axes[0]),
        (drawn.xaxis, columns, axes[1]),
    ):
        places = np.unique(np.linspace(0, len(atoms) - 1, 5).astype(int))
        axis.set_ticks(places, [str(atom) for atom in atoms[places]])
        axis.set_label_text(f"{of} ({_shortened(label)})")
    return figure


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


def radial(edges: NDArray[np.float64], g: NDArray[np.float64], *, title: str) -> "Figure":
    """Draw g(r) (`(bins,)`) over the `edges` (`(bins + 1,)`, Å)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=150)
    axes = figure.subplots()
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
    return figure


def radials(
    edges: NDArray[np.float64], g: NDArray[np.float64], *, labels: tuple[str, ...]
) -> "Figure":
    """Draw several g(r) (`(n, bins)`) over the `edges` (`(bins + 1,)`, Å)."""
    figure = radial(edges, g[0], title=f"RDF of {labels[0]}" if len(labels) == 1 else "RDF")
    (axes,) = figure.axes
    (line,) = axes.get_lines()[1:]
    line.set_label(_shortened(labels[0]))
    r = (edges[:-1] + edges[1:]) / 2
    for k, (values, label) in enumerate(zip(g[1:], labels[1:], strict=True), start=1):
        colour, style = COLOURS[k % len(COLOURS)], LINES[k // len(COLOURS) % len(LINES)]
        axes.plot(r, values, color=colour, linestyle=style, linewidth=1.5, label=_shortened(label))
    if np.isfinite(g).any():
        axes.set_ylim(0, 1.08 * max(1.0, float(np.nanmax(g))))
    if len(labels) > 1:
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def density_profile(
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    labels: tuple[str, ...],
    axis: str,
    quantity: str,
) -> "Figure":
    """Draw densities in slices (`(bins, n)`) between `edges` (`(bins + 1,)`, Å)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained", dpi=150)
    axes = figure.subplots()
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
    figure.legend(loc="outside lower center", ncols=1 if len(labels) > 3 else 3, frameon=False)
    return figure


def projections(
    values: NDArray[np.float64],
    edges: Sequence[NDArray[np.float64]],
    *,
    quantity: str,
    title: str,
) -> "Figure":
    """Draw the mean of a grid (`(nx, ny, nz)`) along z, y and x, as three images."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.0), layout="constrained", dpi=150)
    panels = figure.subplots(1, 3)
    means = [np.nan_to_num(values.mean(axis=axis)) for axis in (2, 1, 0)]
    high = max(float(mean.max()) for mean in means)
    low = min(0.0, *(float(mean.min()) for mean in means))
    images = []
    for axes, mean, (one, other) in zip(panels, means, ((0, 1), (0, 2), (1, 2)), strict=True):
        images.append(
            axes.pcolormesh(
                edges[one],
                edges[other],
                mean.T,
                cmap="viridis",
                vmin=low,
                vmax=high or 1.0,
                rasterized=True,
            )
        )
        axes.set_xlabel(f"{'xyz'[one]} (Å)")
        axes.set_ylabel(f"{'xyz'[other]} (Å)")
        axes.set_aspect("equal")
    figure.colorbar(images[0], ax=panels, label=f"mean {quantity}")
    figure.suptitle(_shortened(title), fontsize="medium")
    return figure


def profile(
    values: NDArray[np.float64],
    atoms: NDArray[np.int64],
    residues: NDArray[np.int64] | None,
    *,
    quantity: str,
    title: str,
) -> "Figure":
    """Draw one value per atom (`(n_atoms,)`).

    Along residue numbers where each residue has one atom and numbers go up, else along the atoms.
    """
    from matplotlib.figure import Figure

    along = residues is not None and len(residues) > 1 and bool((np.diff(residues) > 0).all())
    x = residues if along and residues is not None else np.arange(len(atoms))
    figure = Figure(figsize=(8.0, 4.0), layout="constrained", dpi=150)
    axes = figure.subplots()
    axes.plot(x, values, color=COLOURS[0], linewidth=1.2)
    axes.fill_between(x, values, color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.set_xlabel("residue" if along else "atom of the selection")
    axes.set_ylabel(quantity)
    axes.set_title(_shortened(title), loc="left", fontsize="medium")
    axes.margins(x=0)
    axes.set_ylim(bottom=0)
    _bare(axes)
    return figure


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
    axes: "Axes", x: NDArray[np.float64], y: NDArray[np.float64], label: str, colour: str
) -> bool:
    """Draw a series, a long one with its running average; return whether it has one."""
    if len(y) < SMOOTHED_FROM or not np.isfinite(y).all():
        axes.plot(x, y, color=colour, linewidth=1.2, label=label)
        return False
    width = _smoothing(len(y))
    axes.plot(x, y, color=colour, linewidth=0.5, alpha=0.35)
    smooth = np.convolve(y, np.full(width, 1 / width), mode="valid")
    begin = (len(y) - len(smooth)) // 2
    axes.plot(x[begin : begin + len(smooth)], smooth, color=colour, linewidth=1.8, label=label)
    return True


def _smoothing(n_frames: int) -> int:
    """Return the number of frames of a running average."""
    return n_frames // SMOOTHED_PART
