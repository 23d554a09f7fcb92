"""Results with a number for every pair of frames."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, Table, ascii_units, time_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class PairwiseRmsd(Result):
    """RMSD of every frame from every other.

    CSV files have the columns frame and time_ps, and one column for each
    frame of the other trajectory, named by its number.

    Attributes
    ----------
    values
        `(n_frames, n_other)`, float32, Å.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    other_times, other_frames
        `(n_other,)`, those of the columns; None within one trajectory.
    units
        Unit of the values.
    columns
        The selection, or both.
    name
        Name of the computed quantity.
    report
        Timings and counters of the run.
    """

    values: NDArray[np.float32]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    other_times: NDArray[np.float64] | None
    other_frames: NDArray[np.int64] | None
    units: str
    columns: tuple[str, ...]
    name: str
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("values", "times", "frames")

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the matrix against the times of both frames; see `Result.plot`."""
        from trajet import plots

        others = None
        if self.other_times is not None and self.other_frames is not None:
            others = (self.other_times, self.other_frames)
        return plots.frame_pairs(
            self.values,
            (self.times, self.frames),
            others,
            quantity=f"{self.name} ({self.units})",
            labels=self.columns,
            ax=ax,
        )

    def off_diagonal(self) -> NDArray[np.float32]:
        """Return the RMSDs of pairs of different frames, each once; all of two selections."""
        if self.other_frames is not None and len(self.columns) > 1:
            return np.asarray(self.values).ravel()
        if self.other_frames is not None:
            # Some rows of the matrix within one trajectory.
            rows, columns = self.frames[:, None], self.other_frames[None]
            twice = np.isin(self.other_frames, self.frames)[None]
            return np.asarray(self.values)[np.where(twice, rows < columns, rows != columns)]
        return np.concatenate(
            [row[k + 1 :] for k, row in enumerate(self.values)] or [np.empty(0, np.float32)]
        )

    def _about(self) -> str:
        rows, columns = self.values.shape
        return f"{self.name} of {rows} × {columns} pairs of frames, {self.units}"

    def _of_rows(self, chosen: "slice | NDArray[Any]") -> "PairwiseRmsd":
        # Some rows of a square matrix still have all columns.
        return super(PairwiseRmsd, self._rectangular())._of_rows(chosen)

    def _rectangular(self) -> "PairwiseRmsd":
        """Return the same numbers with the frames of the columns."""
        if self.other_frames is not None:
            return self
        return replace(self, other_times=self.times, other_frames=self.frames)

    def _table(self) -> Table:
        others = self._rectangular().other_frames
        assert others is not None
        names = [f"rmsd_{ascii_units(self.units)}_{k}" for k in others.tolist()]
        return [*time_columns(self.times, self.frames), *zip(names, self.values.T, strict=True)]
