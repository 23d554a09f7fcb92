"""Figures of means with their errors, of all results with values per frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import plots
from trajet.plots.drawable import OfFrames
from trajet.uncertainty.estimates import MIN_FRAMES
from trajet.uncertainty.even_times import clock_of
from trajet.uncertainty.statistics import Statistics, statistics_of_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lengths at which a mean is computed.
_LENGTHS = 30
# Quantities that are distances from a structure, whose means over time say little.
_WITHOUT_MEAN = ("RMSD",)


def are_drawn(name: str, look: plots.Look) -> bool:
    """Return whether lines of means over time are drawn for a quantity; see `Table.plot`."""
    if look.mean or look.band:
        return True
    return look.mean is None and name not in _WITHOUT_MEAN


def means_of(stats: Statistics) -> plots.Means:
    """Return means as figures take them."""
    of = stats.estimates
    return plots.Means(of.mean, of.half_width, of.is_resolved)


def convergence(
    result: OfFrames,
    values: NDArray[np.float64],
    labels: Sequence[str],
    quantity: str,
    period: float | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw means and correlation times of the first part of a series against its length.

    Parameters
    ----------
    result
        The result with the frames.
    values
        `(n_frames, n_series)`, of which as many as there are colours are drawn.
    labels
        Name of each series.
    quantity
        Label of the axis.
    period
        Period of values on a circle, or None.

    Raises
    ------
    ValueError
        If there are too few frames.
    """
    if len(values) < 2 * MIN_FRAMES:
        raise ValueError(f"{len(values)} frames are too few to draw how their mean converges")
    clock = clock_of(result.times, result.frames)
    clock, values, frames = clock.ascending(values[:, : len(plots.COLOURS)], result.frames)
    ends = np.unique(np.linspace(MIN_FRAMES, len(values), _LENGTHS).astype(int))
    parts = [
        statistics_of_frames(values[:end], clock, frames[:end], period=period).estimates
        for end in ends.tolist()
    ]
    means = np.array([part.mean for part in parts])
    return plots.convergence(
        ends * clock.step,
        plots.Means(
            means if period is None else np.unwrap(means, axis=0, period=period),
            np.array([part.half_width for part in parts]),
            np.array([part.is_resolved for part in parts]),
        ),
        np.array([part.correlation_steps for part in parts]) * clock.step,
        labels=labels,
        quantity=quantity,
        unit=clock.unit,
        ax=ax,
        look=look,
    )


def histogram(
    result: OfFrames,
    values: NDArray[np.float64],
    labels: Sequence[str],
    quantity: str,
    period: float | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw the distribution of series with their means; see `convergence`.

    Raises
    ------
    ValueError
        If no value is finite.
    """
    if not np.isfinite(values).any():
        raise ValueError("there are no values to draw")
    values = values[:, : len(plots.COLOURS)]
    means = None
    if are_drawn(result.name, look):
        clock = clock_of(result.times, result.frames)
        means = means_of(statistics_of_frames(values, clock, result.frames, period=period))
    return plots.histogram(values, means, labels=labels, quantity=quantity, ax=ax, look=look)
