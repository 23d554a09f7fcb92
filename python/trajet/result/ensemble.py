"""Results of an analysis of several members of an ensemble."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, overload

from trajet import output
from trajet._trajet import AnalysisError, MissingPackageError
from trajet.hints import with_hints
from trajet.messages import Code, Message, Messages, emit, in_figures, repr_of
from trajet.result.columns import write_csv
from trajet.result.group_mean import group_mean, messages_of_members
from trajet.result.member_outcome import Key, MemberOutcome, key_columns, with_chains_of_first
from trajet.result.profiles import Profile, common_profiles
from trajet.result.replica_differences import ReplicaDifference
from trajet.result.replica_means import ReplicaMeans
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import FigureSize

_R_co = TypeVar("_R_co", bound=Table, covariant=True)


class EnsembleResult(Messages, Generic[_R_co]):
    """The results of one analysis of the members of an ensemble.

    Its tables are tidy: the keys of the member, then the columns of the result.

    Attributes
    ----------
    name
        Name of the analysis.
    outcomes
        One entry for each member, in order: its keys, and its result or exception.

    Examples
    --------
    >>> import trajet as tj
    >>> rows = [{"replica": k, "topology": "adk.psf", "trajectory": "adk.xtc"} for k in (1, 2)]
    >>> result = tj.rmsd(tj.ensemble(rows).select("name CA"))
    >>> result.to_dataframe().columns.tolist()
    ['replica', 'frame', 'time_ps', 'rmsd_A']
    """

    def __init__(self, name: str, outcomes: Sequence[MemberOutcome[_R_co]]) -> None:
        self.name = name
        self.outcomes = tuple(outcomes)

    @property
    def messages(self) -> list[Message]:
        """Warnings and notes of the results of members, one for each code with its count."""
        return messages_of_members(self.outcomes)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        about = f"<EnsembleResult of {self.name}: {len(self.outcomes)} members{failed}>"
        return about + repr_of(self.messages)

    def __len__(self) -> int:
        return len(self.results)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[_R_co]:
        return iter(self.results)

    def __getitem__(self, number: int) -> _R_co:
        return self.results[number]

    @property
    def results(self) -> list[_R_co]:
        """The results of the members that did not fail, in order."""
        return [one.result for one in self.outcomes if one.result is not None]

    @property
    def failures(self) -> list[MemberOutcome[_R_co]]:
        """The members that failed: `keys`, `label` and `error` of each."""
        return [one for one in self.outcomes if one.result is None]

    @property
    def n_reused(self) -> int:
        """Number of results that an earlier run had computed."""
        return sum(one.is_reused for one in self.outcomes)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the keys."""
        return tuple(self.outcomes[0].keys)

    def done(self) -> list[tuple[Mapping[str, Key], _R_co]]:
        """Return keys and result of each member that did not fail.

        Raises
        ------
        AnalysisError
            If all failed.
        """
        found = [(one.keys, one.result) for one in self.outcomes if one.result is not None]
        if not found:
            first = self.outcomes[0]
            raise AnalysisError(
                f"{self.name}: all {len(self.outcomes)} members failed, the first"
                f" ({first.label}): {first.error}"
            )
        return found

    def where(self, **keys: Key) -> "EnsembleResult[_R_co]":
        """Return the results of the members with these values of keys.

        Raises
        ------
        ValueError
            If there is no such key, or no member.
        """
        self._check_keys(keys)
        chosen = [
            one for one in self.outcomes if all(one.keys[k] == value for k, value in keys.items())
        ]
        if not chosen:
            raise ValueError(f"no member has {', '.join(f'{k}={v}' for k, v in keys.items())}")
        return EnsembleResult(self.name, chosen)

    def mean(self, by: str | Sequence[str] | None = None) -> ReplicaMeans:
        """Return the means over replicas, with the errors between and within them.

        Results with a value per frame give their means over time, each column by itself. Residues
        with other names, as after a mutation, have those of the first member.

        Parameters
        ----------
        by
            The key, or the keys, by which members are grouped, such as "system"; those of one group
            are its replicas. None for all keys but `replica`. An empty list makes one group of all.

        Raises
        ------
        ValueError
            If there is no such key.
        AnalysisError
            If all members failed, or their numbers cannot be matched.

        Examples
        --------
        >>> import trajet as tj
        >>> rows = [{"replica": k, "topology": "adk.psf", "trajectory": "adk.xtc"} for k in (1, 2)]
        >>> mean = tj.rmsf(tj.ensemble(rows).select("name CA"), align="same").mean()
        >>> mean
        <ReplicaMeans of rmsf: all members of 2>
        1 warning: all members: all replicas have the same numbers: are they copies of one file?
        >>> mean.messages
        ['all members: all replicas have the same numbers: are they copies of one file?']
        """
        names = [by] if isinstance(by, str) else by
        if names is None:
            names = [name for name in self.keys if name != "replica"]
        self._check_keys(names)
        self.done()
        groups: dict[tuple[Key, ...], list[tuple[MemberOutcome[Table], Profile]]] = {}
        outcomes = [one for one in with_chains_of_first(self.outcomes) if one.result is not None]
        profiles = common_profiles(outcomes)
        for one, profile in zip(outcomes, profiles, strict=True):
            key = tuple(one.keys[name] for name in names)
            groups.setdefault(key, []).append((one, profile))
        means = ReplicaMeans(
            self.name,
            [
                group_mean(
                    dict(zip(names, values, strict=True)),
                    [one for one, _ in members],
                    [profile for _, profile in members],
                    is_rmsf=self.name == "rmsf",
                )
                for values, members in groups.items()
            ],
        )
        known = set[Code]()
        for group in means.groups:
            known.update(group.codes_of_members)
        # The analysis has warned of those of members.
        emit(means.messages, leave_out=known)
        return means

    def difference(
        self, first: Key, second: Key, *, by: str = "system", match: Literal["residue"] = "residue"
    ) -> ReplicaDifference:
        """Return the mean of group `second` minus that of group `first`, with p-values.

        Parameters
        ----------
        first, second
            Values of the key `by`: the mean of the second minus that of the first.
        by
            The key by which members are grouped.
        match
            Residues are matched by chain, residue number and insertion code, and atoms by their
            names, too. Other numbers are matched by their distances, lags or names.

        Raises
        ------
        ValueError
            If there is no such key or group, or `match` is another word.
        AnalysisError
            If a group has one replica, or the numbers cannot be matched.
        """
        if match != "residue":
            raise ValueError(f'match is "residue", not {match!r}')
        self._check_keys([by])
        means = self.mean(by)
        known = [one.keys[by] for one in means]
        for value in (first, second):
            if value not in known:
                raise ValueError(f"no member with {by}={value} has a result; there are {known}")
        return means.difference(first, second)

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        kind: Literal["overlay", "violin"] | None = None,
        series: str | Sequence[str] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure": ...
    @overload
    def plot(
        self,
        ax: "Axes",
        *,
        kind: Literal["overlay", "violin"] | None = None,
        series: str | Sequence[str] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Axes": ...
    @with_hints
    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: Literal["overlay", "violin"] | None = None,
        series: str | Sequence[str] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure | Axes":
        """Draw the means over replicas, see `ReplicaMeans.plot`, or the values of all frames.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        kind
            "overlay" draws the series of all runs against time; "violin" the distribution and the
            mean of each run, and the means of the groups with their intervals. Both are of results
            with values per frame.
        series
            The series to draw: names of columns, or their labels; None for all that members have in
            common, the first six at most, each in a panel. Into given axes, one is drawn.
        label, color
            Names and colours of the groups; of an overlay of one group, those of the runs.
        smooth
            Frames of the running average of an overlay; see `Table.plot`.
        band, title, size
            See `Table.plot`.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or the given axes; see `Table.plot`.

        Raises
        ------
        ValueError
            If there is no such kind or series, results have no values per frame, or several series
            are to be drawn into given axes.

        Examples
        --------
        >>> import trajet as tj
        >>> rows = [{"replica": k, "topology": "adk.psf", "trajectory": "adk.xtc"} for k in (1, 2)]
        >>> ensemble = tj.ensemble(rows)
        >>> result = tj.rmsd(ensemble.select("name CA"), groups=["resid 1:29", "resid 30:59"])
        >>> len(result.plot(kind="overlay").axes)
        3
        >>> result.plot(kind="violin", series="resid 30:59").axes[0].get_ylabel()
        'RMSD (Å)'
        """
        from trajet import plots
        from trajet.result.member_figures import KINDS, draw_runs

        if kind is None and smooth is not None:
            raise ValueError('smooth is of kind="overlay": leave it out')
        if kind not in (None, *KINDS):
            raise ValueError(f"kind is one of {', '.join(map(repr, KINDS))}, or None, not {kind!r}")
        warning, means = in_figures(self.messages), self.mean()
        look = plots.Look(label, color, smooth, band=band, title=title, warning=warning)

        def draw() -> "Figure":
            if kind is None:
                return means._draw(ax, series, look)
            outcomes = [
                one for one in with_chains_of_first(self.outcomes) if one.result is not None
            ]
            return draw_runs(self.name, outcomes, means, kind, series, ax, look)

        return plots.for_user(draw, ax, size)

    def _check_keys(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.keys:
                raise ValueError(f"members have no {name}: their keys are {', '.join(self.keys)}")

    def to_dataframe(self) -> "DataFrame":
        """Return the tables of all members below one another, with their keys, as a DataFrame.

        A key with the name of another column begins with `member_`.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        AnalysisError
            If all members failed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                "a result as a DataFrame needs pandas: pip install 'trajet[pandas]'"
            ) from error
        tables = []
        for keys, result in self.done():
            table = result.to_dataframe()
            names = key_columns(self.keys, table.columns)
            for k, (name, column) in enumerate(zip(keys, names, strict=True)):
                table.insert(k, column, keys[name])
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tables of all members to one CSV file, with all digits.

        Columns are the keys, then those of the results. A column that a member does not have is
        empty there.

        Raises
        ------
        ValueError
            If the name does not end in `.csv`.
        OutputError
            If the file cannot be written.
        AnalysisError
            If all members failed.
        """
        path = Path(path)
        output.check(path, (".csv",))
        found = self.done()
        columns = list(dict.fromkeys(name for _, one in found for name in one.csv_header()))
        names = key_columns(self.keys, columns)

        def rows() -> Iterator[list[object]]:
            for keys, result in found:
                # Names may occur twice within a table, which then has no other columns.
                own = result.csv_header()
                places = None if own == columns else [columns.index(name) for name in own]
                for row in result.csv_rows():
                    cells = list(row)
                    if places is not None:
                        cells = [""] * len(columns)
                        for place, value in zip(places, row, strict=True):
                            cells[place] = value
                    yield [*keys.values(), *cells]

        output.write(path, lambda file: write_csv(file, [[*names, *columns]], rows()))
