"""Results with one or several values per frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, ascii_units, count_of_frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Series(Result):
    """One or several values per frame.

    NPZ files hold `values`, `times`, `frames`, `units` and `columns`. CSV files have the columns
    frame, time_ps and one column per series.

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

    def plot(self) -> "Figure":
        """Draw the series against time and return the matplotlib Figure.

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
            quantity=f"{self.name} ({self.units})",
            title=f"{self.name} of {self.columns[0]}" if len(self.columns) == 1 else self.name,
        )

    def _about(self) -> str:
        values = f"values {self.values.shape} {self.units}".rstrip()
        return f"{self.name} of {count_of_frames(self.frames)}, {values}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.values,
            "times": self.times,
            "frames": self.frames,
            "units": np.array(self.units),
            "columns": np.array(self.columns),
        }

    def _names(self) -> list[str]:
        """Return the name of each series in the header of a CSV file."""
        name = self.name.lower().replace(" ", "_").replace("-", "_")
        stem = f"{name}_{ascii_units(self.units)}"
        return [stem, *(f"{stem}_group{k}" for k in range(1, len(self.columns)))]

    def _header(self) -> list[str]:
        return ["frame", "time_ps", *self._names()]

    def _rows(self) -> Iterable[Iterable[object]]:
        rows = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        for frame, time, row in zip(self.frames.tolist(), self.times.tolist(), rows, strict=True):
            yield [frame, time, *row.tolist()]
