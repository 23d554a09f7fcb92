"""Means over replicas of all groups: tables, files and figures."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from trajet import output
from trajet._trajet import MissingPackageError
from trajet.hints import with_hints
from trajet.messages import Message, Messages, emit, in_figures, repr_of
from trajet.result import drawn_pairs
from trajet.result.columns import write_csv
from trajet.result.group_mean import GroupMean
from trajet.result.member_outcome import Key, key_columns
from trajet.result.profiles import abscissas_of_groups, chosen_series
from trajet.result.replica_differences import ReplicaDifference, difference_of
from trajet.result.row_means import ChosenRows, mean_over_rows
from trajet.result.sentences import sentences_of_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import FigureSize, Look

_COLUMNS = ("replicas", "mean", "low", "high", "standard_error", "within", "ratio")


class ReplicaMeans(Messages):
    """Means over replicas with 95 % intervals; made by `EnsembleResult.mean`.

    Attributes
    ----------
    name
        Name of the analysis.
    groups
        The mean of each group.
    """

    def __init__(self, name: str, groups: Sequence[GroupMean]) -> None:
        self.name = name
        self.groups = tuple(groups)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{one.label} of {one.n_replicas}" for one in self.groups)
        return f"<ReplicaMeans of {self.name}: {sizes}>{repr_of(self.messages)}"

    def __iter__(self) -> Iterator[GroupMean]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, group: Key | tuple[Key, ...]) -> GroupMean:
        """Return a group by the value of its key, or by the values of its keys.

        Raises
        ------
        KeyError
            If there is no such group.
        """
        wanted = group if isinstance(group, tuple) else (group,)
        for one in self.groups:
            if tuple(one.keys.values()) == wanted:
                return one
        groups = [tuple(one.keys.values()) for one in self.groups]
        known = ", ".join(repr(one[0] if len(one) == 1 else one) for one in groups)
        raise KeyError(f"{group!r}: there is no such group; the groups are {known}")

    @property
    def messages(self) -> list[Message]:
        """What makes the numbers doubtful, with the group."""
        return [
            message.prefixed(f"{one.label}: ") for one in self.groups for message in one.messages
        ]

    def over(self, **chosen: ChosenRows) -> "ReplicaMeans":
        """Return the means over some rows, such as the residues of a loop, with their errors.

        Each replica gives the mean of its rows, and the error is that of these means between
        replicas: rows of one replica are not independent. Rows that some groups do not have are
        left out. The error within the runs is not known of several rows.

        Parameters
        ----------
        chosen
            By the names of columns that tell rows apart, such as `resid`, `chain` or `r_A`: a
            value, a list of values, or a tuple with the first and the last one. Without them, all
            rows of each quantity.

        Raises
        ------
        ValueError
            If there is no such column, or no such row.
        AnalysisError
            If the rows of groups cannot be matched.

        Examples
        --------
        >>> import trajet as tj
        >>> rows = [{"replica": k, "topology": "adk.psf", "trajectory": "adk.xtc"} for k in (1, 2)]
        >>> mean = tj.rmsf(tj.ensemble(rows).select("name CA"), align="same").mean()
        >>> mean.over(resid=(30, 60)).to_dataframe()["quantity"].tolist()
        ['rmsf_A:31_rows,_resid_30_to_60']
        """
        return ReplicaMeans(self.name, mean_over_rows(self.groups, chosen))

    def difference(self, first: Key, second: Key) -> ReplicaDifference:
        """Return the mean of the second group minus that of the first, with its probability.

        Parameters
        ----------
        first, second
            Values of the key by which the groups were made.

        Raises
        ------
        KeyError
            If there is no such group.
        AnalysisError
            If a group has one replica, or the numbers cannot be matched.
        """
        found = difference_of(self.name, self[first], self[second])
        # The means have warned of their own.
        emit([one for one in found.messages if one not in self.messages])
        return found

    def sentences(self) -> list[str]:
        """Return a sentence for each group and number: the mean with its interval and method."""
        return [text for one in self.groups for text in sentences_of_mean(one)]

    def to_dataframe(self) -> "DataFrame":
        """Return a row for each group and number, as the CSV file has them, as a DataFrame.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                "means as a DataFrame need pandas: pip install 'trajet[pandas]'"
            ) from error
        return pd.DataFrame([*self._rows()], columns=self._header())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file with a row for each group and number.

        Columns are the keys of the groups, those that tell the numbers apart, `replicas`, `mean`,
        `low` and `high` (the 95 % interval between replicas), `standard_error` (between replicas),
        `within` (the error by the fluctuations within the runs) and `ratio` of both.

        Raises
        ------
        ValueError
            If the name does not end in `.csv`.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, (".csv",))
        output.write(path, lambda file: write_csv(file, [self._header()], self._rows()))

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        series: str | Sequence[str] | None = None,
        label: str | Sequence[str] | None = None,
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
        label: str | Sequence[str] | None = None,
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
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure | Axes":
        """Draw each replica as a thin line, and the means with their intervals as bands.

        Numbers that are no function of a residue, distance or lag are points with bars. Those of
        interactions are bars of pairs, with replicas as points.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        series
            The series to draw: names of columns, or their labels; None for all that groups have in
            common, the first six at most, each in a panel. Into given axes, one is drawn.
        label, color
            Names and colours of the groups.
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
        """Draw the means; see `plot`."""
        from trajet import plots

        if all(drawn_pairs.are_pairs(one.axes) for one in self.groups):
            return drawn_pairs.draw_means(self.groups, series, ax, look)
        names, note = chosen_series(
            [one.axes for one in self.groups], series, most=len(plots.COLOURS)
        )
        of_groups = abscissas_of_groups([one.axes for one in self.groups], names)
        panels = []
        for places in zip(*of_groups, strict=True):
            curves = [
                plots.ReplicaCurve(
                    one.short_label,
                    place.x,
                    one.members[:, place.rows],
                    one.mean[place.rows],
                    one.half_width[place.rows],
                )
                for one, place in zip(self.groups, places, strict=True)
            ]
            first = places[0]
            panels.append(
                plots.ReplicaPanel(
                    first.name,
                    plots.column_label(first.quantity),
                    plots.column_label(first.label),
                    curves,
                    first.names,
                )
            )
        return plots.replica_means(panels, note=note, ax=ax, look=look)

    def _axes(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.groups for name in one.axes))

    def _header(self) -> list[str]:
        axes = self._axes()
        return [*key_columns(tuple(self.groups[0].keys), (*axes, *_COLUMNS)), *axes, *_COLUMNS]

    def _rows(self) -> Iterator[list[object]]:
        axes = self._axes()
        for one in self.groups:
            n_rows = one.members.shape[1]
            low, high = one.interval
            columns = [
                one.axes[name].tolist() if name in one.axes else [""] * n_rows for name in axes
            ]
            numbers = [one.mean, low, high, one.standard_error, one.within, one.ratio]
            lists = [column.tolist() for column in numbers]
            for row in zip(*columns, *lists, strict=True):
                yield [
                    *one.keys.values(),
                    *row[: len(axes)],
                    one.n_replicas,
                    *row[len(axes) :],
                ]
