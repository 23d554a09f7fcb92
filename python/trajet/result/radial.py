"""Results with a radial distribution function."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import edges_of_rows
from trajet.result.report import Report
from trajet.result.result import Columns, Result, column_name, names_column
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class RadialDistribution(Result):
    """A radial distribution function.

    CSV files have the columns r_A, g and count; with errors also standard_error and half_width_95.

    Attributes
    ----------
    r
        `(bins,)`, float64, centres of the bins, Å.
    g
        `(bins,)`, float64; 1 where the local density is the mean density.
    counts
        `(bins,)`, float64 holding integers: pairs per bin, summed over all frames.
    edges
        `(bins + 1,)`, float64, edges of the bins, Å.
    labels
        The selections of the two groups, as text.
    density
        Mean number density of the second group, 1/Å³.
    report
        Timings and counters of the run.
    standard_errors, half_widths
        `(bins,)`, float64: standard errors of g, and longer sides of its 95 % intervals; None if
        they were not asked for.
    resolved
        bool, in their shape: whether the run is long enough to trust the interval; None without
        errors.
    """

    r: NDArray[np.float64]
    g: NDArray[np.float64]
    counts: NDArray[np.float64]
    edges: NDArray[np.float64]
    labels: tuple[str, str]
    density: float
    report: Report
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        *("g", "r", "counts", "standard_errors", "half_widths", "resolved"),
    )
    _HAS_MEAN: ClassVar[bool] = False

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw g against the distance; see `Result.plot`."""
        from trajet import plots

        title = f"RDF of {self._between()}"
        return plots.radial(
            self.edges, self.g, title=title, half_widths=self.half_widths, ax=ax, look=look
        )

    def _about(self) -> str:
        return f"RDF of {self._between()}, g {self.g.shape}"

    def _between(self) -> str:
        """Return the names of the two groups, or one name if they are the same."""
        return " and ".join(dict.fromkeys(self.labels))

    def scalars(self) -> dict[str, object]:
        """Return the highest g, its distance and the number of pairs; see `Result.scalars`."""
        most = int(np.argmax(self.g))
        return {
            "n_pairs_counted": int(self.counts.sum()),
            "highest_g": float(self.g[most]),
            "highest_g_at_A": float(self.r[most]),
            "density_per_A3": float(self.density),
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return the highest g, its distance and the number of pairs; see `Result.summary`."""
        numbers = self.scalars()
        columns = (
            names_column("groups", [" - ".join(dict.fromkeys(self.labels))]),
            Column("pairs counted", [numbers["n_pairs_counted"]]),
            Column("highest g", [numbers["highest_g"]], ".3f"),
            Column("at r (Å)", [numbers["highest_g_at_A"]], ".3f"),
        )
        return Summary("RDF", columns, 1)

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        edges = edges_of_rows(self.edges, chosen)
        return replace(super()._of_rows(chosen), edges=edges)

    def _table(self) -> Columns:
        columns = {
            "r_A": self.r,
            "g": self.g,
            "count": self.counts.astype(np.int64),
            "standard_error": self.standard_errors,
            "half_width_95": self.half_widths,
        }
        return [(name, column) for name, column in columns.items() if column is not None]


@dataclass(frozen=True, repr=False)
class RadialDistributions(Result):
    """Radial distribution functions of several pairs of groups.

    Rows of the result are pairs. CSV files have one row per bin, with the column r_A and two
    columns per pair, such as `g:name_OW_-_name_HW1` and `count:name_OW_-_name_HW1`.

    Attributes
    ----------
    r
        `(bins,)`, float64, centres of the bins, Å.
    g
        `(n_pairs, bins)`, float64; 1 where the local density is the mean density.
    counts
        `(n_pairs, bins)`, float64 holding integers: pairs per bin, summed over all frames.
    edges
        `(bins + 1,)`, float64, edges of the bins, Å.
    labels
        The two selections of each pair, as text.
    density
        `(n_pairs,)`, float64, mean number density of the sites of the second selection, 1/Å³.
    report
        Timings and counters of the run.
    """

    r: NDArray[np.float64]
    g: NDArray[np.float64]
    counts: NDArray[np.float64]
    edges: NDArray[np.float64]
    labels: tuple[tuple[str, str], ...]
    density: NDArray[np.float64]
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("g", "counts", "labels", "density")
    _HAS_MEAN: ClassVar[bool] = False

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw g of each pair against the distance; see `Result.plot`."""
        from trajet import plots

        return plots.radials(self.edges, self.g, labels=tuple(self.names()), ax=ax, look=look)

    def names(self) -> list[str]:
        """Return names of the pairs, such as "name OW - name HW1"."""
        return [" - ".join(dict.fromkeys(pair)) for pair in self.labels]

    def summary(self, limit: int | None = None) -> Summary:
        """Return the highest g of each pair, and its distance; see `Result.summary`."""
        most = self.g[:limit].argmax(axis=1)
        columns = (
            names_column("groups", self.names()[:limit]),
            Column("pairs counted", self.counts[:limit].sum(axis=1).astype(np.int64)),
            Column("highest g", self.g[:limit].max(axis=1), ".3f"),
            Column("at r (Å)", self.r[most], ".3f"),
        )
        return Summary(f"{len(self.g)} RDFs", columns, len(self.g))

    def _about(self) -> str:
        return f"RDF of {len(self.labels)} pairs, g {self.g.shape}"

    def _table(self) -> Columns:
        columns: Columns = [("r_A", self.r)]
        for label, g, counts in zip(self.names(), self.g, self.counts, strict=True):
            columns += [
                (column_name("g", label=label), g),
                (column_name("count", label=label), counts.astype(np.int64)),
            ]
        return columns
