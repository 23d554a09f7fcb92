"""Results of `apply`: values that a user's function returned."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import Columns, count_of_frames
from trajet.result.report import analysis_of
from trajet.result.summary import Summary
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Applied(Table):
    """Values that a user's function returned for the frames of a trajectory.

    `values` are `(n_frames, …)`, float64; with a reducer, the array that it made of all frames.
    CSV files have the columns frame, time_ps and one column per number of a frame. With a reducer,
    the columns are index and value.

    Attributes
    ----------
    names_of_arrays, shapes
        Name and shape ("2x3") of each array, if the function returned dicts; else none. `values`
        are `(n_frames, n)` then, all numbers of a frame.
    """

    names_of_arrays: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        shapes = self._shapes()
        sizes = [math.prod(shape) for shape in shapes]
        is_like = sum(sizes) == math.prod(self.values.shape[1:]) or not shapes
        if (
            len(shapes) != len(self.names_of_arrays)
            or not is_like
            or min(map(min, filter(None, shapes)), default=0) < 0
        ):
            raise ValueError(f"arrays of the shapes {shapes} are not those of a frame")

    def _shapes(self) -> list[tuple[int, ...]]:
        """Return the shape of each array of a dict."""
        return [tuple(map(int, filter(None, one.split("x")))) for one in self.shapes]

    @property
    def reduced(self) -> bool:
        """Whether a reducer was given."""
        return not self.has_frames

    @property
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The array of each name, `(n_frames, …)`, if the function returned dicts."""
        if not self.names_of_arrays:
            return {self.name: self.values}
        shapes = self._shapes()
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        return {
            name: part.reshape(len(self.values), *shape)
            for name, shape, part in zip(
                self.names_of_arrays, shapes, np.split(self.values, ends, axis=1), strict=True
            )
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each number of a frame."""
        return tuple(self.names())

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each number of a frame against time.

        Raises
        ------
        ValueError
            If a frame has more numbers than there are line colours, or a reducer was given.
        """
        from trajet import plots

        if self.reduced or self.n_columns() > len(plots.COLOURS):
            raise ValueError(
                f"values of shape {self.values.shape} are not a few time series: draw them yourself"
            )
        return super()._draw(ax, look)

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each number of a frame in the header of a CSV file."""
        places = self._labels_of_columns() if self.named_axes() else [""]
        if self.names_of_arrays:
            return places
        return ["_".join(filter(None, [quantity or self.name, place])) for place in places]

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the shape of the values; see `Table.summary`."""
        return Summary(self._about())

    def _about(self) -> str:
        n_frames = analysis_of(self.report)["parameters"]["n_frames"]
        of = f"{n_frames} frame{'' if n_frames == 1 else 's'}"
        if not self.reduced:
            of = count_of_frames(self.frames)
        return f"{self.name} of {of}, values {self.values.shape}"

    def _table(self) -> Columns:
        if self.reduced:
            return [("index", np.arange(self.values.size)), ("value", self.values.reshape(-1))]
        return super()._table()
