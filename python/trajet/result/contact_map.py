"""Results with contact maps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class ContactMap(Result):
    """In which fraction of the frames two residues, or two atoms, are in contact.

    NPZ files hold `values`, `counts`, `rows`, `columns`, `row_names` and `column_names`. CSV files
    have the columns row, column, fraction and frames, with one line per pair that is in contact in
    any frame; pairs within one group once.

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
    of
        What the rows and columns are: "residue" or "atom".
    cutoff
        The largest distance of a contact, Å.
    report
        Timings and counters of the run.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    labels: tuple[str, str]
    of: str
    cutoff: float
    report: Report

    def plot(self) -> "Figure":
        """Draw the map, with the names of some residues along both axes."""
        from trajet import plots

        return plots.contact_map(
            self.values,
            self.row_names,
            self.column_names,
            axes=(f"{self.of} ({self.labels[0]})", f"{self.of} ({self.labels[1]})"),
            title=f"contacts within {self.cutoff:g} Å",
        )

    def _about(self) -> str:
        between = " and ".join(dict.fromkeys(self.labels))
        return f"contact map of {between}, values {self.values.shape}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.values,
            "counts": self.counts,
            "rows": self.rows,
            "columns": self.columns,
            "row_names": np.array(self.row_names, np.str_),
            "column_names": np.array(self.column_names, np.str_),
        }

    def _header(self) -> list[str]:
        return ["row", "column", "fraction", "frames"]

    def _rows(self) -> Iterable[Iterable[object]]:
        return self.pairs()

    def pairs(self) -> Iterator[tuple[str, str, float, int]]:
        """Yield the pairs that are in contact in any frame, those within one group once.

        Yields
        ------
        tuple
            The two names, the fraction and the number of frames.
        """
        seen = self.counts > 0
        if np.array_equal(self.rows, self.columns):
            seen = np.triu(seen, 1)
        for i, j in np.argwhere(seen).tolist():
            fraction, count = float(self.values[i, j]), int(self.counts[i, j])
            yield self.row_names[i], self.column_names[j], fraction, count
