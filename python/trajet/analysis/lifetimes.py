"""How long members last: correlation functions and dwell times of bonds, contacts and atoms."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet
from trajet._trajet import AnalysisError
from trajet.analysis.runner import AnalysisOutcome
from trajet.analysis.time_axis import equal_step
from trajet.checked_numbers import whole_number
from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.result import DwellTimes, Lifetimes
from trajet.result.axes import Axis, named
from trajet.result.lifetimes import FUNCTIONS
from trajet.result.report import Report
from trajet.result.table import Table
from trajet.uncertainty.proportion import interval_of_share

# Correlations above this at the largest lag have not decayed.
_DECAYED = 0.05
# Correlations below this at the first lag have decayed too fast.
_UNRESOLVED = 0.5
# Members of frames that are correlated at a time; between, an interrupt is raised.
_AT_ONCE = 2**20
# Bytes of the member of a frame while it is correlated.
BYTES_OF_KEY = 8 * 8
DEFAULT_MEMORY = 2**30


def check_lifetimes(*, lifetimes: bool, max_lag: float | None, intermittency: int) -> None:
    """Raise a ValueError for parameters of lifetimes without these."""
    if not lifetimes and (max_lag is not None or intermittency):
        raise ValueError("max_lag= and intermittency= are options of lifetimes: set lifetimes=True")


def check_intermittency(intermittency: int) -> None:
    """Raise an error unless the longest gap is a number of frames."""
    whole_number(intermittency, "intermittency is a number of frames: it", least=0)


class Wanted(TypedDict):
    """The members that a run collects: those with a key from `first` on, below `end`."""

    first: int
    end: int
    most: int


def wanted(max_memory: int, first: int = 0, end: int = 2**63 - 1) -> Wanted:
    """Return a parameter of plans that collect members, as many as fit into memory."""
    return {"first": first, "end": end, "most": max(1, max_memory // BYTES_OF_KEY)}


class Lasting:
    """Members that come and go, such as bonds, contacts or selected atoms, and how long they last.

    Parameters
    ----------
    outcome
        Of a run over the frames.
    max_lag
        The largest lag, ps; None for half of the time of the frames.
    intermittency
        Longest gap, in frames, that does not end a membership.

    Raises
    ------
    AnalysisError
        If there are fewer than two frames, or their times are not evenly spaced.
    ValueError
        If the lag is negative, or longer than the trajectory.
    """

    def __init__(self, outcome: AnalysisOutcome, max_lag: float | None, intermittency: int) -> None:
        trajectory, n = outcome.request.trajectory, len(outcome.frames)
        if n < 2:
            raise AnalysisError(f"{trajectory.label}: lifetimes need at least two frames, not {n}")
        self.interval = equal_step(trajectory, outcome.frames, "lifetimes need")
        self._gap = intermittency
        self._longest = _frames_of_lag(max_lag, self.interval, n)
        self._correlation = _trajet.Correlation(n, self._longest, intermittency)

    def add(self, keys: NDArray[np.int64], frames: NDArray[np.uint32]) -> None:
        """Add members by the number that each has in all frames, and the frames with it.

        Parameters
        ----------
        keys
            `(n,)`, each once in a frame.
        frames
            `(n,)`, ascending: the place of the frame among those of the run.
        """
        add_members(self._correlation, keys, frames)

    def add_outcome(self, outcome: AnalysisOutcome) -> None:
        """Add the members of a run, whose `keys` are those of all frames in turn."""
        self.add(outcome.integers("keys"), frames_of_keys(outcome.integers("count")))

    def messages(self) -> list[Message]:
        """Return messages on correlations that have not decayed, or too fast."""
        return messages_by_kind({"": self})

    def parts(self, labels: tuple[str, ...], report: Report) -> dict[str, Table]:
        """Return the parts of a result: `lifetimes` and `dwell_times`."""
        lags = Axis("time", {"time": self.interval * np.arange(self._longest + 1.0)})
        present, _, bridged, _, starts = self._sums[0]
        lifetimes = Lifetimes(
            values=np.stack(self.correlations, axis=1),
            axes=(lags, named("groups", FUNCTIONS)),
            name="correlation",
            units="",
            selections=labels,
            report=report,
            also={"n_starts": np.stack([present, bridged, starts], axis=1)},
            intermittency=self._gap,
        )
        return {"lifetimes": lifetimes, "dwell_times": self._dwell_times(lags, labels, report)}

    @cached_property
    def _sums(self) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
        """The sums of all members by lag."""
        return self._correlation.sums()

    @property
    def correlations(self) -> list[NDArray[np.float64]]:
        """`FUNCTIONS`, `(n_lags,)` each; NaN without members."""
        (present, again, bridged, throughout, starts), shares = self._sums
        with np.errstate(invalid="ignore"):
            return [again / present, throughout / bridged, shares / starts]

    def _dwell_times(self, lags: Axis, labels: tuple[str, ...], report: Report) -> DwellTimes:
        """Return rate and distribution of the dwell times."""
        dwells = self._correlation.dwells()
        runs, at_risk, exits, (reach, end), _ = dwells
        *shares, effect = exit_shares(dwells)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate, low, high = (-np.log1p(-np.array(shares)) / self.interval).tolist()
            # NaN beyond the longest run, of which nothing is known.
            left = 1 - end / reach
        return DwellTimes(
            values=np.cumprod(left, dtype=np.float64),
            axes=(lags,),
            name="survival",
            units="",
            selections=labels,
            report=report,
            also={"at_risk": reach, "exits": end},
            rate=rate,
            rate_low=low,
            rate_high=high,
            n_at_risk=at_risk,
            n_exits=exits,
            n_inside=runs[0],
            n_cut_at_begin=runs[1],
            n_cut_at_end=runs[2],
            n_cut_at_both=runs[3],
            design_effect=effect,
            intermittency=self._gap,
        )


def messages_by_kind(lasting: Mapping[str, Lasting]) -> list[Message]:
    """Return messages on correlations that have not decayed, or too fast, of members by kind."""
    pairs = {
        name: {kind: one.correlations[k] for kind, one in lasting.items()}
        for k, name in enumerate(FUNCTIONS[:2])
    }
    (interval,) = {one.interval for one in lasting.values()}
    return [*_unresolved(pairs, interval), *_undecayed(pairs)]


def add_members(
    correlation: _trajet.Correlation, keys: NDArray[np.int64], frames: NDArray[np.uint32]
) -> None:
    """Add members to their correlation; see `Lasting.add`."""
    # Stable: the frames of a member ascend.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    frames = frames[order]
    del order
    starts = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1], [True]]))
    for first, last in _runs(starts):
        begin, end = starts[first], starts[last]
        correlation.add(starts[first : last + 1] - begin, frames[begin:end])


def exit_shares(dwells: "_trajet.Dwells") -> tuple[float, float, float, float]:
    """Return the exits per frame at risk, the ends of their 95 % interval, and the design effect.

    The share is NaN without frames at risk.
    """
    _, at_risk, exits, _, products = dwells
    p = exits / at_risk if at_risk else np.nan
    alone = at_risk * p * (1 - p)
    effect = 1.0
    if alone > 0:
        # Variance by frames and by members, beside that of exits that are independent.
        effect = max(1.0, *((xx - 2 * p * xn + p**2 * nn) / alone for xx, xn, nn in products))
    return p, *interval_of_share(exits / effect, at_risk / effect), effect


def frames_of_keys(counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the place of the frame of each key, given the number of keys of each frame."""
    return np.repeat(np.arange(len(counts), dtype=np.uint32), counts)


