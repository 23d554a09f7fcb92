"""Results with one or several values per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.per_frame import PerFrame
from trajet.result.report import Report
from trajet.result.result import (
    Columns,
    column_name,
    count_of_frames,
    names_column,
    time_columns,
)
from trajet.result.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Series(PerFrame):
    """One or several values per frame.

    CSV files have the columns frame, time_ps and one column per series: that of the main selection,
    such as `rmsd_A`, and those of further groups with their names, as in `rmsd_A:name_CA`.

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

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the usual figure."""
        from trajet import plots

        return plots.series(
            self.values,
            self.times,
            self.frames,
            labels=self.columns,
            quantity=self.quantity,
            title=f"{self.name} of {self.columns[0]}" if len(self.columns) == 1 else self.name,
            means=self._means(),
            ax=ax,
            look=look,
        )

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of each series; see `Result.summary`."""
        values = self.values.reshape(len(self.frames), len(self.columns))
        names = names_column("selection", self.columns[:limit])
        return self._summed_up(
            values,
            names,
            form=".3f",
            title=self.quantity,
            count=len(self.columns),
            unit=self.units,
        )

    def _quantity(self) -> str:
        return self.quantity

    def _labels(self) -> list[str]:
        return list(self.columns)

    def _sample_names(self) -> list[str]:
        return self._names()

    def _about(self) -> str:
        values = f"values {self.values.shape} {self.units}".rstrip()
        return f"{self.name} of {count_of_frames(self.frames)}, {values}"

    def feature_names(self) -> list[str]:
        """Return the name of each value of a frame, as in CSV files, but with all selections."""
        names = self._names()
        if type(self) is Series or len(names) == len(self.columns) == 1:
            names = [column_name(self.name, self.units, label) for label in self.columns]
        return names

    def feature_atoms(self) -> NDArray[np.int64] | None:
        """Return the atoms of each value of a frame, `(n_values, n)`; None without."""
        return None

    def _names(self) -> list[str]:
        """Return the name of each series in the header of a CSV file."""
        return [
            column_name(self.name, self.units, label if k else "")
            for k, label in enumerate(self.columns)
        ]

    def _table(self) -> Columns:
        n_columns = int(np.prod(self.values.shape[1:]))
        columns = self.values.reshape(len(self.frames), n_columns).T
        names = self._names()
        return [
            *time_columns(self.times, self.frames, self.report),
            *zip(names, columns, strict=True),
        ]
