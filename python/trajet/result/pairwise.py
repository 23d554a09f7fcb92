"""Results with a number for every pair of frames."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, ascii_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class PairwiseRmsd(Result):
    """RMSD of every frame from every other.

    NPZ files hold `values`, `times`, `frames`, `other_times`, `other_frames` (both empty within one
    trajectory) and `units`. CSV files have the columns frame and time_ps, and one column for each
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

    def plot(self) -> "Figure":
        """Draw the matrix against the times of both frames.

        Examples
        --------
        >>> figure = tj.pairwise_rmsd(traj.select("name CA")).plot()
        >>> figure.savefig("pairs.png")
        """
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
        )

    def off_diagonal(self) -> NDArray[np.float32]:
        """Return the numbers of pairs of different frames, each pair once."""
        if self.other_frames is not None:
            return np.asarray(self.values).ravel()
        return np.concatenate(
            [row[k + 1 :] for k, row in enumerate(self.values)] or [np.empty(0, np.float32)]
        )

    def _about(self) -> str:
        rows, columns = self.values.shape
        return f"{self.name} of {rows} × {columns} pairs of frames, {self.units}"

    def _arrays(self) -> dict[str, np.ndarray]:
        times = np.empty(0) if self.other_times is None else self.other_times
        frames = np.empty(0, np.int64) if self.other_frames is None else self.other_frames
        return {
            "values": self.values,
            "times": self.times,
            "frames": self.frames,
            "other_times": times,
            "other_frames": frames,
            "units": np.array(self.units),
        }

    def _header(self) -> list[str]:
        others = self.frames if self.other_frames is None else self.other_frames
        return ["frame", "time_ps", *(f"rmsd_{ascii_units(self.units)}_{k}" for k in others)]

    def _rows(self) -> Iterable[Iterable[object]]:
        for frame, time, row in zip(
            self.frames.tolist(), self.times.tolist(), self.values, strict=True
        ):
            yield [frame, time, *row.tolist()]
