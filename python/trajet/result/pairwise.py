"""Results with a number for every pair of frames."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Columns, Result, column_name, names_column, time_columns
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


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

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
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
            look=look,
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

    def scalars(self) -> dict[str, object]:
        """Return mean, spread and extremes of all pairs; see `Result.scalars`."""
        pairs = self.off_diagonal()
        if not pairs.size:
            return {"n_pairs": 0}
        return {
            "n_pairs": pairs.size,
            "mean_A": float(pairs.mean(dtype=np.float64)),
            "std_A": float(pairs.std(dtype=np.float64)),
            "min_A": float(pairs.min()),
            "max_A": float(pairs.max()),
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of all pairs; see `Result.summary`."""
        numbers = self.scalars()
        columns = (
            names_column("selection", self.columns[:1]),
            Column("pairs", [numbers["n_pairs"]]),
            *(Column(k, [numbers.get(f"{k}_A")], ".3f") for k in ("mean", "std", "min", "max")),
        )
        return Summary("pairwise RMSD (Å)", columns, 1)

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> "PairwiseRmsd":
        # Some rows of a square matrix still have all columns.
        return super(PairwiseRmsd, self._rectangular())._of_rows(chosen)

    def _rectangular(self) -> "PairwiseRmsd":
        """Return the same numbers with the frames of the columns."""
        if self.other_frames is not None:
            return self
        return replace(self, other_times=self.times, other_frames=self.frames)

    def _table(self) -> Columns:
        others = self._rectangular().other_frames
        assert others is not None
        names = [column_name(self.name, self.units, str(k)) for k in others.tolist()]
        return [
            *time_columns(self.times, self.frames, self.report),
            *zip(names, self.values.T, strict=True),
        ]
