"""Results with a number for every pair of frames."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import names_column
from trajet.result.summary import Column, Summary
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class PairwiseRmsd(Table):
    """RMSD of every frame from every other.

    `values` are `(n_frames, n_other)`, float32, Å. CSV files have the columns frame and time_ps,
    and one column for each frame of the other trajectory, named by its number.
    """

    values: NDArray[np.float32]  # type: ignore[assignment]

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "other frames"),)
    HAS_SERIES: ClassVar[bool] = False
    _HAS_TIMES: ClassVar[bool] = False

    @property
    def is_within(self) -> bool:
        """Whether rows and columns are the same frames of one trajectory."""
        rows, columns = self.axes
        return len(self.selections) == 1 and np.array_equal(rows["frame"], columns["frame"])

    @property
    def other_frames(self) -> NDArray[np.int64]:
        """Numbers of the frames of the columns, `(n_other,)`, int64."""
        return self._column("other frames", "frame").astype(np.int64, copy=False)

    @property
    def other_times(self) -> NDArray[np.float64]:
        """Times of the frames of the columns, `(n_other,)`, float64, ps."""
        return self._column("other frames", "time").astype(np.float64, copy=False)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the matrix against the times of both frames; see `Table.plot`."""
        from trajet import plots

        return plots.frame_pairs(
            self.values,
            (self.times, self.frames),
            None if self.is_within else (self.other_times, self.other_frames),
            quantity=self.quantity,
            labels=self.selections,
            ax=ax,
            look=look,
        )

    def off_diagonal(self) -> NDArray[np.float32]:
        """Return the RMSDs of pairs of different frames, each once; all of two selections."""
        if len(self.selections) > 1:
            return np.asarray(self.values).ravel()
        if not self.is_within:
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
        """Return mean, spread and extremes of all pairs; see `Table.scalars`."""
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

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of all pairs; see `Table.summary`."""
        numbers = self.scalars()
        columns = (
            names_column("selection", self.selections[:1]),
            Column("pairs", [numbers["n_pairs"]]),
            *(Column(k, [numbers.get(f"{k}_A")], ".3f") for k in ("mean", "std", "min", "max")),
        )
        return Summary("pairwise RMSD (Å)", columns, 1)
