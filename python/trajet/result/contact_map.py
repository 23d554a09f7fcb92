"""Results with contact maps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Columns, Result, names_column, residue_columns
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


# Names and numbers of two residues, or atoms.
NamedPair: TypeAlias = "tuple[tuple[str, int | None], tuple[str, int | None]]"


@dataclass(frozen=True, repr=False)
class ContactMap(Result):
    """Fraction of the frames in which two residues, or two atoms, are in contact.

    CSV files have the columns row and column, each with name and number of its residue, fraction
    and frames, with errors also standard_error and half_width_95, with one line per pair that is in
    contact in any frame; pairs within one group once.

    Attributes
    ----------
    values
        `(n_rows, n_columns)`, float64, from 0 to 1; NaN for pairs that are left out.
    counts
        `(n_rows, n_columns)`, int64, number of frames; 0 for pairs that are left out.
    rows, columns
        `(n_rows,)` and `(n_columns,)`, int64: indices of the residues, or atoms, in the topology.
    row_names, column_names
        Their names, such as "MET1".
    labels
        The selections of the two groups, as text; equal for pairs within one group.
    within
        Whether the pairs are those within one group.
    of
        Kind of the rows and columns: "residue" or "atom".
    cutoff
        The largest distance of a contact, Å.
    report
        Timings and counters of the run.
    standard_errors, half_widths
        `(n_rows, n_columns)`, float64: standard errors of the fractions, and longer sides of their
        95 % intervals; None if they were not asked for.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    labels: tuple[str, str]
    within: bool
    of: str
    cutoff: float
    report: Report
    row_residue_names: NDArray[np.str_] | None = None
    row_residues: NDArray[np.int64] | None = None
    column_residue_names: NDArray[np.str_] | None = None
    column_residues: NDArray[np.int64] | None = None
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        "values",
        "counts",
        "rows",
        "row_names",
        "row_residue_names",
        "row_residues",
        "standard_errors",
        "half_widths",
        "resolved",
    )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the map, with names of some residues along both axes; see `Result.plot`.

        Without `ax`, the longer sides of the intervals are drawn beside it, if they are known.
        """
        from trajet import plots

        return plots.contact_map(
            self.values,
            self.row_names,
            self.column_names,
            labels=(f"{self.of} ({self.labels[0]})", f"{self.of} ({self.labels[1]})"),
            title=f"contacts within {self.cutoff:g} Å",
            of=self.of,
            half_widths=self.half_widths,
            ax=ax,
            look=look,
        )

    def pairs(self) -> Iterator[tuple[str, str, float, int]]:
        """Yield the pairs that are in contact in any frame, those within one group once.

        Yields
        ------
        tuple
            The two names, the fraction and the number of frames.
        """
        i, j = self._in_contact()
        return zip(
            (self.row_names[k] for k in i.tolist()),
            (self.column_names[k] for k in j.tolist()),
            self.values[i, j].tolist(),
            self.counts[i, j].tolist(),
            strict=True,
        )

    def scalars(self) -> dict[str, object]:
        """Return the number of pairs that are in contact in any frame; see `Result.scalars`."""
        return {
            "n_contacts": len(self._in_contact()[0]),
            "n_neighbors": self._n_neighbors(),
            "cutoff_A": self.cutoff,
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return the pairs that are most often in contact; see `Result.summary`."""
        pairs = sorted(self.pairs(), key=lambda pair: -pair[2])
        some = pairs[:limit]
        columns = (
            names_column(f"pair of {self.of}s", (f"{one} - {other}" for one, other, *_ in some)),
            Column("fraction", [fraction for _, _, fraction, _ in some], ".3f"),
            Column("frames", [count for *_, count in some]),
        )
        near = self._n_neighbors()
        of_these = f", {near} of neighbours in sequence" if near else ""
        return Summary(
            f"{len(pairs)} contacts within {self.cutoff:g} Å{of_these}", columns, len(pairs)
        )

    def _n_neighbors(self) -> int:
        """Return how many of the pairs in contact are residues that follow each other."""
        if self.of != "residue":
            return 0
        i, j = self._in_contact()
        return int((np.abs(self.rows[i] - self.columns[j]) == 1).sum())

    def _about(self) -> str:
        between = " and ".join(dict.fromkeys(self.labels))
        return f"contact map of {between}, values {self.values.shape}"

    def _in_contact(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each pair that is in contact in any frame."""
        seen = self.counts > 0
        if self.within:
            # Both orders of a pair are in the map where both members are rows.
            twice = np.isin(self.columns, self.rows) & (self.columns < self.rows[:, np.newaxis])
            seen &= ~twice
        i, j = np.nonzero(seen)
        return i, j

    def _table(self) -> Columns:
        return self._columns(*self._in_contact())

    def _columns(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Columns:
        """Return the columns of CSV files for pairs, by row and column."""
        return [
            ("row", np.array(self.row_names, np.str_)[i]),
            *residue_columns("row", self.row_residue_names, self.row_residues, i),
            ("column", np.array(self.column_names, np.str_)[j]),
            *residue_columns("column", self.column_residue_names, self.column_residues, j),
            ("fraction", self.values[i, j]),
            ("frames", self.counts[i, j]),
            *(
                (name, errors[i, j])
                for name, errors in (
                    ("standard_error", self.standard_errors),
                    ("half_width_95", self.half_widths),
                )
                if errors is not None
            ),
        ]

    def named_pairs(self) -> list[NamedPair]:
        """Return the pairs that are in contact in any frame, those within one group once."""
        rows, columns = self._names()
        i, j = self._in_contact()
        return [(rows[a], columns[b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)]

    def fractions(self, pairs: Sequence[NamedPair]) -> Columns:
        """Return columns as those of CSV files of the pairs that this map has.

        Pairs that are never in contact have the fraction 0. Pairs of residues that are not in the
        map, and those that are left out, have no row.
        """
        rows, columns = ({name: k for k, name in enumerate(names)} for names in self._names())
        places = [
            (rows[one], columns[other]) for one, other in pairs if one in rows and other in columns
        ]
        i, j = np.array(places, np.int64).reshape(-1, 2).T
        known = ~np.isnan(self.values[i, j])
        return self._columns(i[known], j[known])

    def _names(self) -> Iterator[list[tuple[str, int | None]]]:
        """Yield names and numbers of the rows, then those of the columns."""
        for names, numbers in (
            (self.row_names, self.row_residues),
            (self.column_names, self.column_residues),
        ):
            of_residues = [None] * len(names) if numbers is None else numbers.tolist()
            yield list(zip(names, of_residues, strict=True))


def pairs_of_any(maps: Sequence[ContactMap]) -> list[NamedPair]:
    """Return the pairs that are in contact in any frame of any of some maps, each once."""
    found: dict[NamedPair, None] = {}
    for one in maps:
        for pair in one.named_pairs():
            if not (one.within and pair[::-1] in found):
                found[pair] = None
    return list(found)
