"""What figures take of results: tables, their axes and their errors."""

from collections.abc import Mapping
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray


class ResultAxis(Protocol):
    """The places along a dimension; see `trajet.result.axes.Axis`."""

    @property
    def kind(self) -> str:
        """Kind of the places: "atoms", "residues", …."""

    @property
    def columns(self) -> Mapping[str, NDArray[np.generic]]:
        """What tells the places apart, such as "resid", "chain" and "label"."""

    @property
    def edges(self) -> NDArray[np.float64] | None:
        """Edges of bins, `(n + 1,)`; None if the places are none."""

    @property
    def label(self) -> str:
        """Name and unit of what bins divide; empty where the kind says it."""

    @property
    def period(self) -> float | None:
        """Period of that quantity; None if it is on no circle."""

    @property
    def is_closed(self) -> bool:
        """Whether bins divide a whole circle."""

    def __len__(self) -> int: ...

    def some(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the axis of some of the places."""

    def labels(self) -> list[str]:
        """Return the label of each place."""

    def without_chains(self) -> tuple[list[str] | None, list[str]]:
        """Return the chains, if labels have them, and labels without them."""


class Drawn(Protocol):
    """A result; see `trajet.result.table.Table`."""

    @property
    def name(self) -> str:
        """Name of the values."""

    @property
    def axes(self) -> tuple[ResultAxis, ...]:
        """The places along each dimension."""

    @property
    def quantity(self) -> str:
        """Name and unit of the values."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Name of each series."""


class OfFrames(Drawn, Protocol):
    """A result whose rows are frames."""

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the frames, `(n_frames,)`, ps."""

    @property
    def frames(self) -> NDArray[np.int64]:
        """Numbers of the frames, `(n_frames,)`."""


class Numbers(Drawn, Protocol):
    """A result whose values are numbers, with their errors."""

    @property
    def values(self) -> NDArray[np.float64]:
        """Values, with as many dimensions as axes."""

    @property
    def half_widths(self) -> NDArray[np.float64] | None:
        """Longer sides of 95 % intervals, in the shape of the values, or None."""

    @property
    def resolved(self) -> NDArray[np.bool_] | None:
        """Whether each interval is resolved, or None."""


class NumbersOfFrames(Numbers, OfFrames, Protocol):
    """A result whose values are numbers of frames."""
