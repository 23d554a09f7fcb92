"""Rows of a series at the times of frames."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.messages import Code, Message

# Rounding of single precision, relative.
_SINGLE = 2.0**-24


class FrameTimes(NamedTuple):
    """Times of the frames of a trajectory.

    Attributes
    ----------
    label
        Name of the trajectory in messages.
    times, rounding
        `(n_frames,)`, ps: times, and how much the files may round them.
    unstated
        Why times are not known; empty if they are.
    """

    label: str
    times: NDArray[np.float64]
    rounding: NDArray[np.float64]
    unstated: str = ""


class FramesSource(Protocol):
    """Parts of a trajectory, as far as series are joined to it."""

    def frame_times(self) -> FrameTimes:
        """Return the times of all frames."""
        ...


class HasFrameTimes(Protocol):
    """A trajectory or a selection of it."""

    @property
    def source(self) -> FramesSource:
        """Its parts."""
        ...


def rows_at(
    times: NDArray[np.float64],
    rounding: NDArray[np.generic] | None,
    of: FrameTimes,
    tolerance: float | None,
) -> tuple[NDArray[np.int64], list[Message]]:
    """Return the row of a series at each frame, -1 where there is none, and a warning about these.

    Parameters
    ----------
    times, rounding
        `(n_rows,)`, ps: times of the rows, and how much they may be rounded; None for the rounding
        of single precision.
    of
        Times of the frames.
    tolerance
        Largest distance, ps; None for the rounding of both times.

    Raises
    ------
    ValueError
        If times are not known, or do not grow from row to row; if the tolerance is no number of 0
        or more.
    """
    if of.unstated:
        raise ValueError(f"{of.label}: rows cannot be joined by time: {of.unstated}")
    if not len(times) or not (np.diff(times) > 0).all():
        raise ValueError("rows are joined by time, and times must grow from row to row")
    if tolerance is not None and not (np.isfinite(tolerance) and tolerance >= 0):
        raise ValueError(f"tolerance is a time of 0 ps or more, not {tolerance}")
    if not len(of.times):
        return np.zeros(0, np.int64), []
    after = np.clip(np.searchsorted(times, of.times), 1, max(1, len(times) - 1))
    nearest = after - 1
    if len(times) > 1:
        is_after = times[after] - of.times < of.times - times[after - 1]
        nearest = np.where(is_after, after, nearest)
    distances = np.abs(times[nearest] - of.times)
    if tolerance is None:
        own = _SINGLE * np.abs(times) if rounding is None else rounding.astype(np.float64)
        slack = own[nearest] + of.rounding + 4 * np.spacing(np.abs(of.times))
    else:
        slack = np.full(len(of.times), float(tolerance))
    rows = np.where(distances <= slack, nearest, -1)
    missing = np.flatnonzero(rows < 0)
    if not len(missing):
        return rows, []
    k = missing[0]
    text = (
        f"{len(missing)} of {len(rows)} frames of {of.label} have no row of the series at their"
        f" times, and NaN: the first is frame {k}, at {in_digits(of.times[k])} ps, and the nearest"
        f" row is at {in_digits(times[nearest[k]])} ps"
    )
    return rows, [Message(Code.NO_PARTNER, text, "give tolerance= if this row is meant")]
