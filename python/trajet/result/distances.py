"""Results with distances per frame."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import column_name, names_column
from trajet.result.series import Series
from trajet.result.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Distances(Series):
    """Distances between pairs of atoms in each frame.

    CSV files have one column per pair, named by the labels of both atoms.

    Attributes
    ----------
    values
        `(n_frames, n_atoms, n_partners)`, or `(n_frames, n_atoms (n_atoms - 1) / 2)` for pairs
        within one group; float64, Å.
    atoms
        `(n_atoms,)`, int64, indices in the topology.
    partners
        `(n_partners,)`, int64, indices of the second group; None for pairs within one group.
    to_reference
        Whether the positions of the partners are those of the reference, not of the frame.
    labels
        Label of each atom: "LEU6:CA", "A:LEU6:CA" if chains share residue numbers, "atom17" without
        a topology.
    partner_labels
        Label of each partner; None for pairs within one group.
    """

    atoms: NDArray[np.int64]
    partners: NDArray[np.int64] | None
    to_reference: bool
    labels: tuple[str, ...]
    partner_labels: tuple[str, ...] | None

    def feature_atoms(self) -> NDArray[np.int64]:
        """Return both atoms of each distance; see `Series.feature_atoms`."""
        if self.partners is None:
            return self.atoms[np.stack(np.triu_indices(len(self.atoms), 1), axis=1)]
        pairs = np.meshgrid(self.atoms, self.partners, indexing="ij")
        return np.stack(pairs, axis=-1).reshape(-1, 2)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each distance against time if there are few, else the matrix of time averages.

        See `Result.plot`.
        """
        from trajet import plots

        pairs = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        if pairs.shape[1] <= len(plots.COLOURS):
            return plots.series(
                pairs,
                self.times,
                self.frames,
                labels=tuple(self.pair_names()),
                means=self._means(),
                quantity=f"{self.name} ({self.units})",
                title=" to ".join(self.columns),
                ax=ax,
                look=look,
            )
        return plots.matrix(
            self._mean_matrix(),
            np.array(self.labels),
            np.array(self.labels if self.partner_labels is None else self.partner_labels),
            quantity=f"mean {self.name} ({self.units})",
            axes=(self.columns[0], self.columns[-1] + (" (reference)" * self.to_reference)),
            ax=ax,
            look=look,
        )

    def _mean_matrix(self) -> NDArray[np.float64]:
        """Return the mean over all frames with positions, `(n_atoms, n_partners)`, Å."""
        with warnings.catch_warnings():
            # numpy warns about the mean of no frames.
            warnings.simplefilter("ignore", RuntimeWarning)
            mean: NDArray[np.float64] = np.nanmean(self.values, axis=0)
        if self.partners is not None:
            return mean
        square = np.zeros((len(self.atoms),) * 2)
        square[np.triu_indices(len(self.atoms), 1)] = mean
        return square + square.T

    def _labels(self) -> list[str]:
        return self.pair_names()

    def pair_names(self, count: int | None = None) -> list[str]:
        """Return names such as "LEU6:CA - ALA55:CA" of the first pairs, or of all pairs."""
        then = "reference " if self.to_reference else ""
        pairs: Iterator[tuple[str, str]] = combinations(self.labels, 2)
        if self.partner_labels is not None:
            pairs = product(self.labels, self.partner_labels)
        return [f"{one} - {then}{other}" for one, other in islice(pairs, count)]

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of each distance; see `Result.summary`."""
        pairs = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        names = names_column("pair of atoms", self.pair_names(limit))
        title = f"{pairs.shape[1]} distances (Å)"
        return self._summed_up(
            pairs, names, form=".3f", title=title, count=pairs.shape[1], unit=self.units
        )

    def _names(self) -> list[str]:
        return [column_name(self.name, self.units, name) for name in self.pair_names()]
