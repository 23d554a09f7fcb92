"""Results with surface areas per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import names_column
from trajet.result.summary import Summary, mean_and_spread
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

# Most residues or atoms whose areas are drawn as bars: more would merge.
_MAX_BARS = 60


@dataclass(frozen=True, repr=False)
class SurfaceAreas(Table):
    """Solvent-accessible surface areas: of a selection, or of each of its residues or atoms.

    CSV files have the columns frame, time_ps, and one column per residue or atom, with its
    name, as in `sasa_A2:MET1`.

    The axes are frames and, unless it is the total, residues or atoms.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("frames",),
        ("frames", "residues"),
        ("frames", "atoms"),
    )

    @property
    def by(self) -> str:
        """What has an area: "total", "residue" or "atom"."""
        return "total" if len(self.axes) == 1 else self.axes[1].kind.removesuffix("s")

    @property
    def indices(self) -> NDArray[np.int64]:
        """Indices of the residues or atoms in the topology, `(n_columns,)`; none for the total."""
        return (
            np.empty(0, np.int64) if self.by == "total" else self.axes[1][self.by].astype(np.int64)
        )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the total against time, or the mean of each residue or atom, with its error."""
        if self.by == "total":
            return super()._draw(ax, look)
        from trajet import plots

        of = self.statistics().estimates
        return plots.along(
            self.axes[1],
            of.mean,
            look.intervals(of.mean, of.half_width, of.is_resolved),
            quantity=self.quantity,
            is_bars=len(of.mean) <= _MAX_BARS,
            ax=ax,
            look=look,
        )

    def scalars(self) -> dict[str, object]:
        """Return the mean of the total area; see `Table.scalars`."""
        mean, std = mean_and_spread(self._by_column(self.values).T.sum(axis=1))
        return {"mean_total_A2": mean, "std_total_A2": std}

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of the areas; see `Table.summary`."""
        values, names = self._by_column(self.values).T, list(self.columns[:limit])
        some = values[:, :limit]
        if self.by != "total":
            names.insert(0, f"all of {self.selections[0]}")
            some = np.column_stack([values.sum(axis=1), some])
        count = len(self.columns) + (self.by != "total")
        title = f"{self.name} ({self.units})"
        column = names_column(self.by, names)
        return self._summed_up(some, column, form=".1f", title=title, count=count, unit=self.units)
