"""Results with surface areas per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import ascii_units
from trajet.result.series import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class SurfaceAreas(Series):
    """Solvent-accessible surface areas: of a selection, or of each of its residues or atoms.

    CSV files have the columns frame, time_ps, and one column per residue or atom, whose header ends
    in its name.

    Attributes
    ----------
    values
        `(n_frames,)` for the total, or `(n_frames, n_columns)`; float64, Å².
    by
        "total", "residue" or "atom".
    indices
        `(n_columns,)`, int64: indices of the residues or atoms in the topology; empty for the
        total.
    label
        The selection, as text.
    """

    by: str
    indices: NDArray[np.int64]
    label: str

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the total against time, or mean and deviation of each residue or atom."""
        if self.by == "total":
            return super().plot(ax)
        from trajet import plots

        return plots.mean_profile(
            self.values,
            labels=self.columns,
            along=self.by,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} by {self.by} of {self.label}, mean of {len(self.frames)} frames",
            ax=ax,
        )

    def _names(self) -> list[str]:
        stem = f"{self.name.lower()}_{ascii_units(self.units)}"
        if self.by == "total":
            return [stem]
        return [f"{stem}_{column.replace(' ', '_')}" for column in self.columns]
