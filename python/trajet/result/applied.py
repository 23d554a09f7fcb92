"""Results of `apply`: values that a user's function returned."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import Result, count_of_frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Applied(Result):
    """Values that a user's function returned for the frames of a trajectory.

    NPZ files hold `values`, `times` and `frames`. CSV files have the columns frame, time_ps and one
    column per number of a frame. With a reducer, the columns are index and value.

    Attributes
    ----------
    values
        `(n_frames, …)`, float64; with a reducer, the array that it made of all frames.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    name
        Name of the function.
    reduced
        Whether a reducer was given.
    report
        Timings and counters of the run.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    name: str
    reduced: bool
    report: Report

    def plot(self) -> "Figure":
        """Draw each number of a frame against time.

        Raises
        ------
        ValueError
            If a frame has more numbers than there are line colours, or a reducer was given.
        """
        from trajet import plots

        columns = self._columns()
        if self.reduced or len(columns) > len(plots.COLOURS):
            raise ValueError(
                f"values of shape {self.values.shape} are not a few time series: draw them yourself"
            )
        return plots.series(
            self.values.reshape(len(self.frames), len(columns)),
            self.times,
            self.frames,
            labels=tuple(columns),
            quantity=self.name,
            title=self.name,
        )

    def _columns(self) -> list[str]:
        inner = self.values.shape[1:]
        return ["_".join([self.name, *map(str, index)]) for index in np.ndindex(*inner)]

    def _about(self) -> str:
        return f"{self.name} of {count_of_frames(self.frames)}, values {self.values.shape}"

    def _arrays(self) -> dict[str, np.ndarray]:
        return {"values": self.values, "times": self.times, "frames": self.frames}

    def _header(self) -> list[str]:
        return ["index", "value"] if self.reduced else ["frame", "time_ps", *self._columns()]

    def _rows(self) -> Iterable[Iterable[object]]:
        if self.reduced:
            yield from enumerate(self.values.reshape(-1).tolist())
            return
        rows = self.values.reshape(len(self.frames), int(np.prod(self.values.shape[1:])))
        for frame, time, row in zip(self.frames.tolist(), self.times.tolist(), rows, strict=True):
            yield [frame, time, *row.tolist()]
