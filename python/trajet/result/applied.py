"""Results of `apply`: values that a user's function returned."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.per_frame import PerFrame
from trajet.result.report import Report
from trajet.result.result import Columns, count_of_frames, time_columns
from trajet.result.summary import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look
    from trajet.uncertainty.estimates import Discard
    from trajet.uncertainty.statistics import Statistics


@dataclass(frozen=True, repr=False)
class Applied(PerFrame):
    """Values that a user's function returned for the frames of a trajectory.

    CSV files have the columns frame, time_ps and one column per number of a frame. With a reducer,
    the columns are index and value.

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
    names, shapes
        Name and shape ("2x3") of each array, if the function returned dicts; else None. `values`
        are `(n_frames, n)` then, all numbers of a frame.
    """

    values: NDArray[np.float64]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    name: str
    reduced: bool
    report: Report
    names: tuple[str, ...] | None = None
    shapes: tuple[str, ...] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = ("values", "times", "frames")

    @property
    def parts(self) -> dict[str, NDArray[np.float64]]:
        """The array of each name, `(n_frames, …)`, if the function returned dicts."""
        if self.names is None or self.shapes is None:
            return {self.name: self.values}
        shapes = [tuple(map(int, filter(None, one.split("x")))) for one in self.shapes]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        return {
            name: part.reshape(len(self.values), *shape)
            for name, shape, part in zip(
                self.names, shapes, np.split(self.values, ends, axis=1), strict=True
            )
        }

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
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
            means=self._means(),
            ax=ax,
            look=look,
        )

    def statistics(self, *, discard: "Discard" = None) -> "Statistics":
        """Return the mean of each number of a frame with its error; see `Table.statistics`.

        Raises
        ------
        ValueError
            If a reducer was given: there are no values per frame.
        """
        if self.reduced:
            raise ValueError("a reduced array has no values per frame, and no error")
        return super().statistics(discard=discard)

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each number with its error; see `Result.mean_errors`."""
        return () if self.reduced else super().mean_errors()

    def _quantity(self) -> str:
        return self.name

    def _labels(self) -> list[str]:
        return self._columns()

    def _sample_names(self) -> list[str]:
        return self._columns()

    def _row_fields(self) -> tuple[str, ...]:
        return ("values",) if self.reduced else self._ROWS

    def _columns(self) -> list[str]:
        return [
            "_".join([name, *map(str, index)])
            for name, part in self.parts.items()
            for index in np.ndindex(*part.shape[1:])
        ]

    def _about(self) -> str:
        return f"{self.name} of {count_of_frames(self.frames)}, values {self.values.shape}"

    def _table(self) -> Columns:
        if self.reduced:
            return [("index", np.arange(self.values.size)), ("value", self.values.reshape(-1))]
        names = self._columns()
        columns = self.values.reshape(len(self.frames), len(names)).T
        return [
            *time_columns(self.times, self.frames, self.report),
            *zip(names, columns, strict=True),
        ]
