"""Results with a radial distribution function."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, Table

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
        bins = np.arange(len(self.r))[chosen]
        if not len(bins) or (np.diff(bins) != 1).any():
            raise ValueError("the bins of an RDF must follow one another: take a slice of some")
        return replace(super()._of_rows(chosen), edges=self.edges[bins[0] : bins[-1] + 2])

    def _table(self) -> Table:
        return [("r_A", self.r), ("g", self.g), ("count", self.counts.astype(np.int64))]