def within_memory(counts: NDArray[np.int64], max_memory: int, of_one: str) -> list[tuple[int, int]]:
    """Return ranges of groups of members that are correlated at a time.

    Parameters
    ----------
    counts
        Number of members of each group, over all frames.
    of_one
        The members of one group, for messages.

    Raises
    ------
    MemoryError
        If those of one group take more than `max_memory`.
    """
    most = max_memory // BYTES_OF_KEY
    if (largest := int(counts.max(initial=0))) > most:
        raise MemoryError(
            f"the {largest} {of_one} take {largest * BYTES_OF_KEY} bytes while they are"
            " correlated, more than max_memory= allows: raise it, or choose fewer frames"
        )
    ends = np.concatenate([[0], np.cumsum(counts)])
    parts = []
    first = 0
    while first < len(counts):
        last = int(np.searchsorted(ends, ends[first] + most, side="right")) - 1
        parts.append((first, last))
        first = last
    return parts


def too_many(members: str, max_memory: int) -> str:
    """Return the message on members of all frames that do not fit into memory."""
    return (
        f"more than {max_memory // BYTES_OF_KEY} {members} of all frames, which lifetimes need at a"
        f" time, take more than max_memory={max_memory}: choose fewer atoms or frames, or, if"
        " memory is left, raise max_memory="
    )


