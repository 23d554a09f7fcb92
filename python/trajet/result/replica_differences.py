"""Differences of two groups of replicas, with corrected probabilities."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import AnalysisError, MissingPackageError
from trajet.hints import with_hints
from trajet.messages import Code, Message, Messages, in_figures, repr_of
from trajet.result import drawn_pairs
from trajet.result.columns import write_csv
from trajet.result.group_mean import GroupMean, first_copies
from trajet.result.profiles import abscissas_of, check_distances, chosen_series, circular
from trajet.result.rows import matched_rows
from trajet.result.sentences import sentences_of_difference
from trajet.uncertainty.replicas import ROUNDING, mean_and_variance
from trajet.uncertainty.student_t import quantile
from trajet.uncertainty.welch import freedom_of, level_of_interval, probability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import FigureSize, Look

_LEVEL = 0.05


@dataclass(frozen=True)
class ReplicaDifference(Messages):
    """Difference of the means of two groups of replicas; made by `EnsembleResult.difference`.

    Welch's test, with probabilities and intervals that hold for small groups of unequal sizes, if
    the larger variance is up to three times the smaller: `trajet.uncertainty.welch`. Probabilities
    of many rows are corrected by Y. Benjamini and Y. Hochberg, J. R. Stat. Soc. B 57, 289 (1995).

    Attributes
    ----------
    name
        Name of the analysis.
    first, second
        Names of the groups.
    axes
        Columns that tell rows apart, `(n_rows,)` each.
    difference
        `(n_rows,)`: mean of the second group minus that of the first.
    standard_error, freedom
        `(n_rows,)`: standard error of the difference, and degrees of freedom.
    p
        `(n_rows,)`: probability of a difference at least as large if both were the same; NaN if the
        numbers of all replicas are equal.
    p_adjusted
        `(n_rows,)`: the same, corrected for the number of rows.
    n_replicas
        Replicas of the first and of the second group.
    messages
        What makes the numbers doubtful.
    """

    name: str
    first: str
    second: str
    axes: Mapping[str, NDArray[np.generic]]
    difference: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    freedom: NDArray[np.float64]
    p: NDArray[np.float64]
    p_adjusted: NDArray[np.float64]
    n_replicas: tuple[int, int]
    messages: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<ReplicaDifference of {self.name}: {self.second} minus {self.first},"
            f" {int(self.is_significant.sum())} of {len(self.difference)} rows differ>"
            + repr_of(self.messages)
        )

    @property
    def is_significant(self) -> NDArray[np.bool_]:
        """`(n_rows,)`: whether the corrected probability is below 0.05.

        Of the rows that differ so, at most one in twenty is expected to do so by chance.
        """
        significant: NDArray[np.bool_] = self.p_adjusted < _LEVEL
        return significant

    @property
    def half_width(self) -> NDArray[np.float64]:
        """`(n_rows,)`: half of the 95 % interval of each difference by itself."""
        half_width = np.full(len(self.difference), np.nan)
        known = np.isfinite(self.p)
        level = level_of_interval(self.n_replicas)
        half_width[known] = self.standard_error[known] * quantile(self.freedom[known], level)
        return half_width

    @property
    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper ends of the 95 % interval of each difference, `(n_rows,)` each."""
        return self.difference - self.half_width, self.difference + self.half_width

    def sentences(self) -> list[str]:
        """Return a sentence for each of a few changes, or one on how many of many rows differ."""
        return list(
            sentences_of_difference(
                self.axes,
                self.difference,
                self.half_width,
                self.p,
                self.p_adjusted,
                groups=(self.first, self.second),
                n_replicas=self.n_replicas,
                level=_LEVEL,
            )
        )

    def to_dataframe(self) -> "DataFrame":
        """Return the rows of the CSV file as a DataFrame.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                "differences as a DataFrame need pandas: pip install 'trajet[pandas]'"
            ) from error
        return pd.DataFrame(self._columns())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file: columns that tell rows apart, difference, low, high, p, p_adjusted.

        Raises
        ------
        ValueError
            If the name does not end in `.csv`.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, (".csv",))
        columns = self._columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        output.write(path, lambda file: write_csv(file, [list(columns)], rows))

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        series: str | Sequence[str] | None = None,
        label: str | None = None,
        color: str | Sequence[str] | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure": ...
    @overload
    def plot(
        self,
        ax: "Axes",
        *,
        series: str | Sequence[str] | None = None,
        label: str | None = None,
        color: str | Sequence[str] | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Axes": ...
    @with_hints
    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        series: str | Sequence[str] | None = None,
        label: str | None = None,
        color: str | Sequence[str] | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure | Axes":
        """Draw the differences with their intervals, and mark those that are significant.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        series
            The series to draw: names of columns, or their labels; None for all that groups have in
            common, the first six at most, each in a panel. Into given axes, one is drawn.
        label, color
            Name in the legend, and colour of what is not significant.
        band, title, size
            See `Table.plot`.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or the given axes; see `Table.plot`.

        Raises
        ------
        ValueError
            If the numbers have several axes, such as pairs of residues or voxels, or there is no
            such series.
        """
        from trajet import plots

        warning = in_figures(self.messages)
        look = plots.Look(label, color, band=band, title=title, warning=warning)
        return plots.for_user(lambda: self._draw(ax, series, look), ax, size)

    def _draw(
        self, ax: "Axes | None", series: str | Sequence[str] | None, look: "Look"
    ) -> "Figure":
        """Draw the differences; see `plot`."""
        from trajet import plots

        groups = plots.unbroken(f"{_values_of(self.second)} − {_values_of(self.first)}")
        n_tests = int(np.isfinite(self.p).sum())
        if drawn_pairs.are_pairs(self.axes):
            numbers = self.difference, self.half_width, self.is_significant
            return drawn_pairs.draw_difference(
                *(self.axes, *numbers),
                groups=groups,
                n_tests=n_tests,
                series=series,
                ax=ax,
                look=look,
            )
        names, note = chosen_series([self.axes], series, most=len(plots.COLOURS))
        panels = [
            plots.DifferencePanel(
                place.name,
                f"{plots.column_label(place.quantity)}, {groups}",
                plots.column_label(place.label),
                place.x,
                self.difference[place.rows],
                self.half_width[place.rows],
                self.is_significant[place.rows],
                place.names,
            )
            for place in abscissas_of(self.axes, names)
        ]
        return plots.replica_difference(panels, note=note, n_tests=n_tests, ax=ax, look=look)

    def _columns(self) -> dict[str, NDArray[np.generic]]:
        low, high = self.interval
        return {
            **self.axes,
            "difference": self.difference,
            "low": low,
            "high": high,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
        }


def difference_of(name: str, first: GroupMean, second: GroupMean) -> ReplicaDifference:
    """Return the second mean minus the first.

    Raises
    ------
    AnalysisError
        If a group has one replica, or the rows cannot be matched.
    """
    for one in (first, second):
        if one.n_replicas < 2:
            raise AnalysisError(
                f"{one.label} has one replica: a difference needs at least two of each group"
            )
    labels = [first.label, second.label]
    messages = check_distances([first.axes, second.axes], labels)
    rows, left_out = matched_rows([first.rows, second.rows], labels)
    messages += left_out
    a, b = first.members[:, rows[0]], second.members[:, rows[1]]
    sizes = first.n_replicas, second.n_replicas
    (mean_a, variance_a), (mean_b, variance_b) = mean_and_variance(a), mean_and_variance(b)
    change = mean_b - mean_a
    change[np.abs(change) <= ROUNDING * np.maximum(np.abs(mean_a), np.abs(mean_b))] = 0
    if first.period is not None:
        change = circular(change, first.period)
    squares = variance_a / sizes[0], variance_b / sizes[1]
    error, freedom = np.sqrt(squares[0] + squares[1]), freedom_of(*squares, sizes)
    is_known = error > 0
    p = np.full(len(change), np.nan)
    p[is_known] = probability(change[is_known] / error[is_known], freedom[is_known], sizes)
    return ReplicaDifference(
        name,
        first.label,
        second.label,
        {name: axis[rows[0]] for name, axis in first.axes.items()},
        change,
        error,
        freedom,
        p,
        adjusted(p),
        sizes,
        tuple(_messages(first, second, messages, is_known)),
    )


def _messages(
    first: GroupMean, second: GroupMean, messages: tuple[Message, ...], is_known: NDArray[np.bool_]
) -> Iterator[Message]:
    """Yield what makes a difference doubtful."""
    yield from messages
    for one in (first, second):
        for message in one.messages:
            yield message.prefixed(f"{one.label}: ")
    lengths = {*first.lengths, *second.lengths}
    if first.is_rmsf and len({*first.lengths}) == len({*second.lengths}) == 1 < len(lengths):
        yield (
            Message(
                Code.UNEQUAL_LENGTHS,
                f"runs of {first.label} have {first.lengths[0]} frames and those of {second.label}"
                f" {second.lengths[0]}: fluctuations of shorter runs come out smaller",
                "compare runs of equal length",
            )
        )
    if first.members.shape[1] == second.members.shape[1]:
        copies = first_copies(first.members, second.members, first.labels, second.labels)
        yield from [] if copies is None else [copies]
    if not is_known.all():
        yield (
            Message(
                Code.NO_NUMBERS,
                f"{int((~is_known).sum())} of {len(is_known)} rows have the same number in all"
                " replicas of both groups, or one that is not finite: no probability is given for"
                " them",
            )
        )


def _values_of(group: str) -> str:
    """Return the name of a group without those of its keys: "system=mutant" as "mutant"."""
    return ", ".join(part.rpartition("=")[2] for part in group.split(", "))


def adjusted(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities corrected for their number by Benjamini and Hochberg; NaN stays NaN."""
    found = np.full(len(p), np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known])]
    n = len(order)
    scaled = p[order] * n / np.arange(1, n + 1)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return found
