"""Results with contact maps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis
from trajet.result.columns import Columns, names_column
from trajet.result.lifetimes import WithLifetimes
from trajet.result.summary import Column, Summary, with_half_widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class ContactMap(WithLifetimes):
    """Fraction of the frames in which two residues, or two atoms, are in contact.

    CSV files have the columns row and column, each with name and number of its residue, fraction
    and frames, with errors also standard_error and half_width_95, with one line per pair that is in
    contact in any frame; pairs within one group once.

    `values` are `(n_rows, n_columns)`, float64, from 0 to 1; NaN for pairs that are left out. So
    are errors. The axes are the residues or atoms of the rows and of the columns.

    Attributes
    ----------
    cutoff
        The largest distance of a contact, Å.
    within
        Whether the pairs are those within one group.
    """

    cutoff: float = 0.0
    within: bool = False

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("residues", "residues"), ("atoms", "atoms"))
    ALSO: ClassVar[tuple[str, ...]] = ("frames",)
    IS_PARTIAL: ClassVar[bool] = True

    @property
    def is_symmetric(self) -> bool:
        """Whether the pairs have no order, as those within one group."""
        return self.within

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of frames in contact, in the shape of the values; 0 for pairs left out."""
        return self.also["frames"].astype(np.int64, copy=False)

    @property
    def of(self) -> str:
        """Kind of the rows and columns: "residue" or "atom"."""
        return self.axes[0].kind.removesuffix("s")

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the map, or one row as bars, with known intervals; see `Table.plot`."""
        from trajet import plots

        first, second = self.selections[0], self.selections[-1]
        return plots.contact_map(self, (f"{self.of} ({first})", f"{self.of} ({second})"), ax, look)

    def pairs(self) -> Iterator[tuple[str, str, float, int]]:
        """Yield the pairs that are in contact in any frame, those within one group once.

        Yields
        ------
        tuple
            The two names, the fraction and the number of frames.
        """
        i, j = self.in_contact()
        rows, columns = (one.labels() for one in self.axes)
        return zip(
            (rows[k] for k in i.tolist()),
            (columns[k] for k in j.tolist()),
            self.values[i, j].tolist(),
            self.counts[i, j].tolist(),
            strict=True,
        )

    @property
    def quantity(self) -> str:
        """What the values are, with the cut-off."""
        return f"fraction of frames in contact, {self.cutoff:g} Å"

    def scalars(self) -> dict[str, object]:
        """Return the number of pairs that are in contact in any frame; see `Table.scalars`."""
        return {
            "n_contacts": len(self.in_contact()[0]),
            "n_neighbors": self._n_neighbors(),
            "cutoff_A": self.cutoff,
            **super().scalars(),
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the pairs that are most often in contact; see `Table.summary`."""
        i, j = self.in_contact()
        order = np.argsort(-self.values[i, j], kind="stable")
        most = i[order[:limit]], j[order[:limit]]
        one, other = (axis["label"][at] for axis, at in zip(self.axes, most, strict=True))
        fractions = Column("fraction", self.values[most], ".3f")
        columns = (
            names_column(f"pair of {self.of}s", map("{} - {}".format, one, other)),
            *with_half_widths(
                fractions, None if self.half_widths is None else self.half_widths[most]
            ),
            Column("frames", self.counts[most]),
        )
        near = self._n_neighbors()
        of_these = f", {near} of neighbours in sequence" if near else ""
        title = f"{len(i)} contacts within {self.cutoff:g} Å{of_these}"
        return Summary(title, columns, len(i), tuple([part.line() for part in self._lasting()]))

    def _indices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the indices in the topology of rows and columns."""
        rows, columns = (one[self.of].astype(np.int64, copy=False) for one in self.axes)
        return rows, columns

    def _n_neighbors(self) -> int:
        """Return how many of the pairs in contact are residues that follow each other."""
        if self.of != "residue":
            return 0
        (i, j), (rows, columns) = self.in_contact(), self._indices()
        return int((np.abs(rows[i] - columns[j]) == 1).sum())

    def _about(self) -> str:
        between = " and ".join(self.selections)
        return f"contact map of {between}, values {self.values.shape}"

    def in_contact(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of each pair in contact in any frame, those within a group once."""
        seen = self.counts > 0
        if self.within:
            # Both orders of a pair are in the map where both members are rows.
            rows, columns = self._indices()
            seen &= ~(np.isin(columns, rows) & (columns < rows[:, np.newaxis]))
        i, j = np.nonzero(seen)
        return i, j

    def _table(self) -> Columns:
        return self.table_of(*self.in_contact())

    def table_of(self, *places: NDArray[np.int64]) -> Columns:
        """Return the columns of CSV files for pairs, by row and column."""
        i, j = places
        errors = {"standard_error": self.standard_errors, "half_width_95": self.half_widths}
        return [
            *_names_of("row", self.axes[0], i),
            *_names_of("column", self.axes[1], j),
            ("fraction", self.values[i, j]),
            ("frames", self.counts[i, j]),
            *((name, array[i, j]) for name, array in errors.items() if array is not None),
        ]


def _names_of(side: str, axis: Axis, at: NDArray[np.int64]) -> Columns:
    """Return label, and name and number of the residue, of the places of pairs."""
    known = {"resname": f"{side}_resname", "resid": f"{side}_resid"}
    return [
        (side, axis["label"][at]),
        *((name, axis[key][at]) for key, name in known.items() if key in axis.columns),
    ]
