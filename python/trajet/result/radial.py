"""Results with a radial distribution function."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class RadialDistribution(Result):
    """A radial distribution function.

    NPZ files hold `r`, `g`, `counts` and `edges`; CSV files have the columns r_A, g and count.

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

    def plot(self) -> "Figure":
        """Draw g against the distance."""
        from trajet import plots

        return plots.radial(self.edges, self.g, title=f"RDF of {self._between()}")

    def _about(self) -> str:
        return f"RDF of {self._between()}, g {self.g.shape}"

    def _between(self) -> str:
        """Return the names of the two groups, or one name if they are the same."""
        return " and ".join(dict.fromkeys(self.labels))

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"r": self.r, "g": self.g, "counts": self.counts, "edges": self.edges}

    def _header(self) -> list[str]:
        return ["r_A", "g", "count"]

    def _rows(self) -> Iterable[Iterable[object]]:
        counts = self.counts.astype(np.int64)
        return zip(self.r.tolist(), self.g.tolist(), counts.tolist(), strict=True)
