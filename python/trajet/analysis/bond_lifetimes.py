"""Lifetimes of hydrogen bonds, from the frames in which each pair has one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError
from trajet.analysis.runner import AnalysisOutcome
from trajet.analysis.time_axis import equal_step

# Correlations above this at the largest lag have not decayed.
_DECAYED = 0.05
# Correlations below this at the first lag have decayed too fast.
_UNRESOLVED = 0.5
# Bonds that are correlated at a time; between, an interrupt is raised.
_AT_ONCE = 2**20


def interval_of(outcome: AnalysisOutcome) -> float:
    """Return the time between neighbouring frames, ps.

    Raises
    ------
    AnalysisError
        If there are fewer than two frames, or their times are not evenly spaced.
    """
    trajectory, n = outcome.request.trajectory, len(outcome.frames)
    if n < 2:
        raise AnalysisError(f"{trajectory.label}: lifetimes need at least two frames, not {n}")
    return equal_step(trajectory, outcome.frames, "lifetimes need")


def frames_of_lag(max_lag: float | None, interval: float, n_frames: int) -> int:
    """Return the largest lag in frames; None is half of the trajectory.

    Raises
    ------
    ValueError
        If it is negative, or longer than the trajectory.
    """
    if max_lag is None:
        return (n_frames - 1) // 2
    longest = (n_frames - 1) * interval
    if not 0 <= max_lag <= longest * (1 + 1e-6):
        raise ValueError(
            f"max_lag={max_lag:g} ps (--max-lag): the frames cover {longest:g} ps; choose a lag"
            " from 0 to that, best below half of it"
        )
    return min(int(max_lag / interval * (1 + 1e-6)), n_frames - 1)


def add_bonds(correlation: _trajet.Correlation, outcome: AnalysisOutcome) -> None:
    """Add the pairs of a run, whose `keys` are those of all pairs frame by frame."""
    numbers = np.arange(len(outcome.frames), dtype=np.uint32)
    frames = np.repeat(numbers, outcome.integers("count"))
    # Stable: the frames of a pair ascend.
    keys = outcome.integers("keys")
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    frames = frames[order]
    del order
    starts = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1], [True]]))
    for first, last in _runs(starts):
        begin, end = starts[first], starts[last]
        correlation.add(starts[first : last + 1] - begin, frames[begin:end])


def sums_by_lag(
    correlation: _trajet.Correlation,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the intermittent and the continuous correlation, `(n_lags,)`; NaN without bonds."""
    bonded, again, bridged, throughout = correlation.sums()
    with np.errstate(invalid="ignore"):
        return again / bonded, throughout / bridged


def undecayed(correlations: tuple[NDArray[np.float64], NDArray[np.float64]]) -> list[str]:
    """Return remarks on correlations that have not decayed at the largest lag."""
    return [
        f"the {name} correlation is still {values[-1]:.2g} at the largest lag: the lifetime from"
        " its integral is too short; choose a larger max_lag (--max-lag) or more frames"
        for name, values in zip(("intermittent", "continuous"), correlations, strict=True)
        if values[-1] > _DECAYED
    ]


def unresolved(
    correlations: tuple[NDArray[np.float64], NDArray[np.float64]], interval: float
) -> list[str]:
    """Return remarks on correlations that have decayed within the time between frames, ps."""
    return [
        f"the {name} correlation falls to {values[1]:.2g} in the {interval:g} ps from one frame to"
        " the next: the lifetime is mostly this interval, and not resolved; save frames more often"
        for name, values in zip(("intermittent", "continuous"), correlations, strict=True)
        if len(values) > 1 and values[1] < _UNRESOLVED
    ]


def _runs(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of pairs with about `_AT_ONCE` bonds each."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + _AT_ONCE))
        last = min(max(last, first + 1), len(starts) - 1)
        yield first, last
        first = last
