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


@dataclass(frozen=True, repr=False)
class RadialDistributions(Result):
    """Radial distribution functions of several pairs of groups.

    NPZ files hold `r`, `g`, `counts`, `edges`, `density` and `labels`; CSV files have the column
    r_A and two columns per pair, g_1 and count_1 and so on, in the order of the pairs.

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

    def plot(self) -> "Figure":
        """Draw g of each pair against the distance."""
        from trajet import plots

        return plots.radials(self.edges, self.g, labels=tuple(self.names()))

    def names(self) -> list[str]:
        """Return names of the pairs, such as "name OW - name HW1"."""
        return [" - ".join(dict.fromkeys(pair)) for pair in self.labels]

    def _about(self) -> str:
        return f"RDF of {len(self.labels)} pairs, g {self.g.shape}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "r": self.r,
            "g": self.g,
            "counts": self.counts,
            "edges": self.edges,
            "density": self.density,
            "labels": np.array(self.labels),
        }

    def _header(self) -> list[str]:
        numbers = range(1, len(self.labels) + 1)
        return ["r_A", *(f"{name}_{k}" for k in numbers for name in ("g", "count"))]

    def _rows(self) -> Iterable[Iterable[object]]:
        counts = self.counts.astype(np.int64)
        for k, r in enumerate(self.r.tolist()):
            both = zip(self.g[:, k].tolist(), counts[:, k].tolist(), strict=True)
            yield [r, *(number for pair in both for number in pair)]
