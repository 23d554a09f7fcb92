"""Results with centres of groups of atoms, and with distances between them."""

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
class Centers(Series):
    """Centres of groups of atoms in each frame.

    CSV files have three columns per group, such as `center_A:MET1_x`.

    Attributes
    ----------
    values
        `(n_frames, n_groups, 3)`, float64, Å.
    labels
        Name of each group: residue and number, the first and last residue of a molecule, the chain,
        or the selection. The index of the first atom is added to names that occur several times:
        SOL1@3341.
    sizes
        `(n_groups,)`, int64, atoms of each group.
    """

    labels: tuple[str, ...]
    sizes: NDArray[np.int64]

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw x, y and z of the centres, at most six, against time, in panels of their own.

        Raises
        ------
        ValueError
            If `ax` is given: one pair of axes has no room for three panels.
        """
        from trajet import plots

        if ax is not None:
            raise ValueError("centres are drawn in three panels: leave ax out")
        return plots.coordinates(
            self.values, self.times, self.frames, labels=self.labels, look=look
        )

    def _names(self) -> list[str]:
        return [column_name(self.name, self.units, label) for label in self.columns]


@dataclass(frozen=True, repr=False)
class CenterDistances(Series):
    """Distances between centres of groups of atoms in each frame.

    CSV files have one column per pair, named by the groups.

    Attributes
    ----------
    values
        `(n_frames, n_groups, n_partners)`, or `(n_frames, n_groups (n_groups - 1) / 2)` for pairs
        within one list of groups; float64, Å.
    labels
        Name of each group, as in `Centers`.
    partners
        Name of each second group; None for pairs within one list of groups.
    """

    labels: tuple[str, ...]
    partners: tuple[str, ...] | None

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each distance against time if there are few, else the matrix of time averages."""
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
                title="distance of centres" if pairs.shape[1] > 1 else self.pair_names()[0],
                ax=ax,
                look=look,
            )
        partners = self.labels if self.partners is None else self.partners
        return plots.matrix(
            self._mean_matrix(),
            np.array(self.labels),
            np.array(partners),
            quantity=f"mean {self.name} of centres ({self.units})",
            axes=(self._side(len(self.labels)), self._side(len(partners))),
            of="group",
            ax=ax,
            look=look,
        )

    def _side(self, count: int) -> str:
        """Return the name of one side of the matrix: the selection, or the number of groups."""
        return self.columns[0] if len(self.columns) == 1 else f"{count} groups"

    def _labels(self) -> list[str]:
        return self.pair_names()

    def pair_names(self, count: int | None = None) -> list[str]:
        """Return names such as "MET1 - GLY214" of the first `count` pairs, or of all pairs."""
        pairs: Iterator[tuple[str, str]] = combinations(self.labels, 2)
        if self.partners is not None:
            pairs = product(self.labels, self.partners)
        return [f"{one} - {other}" for one, other in islice(pairs, count)]

    def _mean_matrix(self) -> NDArray[np.float64]:
        """Return the mean over all frames with positions, `(n_groups, n_partners)`, Å."""
        with warnings.catch_warnings():
            # numpy warns about the mean of no frames.
            warnings.simplefilter("ignore", RuntimeWarning)
            mean: NDArray[np.float64] = np.nanmean(self.values, axis=0)
        if self.partners is not None:
            return mean
        square = np.zeros((len(self.labels),) * 2)
        square[np.triu_indices(len(self.labels), 1)] = mean
        return square + square.T

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of each distance; see `Result.summary`."""
        pairs = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        names = names_column("pair of groups", self.pair_names(limit))
        title = f"{pairs.shape[1]} distances of centres (Å)"
        return self._summed_up(
            pairs, names, form=".3f", title=title, count=pairs.shape[1], unit=self.units
        )

    def _names(self) -> list[str]:
        return [column_name(self.name, self.units, name) for name in self.pair_names()]