def as_many(outcome: AnalysisOutcome, name: str, expected: int, members: str) -> AnalysisOutcome:
    """Return the outcome if the array `name` has as many members as a run before has counted.

    Raises
    ------
    AnalysisError
        If their numbers differ.
    """
    if (collected := len(outcome.arrays[name])) != expected:
        raise AnalysisError(
            f"{outcome.request.trajectory.label}: the frames have {expected} {members}, but"
            f" {collected} were collected: run the analysis again, and report a bug if this stays"
        )
    return outcome


def _frames_of_lag(max_lag: float | None, interval: float, n_frames: int) -> int:
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
            f"max_lag={in_digits(max_lag)} ps: the frames cover {in_digits(longest)}"
            " ps; choose a lag from 0 to that, best below half of it"
        )
    return min(int(max_lag / interval * (1 + 1e-6)), n_frames - 1)


def _undecayed(correlations: Mapping[str, Mapping[str, NDArray[np.float64]]]) -> list[Message]:
    """Return messages on correlations, by name and kind, that last beyond the largest lag."""
    found = {
        name: {kind: values[-1] for kind, values in kinds.items() if values[-1] > _DECAYED}
        for name, kinds in correlations.items()
    }
    return [
        Message(
            Code.LIFETIME,
            f"the {name} correlation{_of(last)} is still {'up to ' * (len(last) > 1)}"
            f"{max(last.values()):.2g} at the largest lag: the lifetime from its integral is too"
            " short",
            "choose a larger max_lag= or more frames",
        )
        for name, last in found.items()
        if last
    ]


def _unresolved(
    correlations: Mapping[str, Mapping[str, NDArray[np.float64]]], interval: float
) -> list[Message]:
    """Return messages on correlations, by name and kind, that decay between frames, ps apart."""
    found = {
        name: {
            kind: values[1]
            for kind, values in kinds.items()
            if len(values) > 1 and values[1] < _UNRESOLVED
        }
        for name, kinds in correlations.items()
    }
    return [
        Message(
            Code.LIFETIME,
            f"the {name} correlation{_of(second)} falls to"
            f"{' as little as' * (len(second) > 1)} {min(second.values()):.2g} in the"
            f" {in_digits(interval)} ps from one frame to the next: the lifetime is mostly this"
            " interval, and not resolved",
            "save frames more often",
        )
        for name, second in found.items()
        if second
    ]


def _of(kinds: Mapping[str, float]) -> str:
    """Return the kinds, if they have names, as part of a text."""
    return f" ({', '.join(kinds)})" if any(kinds) else ""


def _runs(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of members with about `_AT_ONCE` frames each."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + _AT_ONCE))
        last = min(max(last, first + 1), len(starts) - 1)
        yield first, last
        first = last
