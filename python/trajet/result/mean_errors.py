"""Errors of means in summaries: what commands print, and what JSON files hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.summary import HALF_WIDTH, Column, statistics, with_half_widths

if TYPE_CHECKING:
    from trajet.uncertainty.statistics import Statistics

_ABOUT = f"{HALF_WIDTH}: longer side of the interval of the mean"


@dataclass(frozen=True)
class ErrorLines:
    """Sentences of a summary on the errors of means.

    Attributes
    ----------
    always
        Which means are not resolved; empty if all are.
    verbose
        Each mean with its interval, correlation time, effective frames and equilibration.
    """

    always: tuple[str, ...] = ()
    verbose: tuple[str, ...] = ()


def with_errors(
    values: NDArray[np.float64],
    stats: "Statistics",
    *,
    form: str,
    names: Sequence[str],
    unit: str,
) -> tuple[tuple[Column, ...], ErrorLines]:
    """Return mean, longer side of its interval, deviation and extremes, and lines on the errors.

    Parameters
    ----------
    values
        `(n_frames, n_series)`.
    stats
        Their statistics.
    form
        How the numbers are shown.
    names
        Names of the series, for the lines.
    unit
        Unit of the values.
    """
    mean, *others = statistics(values, form, limit=None)
    mean_and_half = with_half_widths(mean, stats.estimates.half_width)
    return (*mean_and_half, *others), lines_of_errors(stats, names, unit)


def lines_of_errors(stats: "Statistics", names: Sequence[str], unit: str) -> ErrorLines:
    """Return lines on the errors of the means of series with these names, in a unit."""
    reasons = list(map(str, stats.estimates.reasons))
    n_series = len(reasons)
    if not n_series or not stats.estimates.n_frames.any():
        return ErrorLines()
    sentences = stats.sentences(unit)
    wrong = [k for k, reason in enumerate(reasons) if reason]
    if n_series == 1:
        always = tuple(f"mean not resolved: {reasons[k]}" for k in wrong)
        return ErrorLines(always, (sentences[0].removesuffix(f"; not resolved: {reasons[0]}"),))
    named = (f"{name}: {text}" for name, text in zip(names, sentences, strict=True))
    verbose = (_ABOUT, *named)
    if not wrong:
        return ErrorLines(verbose=verbose)
    verb = "are" if len(wrong) > 1 else "is"
    first = f"{names[wrong[0]]}: {reasons[wrong[0]]}"
    line = f"{len(wrong)} of {n_series} means {verb} not resolved ({first})"
    return ErrorLines((line,), verbose)


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
