"""`FrameMask`: frames that fulfil a condition on numbers per frame."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FrameError


class TimedFrames(Protocol):
    """Frames of a trajectory, with their times."""

    @property
    def label(self) -> str:
        """Name in messages."""
        ...

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        ...

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of all frames, `(n_frames,)`, ps."""
        ...


@dataclass(frozen=True, eq=False)
class FrameMask:
    """Frames that fulfil a condition, such as `result < 2`, to be given as `frames`.

    Masks of the same frames are combined by `&`, `|` and `~`. A frame whose number is NaN is never
    chosen, also not by `~`.

    Attributes
    ----------
    condition
        The condition as text.
    frames, times
        `(n_rows,)`, the frames that were asked, and their times, ps.
    chosen
        `(n_rows,)`, bool: which of them fulfil the condition.
    known
        `(n_rows,)`, bool: which of them have numbers.
    is_joined
        Whether rows are frames of a trajectory, and not those of a file.
    """

    condition: str
    frames: NDArray[np.int64]
    times: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    known: NDArray[np.bool_]
    is_joined: bool = True

    def __repr__(self) -> str:
        return f"<FrameMask {self.condition}: {self.chosen.sum()} of {len(self.chosen)} frames>"

    def __len__(self) -> int:
        return len(self.chosen)

    def __bool__(self) -> bool:
        raise ValueError(
            f"{self!r} is neither true nor false: combine masks as (a > 1) & (a < 2), not by 'and'"
            " or 1 < a < 2"
        )

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[np.bool_]:
        raise TypeError(f"{self!r} is no array: give it as frames=, or take its .chosen")

    def __and__(self, other: Self) -> Self:
        return self._combined(other, "&", np.logical_and)

    def __or__(self, other: Self) -> Self:
        return self._combined(other, "|", np.logical_or)

    def __invert__(self) -> Self:
        return replace(self, condition=f"~({self.condition})", chosen=~self.chosen & self.known)

    def _combined(self, other: Self, sign: str, combine: Callable[..., NDArray[np.bool_]]) -> Self:
        """Return the mask of both conditions.

        Raises
        ------
        TypeError
            If the other one is no mask of a result.
        ValueError
            If they are of other frames.
        """
        if not isinstance(other, FrameMask):
            raise TypeError(
                f"{self!r} is combined with conditions on results, not with"
                f" {type(other).__name__}: take its .chosen"
            )
        if not np.array_equal(self.frames, other.frames) or not _same(self.times, other.times):
            raise ValueError(f"{self!r} and {other!r} are of different frames: join both with at()")
        known = self.known & other.known
        return replace(
            self,
            condition=f"({self.condition}) {sign} ({other.condition})",
            chosen=combine(self.chosen, other.chosen) & known,
            known=known,
            is_joined=self.is_joined and other.is_joined,
        )

    def numbers(self, of: TimedFrames) -> NDArray[np.int64]:
        """Return the numbers of the chosen frames of a trajectory, int64.

        Raises
        ------
        FrameError
            If the mask is of rows of a file, or of frames of another trajectory.
        """
        if not self.is_joined:
            raise FrameError(
                f"{self!r} is of rows of a file, not of frames of {of.label}: join the series with"
                " series.at(trajectory) first"
            )
        inside = (self.frames >= 0) & (self.frames < of.n_frames)
        if not inside.all() or not _same(of.times[self.frames], self.times):
            raise FrameError(
                f"{self!r} is of frames at other times than those of {of.label}: join its series"
                " with at(trajectory), or compute it for this trajectory"
            )
        return self.frames[self.chosen]


def _same(times: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether times are the same."""
    return np.array_equal(times, other, equal_nan=True)
