"""Results with one or several values per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, Table, column_names, count_of_frames, time_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Series(Result):
    """One or several values per frame.

    CSV files have the columns frame, time_ps and one column per series; several series are named by
    their selections, as in `rmsd_A:name_CA`.

    Attributes
    ----------
    values
        `(n_frames,)`, or `(n_frames, n_columns)` for several series; float64, `units`.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    units
        Unit of the values.
    columns
        The selection or the name of each series.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    units: str
    columns: tuple[str, ...]
    name: str
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("values", "times", "frames")

    @property
    def quantity(self) -> str:
        """Name and unit, as on the axis of a figure."""
        return f"{self.name} ({self.units})" if self.units else self.name

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the series against time; see `Result.plot`.

        Without `ax`, the distribution of the values is drawn beside them.

        Examples
        --------
        >>> figure = result.plot()
        >>> figure.savefig("rmsd.png")
        """
        from trajet import plots

        return plots.series(
            self.values,
            self.times,
            self.frames,
            labels=self.columns,
            quantity=self.quantity,
            title=f"{self.name} of {self.columns[0]}" if len(self.columns) == 1 else self.name,
            ax=ax,
        )

    def _about(self) -> str:
        values = f"values {self.values.shape} {self.units}".rstrip()
        return f"{self.name} of {count_of_frames(self.frames)}, {values}"

    def _names(self) -> list[str]:
        """Return the name of each series in the header of a CSV file."""
        return column_names(self.name, self.units, self.columns)

    def _table(self) -> Table:
        n_columns = int(np.prod(self.values.shape[1:]))
        columns = self.values.reshape(len(self.frames), n_columns).T
        names = self._names()
        return [*time_columns(self.times, self.frames), *zip(names, columns, strict=True)]
