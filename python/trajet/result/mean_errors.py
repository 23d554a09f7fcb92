"""Errors of means in summaries: what commands print, and what JSON files hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.summary import Column, statistics

if TYPE_CHECKING:
    from trajet.uncertainty.statistics import Statistics

_HALF_WIDTH = "± 95 %"


def with_errors(
    values: NDArray[np.float64],
    stats: "Statistics",
    *,
    form: str,
    names: Sequence[str],
    unit: str,
) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Return mean, longer side of its interval, deviation and extremes, and a line on the errors.

    Parameters
    ----------
    values
        `(n_frames, n_series)`.
    stats
        Their statistics.
    form
        How the numbers are shown.
    names
        Names of the series, for the line.
    unit
        Unit of the values.
    """
    mean, *others = statistics(values, form, limit=None)
    return (mean, half_widths(stats, form), *others), lines_of_errors(stats, names, unit)


def half_widths(stats: "Statistics", form: str) -> Column:
    """Return the column of longer sides of 95 % intervals; None where they are unknown."""
    widths = stats.estimates.half_width.tolist()
    return Column(_HALF_WIDTH, [width if np.isfinite(width) else None for width in widths], form)


def lines_of_errors(stats: "Statistics", names: Sequence[str], unit: str) -> tuple[str, ...]:
    """Return a line on the errors of the means: a sentence on one, or a count of several."""
    n_series = len(stats.estimates.mean)
    if not n_series or not stats.estimates.n_frames.any():
        return ()
    if n_series == 1:
        return (stats.sentences(unit)[0],)
    wrong = [k for k, reason in enumerate(stats.estimates.reasons) if reason]
    about = f"{_HALF_WIDTH}: longer side of the interval of the mean"
    if not wrong:
        return (f"{about}; all {n_series} means are resolved",)
    first = f"{names[wrong[0]]}: {stats.estimates.reasons[wrong[0]]}"
    verb = "are" if len(wrong) > 1 else "is"
    return (f"{about}; {len(wrong)} of {n_series} means {verb} not resolved ({first})",)


def table_of_errors(stats: "Statistics", names: Sequence[str]) -> tuple[Column, ...]:
    """Return all statistics of each series as columns with one row per series, for files."""
    of, step = stats.estimates, stats.clock.step
    return (
        Column("series", list(names)),
        Column("mean", of.mean),
        Column("low_95", of.low),
        Column("high_95", of.high),
        Column("standard_error", of.standard_error),
        Column("std", of.std),
        Column(f"correlation_time_{stats.time_unit}", of.correlation_steps * step),
        Column("n_effective", of.n_effective),
        Column("n_frames", of.n_frames),
        Column(f"equilibration_{stats.time_unit}", of.cuts * step),
        Column("resolved", of.is_resolved.tolist()),
        Column("reason", list(map(str, of.reasons))),
    )
