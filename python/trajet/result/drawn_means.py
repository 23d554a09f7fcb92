"""Figures of means with their errors, of all results with values per frame."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import plots
from trajet.uncertainty.estimates import LEAST_FRAMES
from trajet.uncertainty.even_times import clock_of
from trajet.uncertainty.statistics import Statistics, statistics_of_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lengths at which a mean is computed.
_LENGTHS = 30


def means_of(stats: Statistics) -> plots.Means:
    """Return means as figures take them."""
    of = stats.estimates
    return plots.Means(of.mean, of.half_width, of.is_resolved)


def convergence(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
    quantity: str,
    period: float | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw means and correlation times of the first part of a series against its length.

    Parameters
    ----------
    values
        `(n_frames, n_series)`.
    times, frames
        `(n_frames,)`, ps and frame numbers.
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
    if len(values) < 2 * LEAST_FRAMES:
        raise ValueError(f"{len(values)} frames are too few to draw how their mean converges")
    clock, values, frames = clock_of(times, frames).ascending(values, frames)
    most = len(plots.COLOURS)
    values = values[:, :most]
    ends = np.unique(np.linspace(LEAST_FRAMES, len(values), _LENGTHS).astype(int))
    parts = [
        statistics_of_frames(values[:end], clock, frames[:end], period=period).estimates
        for end in ends.tolist()
    ]
    means = np.array([part.mean for part in parts])
    return plots.convergence(
        ends * clock.step,
        means if period is None else np.unwrap(means, axis=0, period=period),
        np.array([part.half_width for part in parts]),
        np.array([part.correlation_steps for part in parts]) * clock.step,
        np.array([part.is_resolved for part in parts]),
        labels=labels[:most],
        quantity=quantity,
        unit=clock.unit,
        title=_title("convergence", labels),
        ax=ax,
        look=look,
    )


def histogram(
    values: NDArray[np.float64],
    times: NDArray[np.float64],
    frames: NDArray[np.int64],
    *,
    labels: tuple[str, ...],
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
    most = len(plots.COLOURS)
    values = values[:, :most]
    stats = statistics_of_frames(values, clock_of(times, frames), frames, period=period)
    return plots.histogram(
        values,
        means_of(stats),
        labels=labels[:most],
        quantity=quantity,
        title=_title("distribution", labels),
        ax=ax,
        look=look,
    )


def _title(what: str, labels: tuple[str, ...]) -> str:
    """Return the title of a figure, which says how many series are shown."""
    most = len(plots.COLOURS)
    if len(labels) == 1:
        return f"{what}: {labels[0]}"
    return f"{what} of the first {most} of {len(labels)} series" if len(labels) > most else what
