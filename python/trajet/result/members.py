"""Results of an analysis of several members of an ensemble."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet._trajet import AnalysisError, MissingPackageError
from trajet.result.result import Result, write_csv

if TYPE_CHECKING:
    from pandas import DataFrame

_R_co = TypeVar("_R_co", bound=Result, covariant=True)

# A value that tells members apart.
Key: TypeAlias = str | int | float


@dataclass(frozen=True)
class MemberOutcome(Generic[_R_co]):
    """The result of one member, or why there is none.

    Attributes
    ----------
    keys
        The keys of the member.
    result
        The result; None if the member failed.
    error
        The exception of a member that failed.
    start
        `(n, 3)`, float32, Å: positions of some atoms in the first frame, by which replicas that
        started from one place are found; None if they were not read.
    is_reused
        Whether the result was computed by an earlier run.
    """

    keys: Mapping[str, Key]
    result: _R_co | None = None
    error: Exception | None = None
    start: NDArray[np.float32] | None = field(default=None, repr=False)
    is_reused: bool = False

    @property
    def label(self) -> str:
        """The keys as text: "system=wt, replica=1"."""
        return ", ".join(f"{name}={value}" for name, value in self.keys.items())


class EnsembleResult(Generic[_R_co]):
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

    def __repr__(self) -> str:
        """Return the analysis, and the numbers of members and failures."""
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<EnsembleResult of {self.name}: {len(self.outcomes)} members{failed}>"

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self.results)

    def __bool__(self) -> bool:
        """Return True, also without a result."""
        return True

    def __iter__(self) -> Iterator[_R_co]:
        """Iterate over the results of the members that did not fail."""
        return iter(self.results)

    def __getitem__(self, number: int) -> _R_co:
        """Return the result of a member that did not fail."""
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
        for name in keys:
            if name not in self.keys:
                raise ValueError(f"members have no {name}: their keys are {', '.join(self.keys)}")
        chosen = [
            one for one in self.outcomes if all(one.keys[k] == value for k, value in keys.items())
        ]
        if not chosen:
            raise ValueError(f"no member has {', '.join(f'{k}={v}' for k, v in keys.items())}")
        return EnsembleResult(self.name, chosen)

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


def key_columns(keys: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the names of the columns of keys, which differ from those of other columns."""
    return [f"member_{name}" if name in others else name for name in keys]
