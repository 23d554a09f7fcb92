"""Results with a radial distribution function."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, Table, column_names, edges_of_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class RadialDistribution(Result):
    """A radial distribution function.

    CSV files have the columns r_A, g and count.

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
    """

    r: NDArray[np.float64]
    g: NDArray[np.float64]
    counts: NDArray[np.float64]
    edges: NDArray[np.float64]
    labels: tuple[str, str]
    density: float
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("g", "r", "counts")
    _HAS_MEAN: ClassVar[bool] = False

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw g against the distance; see `Result.plot`."""
        from trajet import plots

        return plots.radial(self.edges, self.g, title=f"RDF of {self._between()}", ax=ax)

    def _about(self) -> str:
        return f"RDF of {self._between()}, g {self.g.shape}"

    def _between(self) -> str:
        """Return the names of the two groups, or one name if they are the same."""
        return " and ".join(dict.fromkeys(self.labels))

    def _of_rows(self, chosen: "slice | NDArray[Any]") -> Self:
        edges = edges_of_rows(self.edges, chosen)
        return replace(super()._of_rows(chosen), edges=edges)

    def _table(self) -> Table:
        return [("r_A", self.r), ("g", self.g), ("count", self.counts.astype(np.int64))]


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

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw g of each pair against the distance; see `Result.plot`."""
        from trajet import plots

        return plots.radials(self.edges, self.g, labels=tuple(self.names()), ax=ax)

    def names(self) -> list[str]:
        """Return names of the pairs, such as "name OW - name HW1"."""
        return [" - ".join(dict.fromkeys(pair)) for pair in self.labels]

    def _about(self) -> str:
        return f"RDF of {len(self.labels)} pairs, g {self.g.shape}"

    def _table(self) -> Table:
        columns: Table = [("r_A", self.r)]
        names = zip(*(column_names(one, "", self.names()) for one in ("g", "count")), strict=True)
        for (name, number), g, counts in zip(names, self.g, self.counts, strict=True):
            columns += [(name, g), (number, counts.astype(np.int64))]
        return columns
