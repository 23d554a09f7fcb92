"""Results with surface areas per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import column_name, names_column
from trajet.result.series import Series
from trajet.result.summary import Summary, mean_and_spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class SurfaceAreas(Series):
    """Solvent-accessible surface areas: of a selection, or of each of its residues or atoms.

    CSV files have the columns frame, time_ps, and one column per residue or atom, with its
    name, as in `sasa_A2:MET1`.

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

    def feature_atoms(self) -> NDArray[np.int64] | None:
        """Return the atom of each area, None by residue; see `Series.feature_atoms`."""
        return self.indices[:, None] if self.by == "atom" else None

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the total against time, or mean and deviation of each residue or atom."""
        if self.by == "total":
            return super()._draw(ax, look)
        from trajet import plots

        chains, labels = self._chains()
        return plots.mean_profile(
            self.values,
            labels=labels,
            chains=chains,
            along=self.by,
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} by {self.by} of {self.label}, mean of {len(self.frames)} frames",
            ax=ax,
            look=look,
        )

    def _chains(self) -> tuple[list[str] | None, tuple[str, ...]]:
        """Return the chain of each residue or atom, if labels have it, and labels without it."""
        parts = [label.split(":") for label in self.columns]
        # "A:MET1" of a residue, "A:MET1:CA" of an atom.
        n_parts = 2 if self.by == "residue" else 3
        if any(len(part) != n_parts for part in parts):
            return None, self.columns
        return [part[0] for part in parts], tuple(":".join(part[1:]) for part in parts)

    def scalars(self) -> dict[str, object]:
        """Return the mean of the total area; see `Result.scalars`."""
        mean, std = mean_and_spread(self._columns().sum(axis=1))
        return {"mean_total_A2": mean, "std_total_A2": std}

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of the areas; see `Result.summary`."""
        values, names = self._columns(), list(self.columns[:limit])
        some = values[:, :limit]
        if self.by != "total":
            names.insert(0, f"all of {self.label}")
            some = np.column_stack([values.sum(axis=1), some])
        count = len(self.columns) + (self.by != "total")
        title = f"{self.name} ({self.units})"
        column = names_column(self.by, names)
        return self._summed_up(some, column, form=".1f", title=title, count=count, unit=self.units)

    def _columns(self) -> NDArray[np.float64]:
        """Return the values with one column for the total, or for each residue or atom."""
        return self.values.reshape(len(self.frames), len(self.columns))

    def _names(self) -> list[str]:
        labels = ("",) if self.by == "total" else self.columns
        return [column_name(self.name, self.units, label) for label in labels]
