"""Results with distances of atoms, or of centres of groups of atoms, per frame."""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import Axis
from trajet.result.columns import names_column
from trajet.result.summary import Summary
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Distances(Table):
    """Distances of pairs of atoms, or of centres of groups of atoms, in each frame.

    CSV files have one column per pair, named by the labels of both.

    `values` are in Å, float64: `(n_frames, n, n_partners)`, with an axis of atoms or groups and one
    of their partners, or `(n_frames, n (n - 1) / 2)` with an axis of the pairs within one group.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("frames", "pairs"),
        *(
            ("frames", kind, kind)
            for kind in ("atoms", "residues", "molecules", "chains", "groups")
        ),
    )

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices of the atoms in the topology, `(n_atoms,)`, int64."""
        return self._atoms_of(0)

    @property
    def partners(self) -> NDArray[np.int64] | None:
        """Indices of the second atoms, `(n_partners,)`, int64; None for pairs within one group."""
        return None if self.is_within else self._atoms_of(1)

    @property
    def is_within(self) -> bool:
        """Whether the pairs are those within one group."""
        return len(self.axes) == 2

    def _atoms_of(self, side: int) -> NDArray[np.int64]:
        """Return the atoms of one side; AttributeError for distances of centres."""
        atoms = self._sides()[side].get("atom")
        if atoms is None:
            raise AttributeError("distances of centres of groups have no atoms, but axes of groups")
        return atoms.astype(np.int64, copy=False)

    def _sides(self) -> tuple[Axis, Axis]:
        """Return the axes of the first and of the second ones of pairs."""
        return self.axes[1].elements, self.axes[-1].elements

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each distance against time if there are few, else the matrix of time averages.

        See `Table.plot`.
        """
        from trajet import plots

        is_of_atoms = self._sides()[0].kind == "atoms"
        if self.n_columns() <= len(plots.COLOURS):
            return super()._draw(ax, look)
        one, other = self._sides()
        names = self.selections[0], self.selections[-1] + " (reference)" * other.is_reference
        if not is_of_atoms and len(self.selections) > 1:
            names = f"{len(one)} groups", f"{len(other)} groups"
        of = "atom" if is_of_atoms else "group"
        return plots.matrix(
            self._mean_matrix(),
            (one, replace(other, is_reference=False)),
            (f"{of} ({names[0]})", f"{of} ({names[1]})"),
            quantity=f"mean {self.name}{'' if is_of_atoms else ' of centres'} ({self.units})",
            ax=ax,
            look=look,
        )

    def _mean_matrix(self) -> NDArray[np.float64]:
        """Return the mean over all frames with positions, `(n, n_partners)`, Å."""
        with warnings.catch_warnings():
            # numpy warns about the mean of no frames.
            warnings.simplefilter("ignore", RuntimeWarning)
            mean: NDArray[np.float64] = np.nanmean(self.values, axis=0)
        if not self.is_within:
            return mean
        n = len(self._sides()[0])
        square = np.zeros((n, n))
        square[np.triu_indices(n, 1)] = mean
        return square + square.T

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of each distance; see `Table.summary`."""
        of = "atoms" if self._sides()[0].kind == "atoms" else "groups"
        title = f"{self.n_columns()} distances{' of centres' * (of == 'groups')} ({self.units})"
        return self._summed_up(
            self._by_column(self.values).T,
            names_column(f"pair of {of}", self._labels_of_columns(limit)),
            form=".3f",
            title=title,
            count=self.n_columns(),
            unit=self.units,
        )
