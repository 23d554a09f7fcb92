"""Means of series with their errors: `statistics`."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet.checked_numbers import checked_numbers
from trajet.uncertainty.estimates import LEAST_GAIN, Discard, Estimates, estimates
from trajet.uncertainty.even_times import FrameClock, are_in_order, clock_of

# A number, or an array with one for each series.
Numbers: TypeAlias = "float | NDArray[np.float64]"


@dataclass(frozen=True, repr=False)
class Statistics:
    """Means over time of one or several series, and how well they are known.

    Entries are numbers for one series. For several, they are arrays with the shape of one frame,
    and `reason` is a tuple with one text per number of a frame.

    Attributes
    ----------
    estimates
        Arrays with one element per series.
    clock
        Times of the frames.
    shape
        Shape of one frame.
    """

    estimates: Estimates
    clock: FrameClock
    shape: tuple[int, ...]

    @property
    def mean(self) -> Numbers:
        """Mean of the frames that were used; of angles the circular mean."""
        return self._shaped(self.estimates.mean)

    @property
    def std(self) -> Numbers:
        """Standard deviation of the frames that were used; of angles the circular one."""
        return self._shaped(self.estimates.std)

    @property
    def standard_error(self) -> Numbers:
        """Standard error of the mean: how far means of many such runs spread.

        NaN if it cannot be estimated, as of constants and of fewer than four frames.
        """
        return self._shaped(self.estimates.standard_error)

    @property
    def interval(self) -> tuple[Numbers, Numbers]:
        """Lower and upper end of the 95 % interval of the mean.

        It reaches further towards the longer tail of the values, as of a rare state. The ends of an
        interval of angles may lie beyond 180 degrees.
        """
        return self._shaped(self.estimates.low), self._shaped(self.estimates.high)

    @property
    def correlation_time(self) -> Numbers:
        """Integrated correlation time, (g - 1) / 2 steps, in `time_unit`.

        Negative if neighbouring frames tend to lie on opposite sides of the mean.
        """
        return self._shaped(self.estimates.correlation_steps * self.clock.step)

    @property
    def inefficiency(self) -> Numbers:
        """Statistical inefficiency g: how many frames count as one independent frame."""
        return self._shaped(self.estimates.inefficiency)

    @property
    def n_effective(self) -> Numbers:
        """Number of independent frames that would give the same error: n / g."""
        return self._shaped(self.estimates.n_effective)

    @property
    def n_frames(self) -> Numbers:
        """Number of frames that were used."""
        return self._shaped(self.estimates.n_frames.astype(np.float64))

    @property
    def resolved(self) -> "bool | NDArray[np.bool_]":
        """Whether the series is long enough to trust its interval.

        It has at least 20 effective frames, 4 degrees of freedom, and about eight visits to the
        rarer side of its mean, such as a rare state. A series that has never left the state where
        it began looks resolved, too: only replicas show this.
        """
        flags = self.estimates.is_resolved
        return flags.reshape(self.shape) if self.shape else bool(flags[0])

    @property
    def reason(self) -> "str | tuple[str, ...]":
        """Why the mean is not resolved; an empty text if it is."""
        texts = tuple(map(str, self.estimates.reasons))
        return texts if self.shape else texts[0]

    @property
    def equilibration(self) -> Numbers:
        """Time at the beginning that MSER suggests to leave out, in `time_unit`.

        It is at most half of the series, and nothing is left out unless `discard` says so.
        """
        return self._shaped(self.estimates.cuts.astype(np.float64) * self.clock.step)

    @property
    def time_unit(self) -> str:
        """Unit of times: "ps", or "frames" if the times are unknown or all equal."""
        return self.clock.unit

    def __repr__(self) -> str:
        """Return mean, interval, correlation time, effective frames, and the reason."""
        if not self.shape:
            return f"<Statistics: {self.sentences()[0]}>"
        n_resolved = int(np.count_nonzero(self.resolved))
        return f"<Statistics of {math.prod(self.shape)} series, {n_resolved} of them resolved>"

    def sentences(self, unit: str = "", count: int | None = None) -> list[str]:
        """Return mean, interval, correlation time, effective frames and reason of each series.

        Parameters
        ----------
        unit
            Unit of the values.
        count
            Number of series; None for all.
        """
        return [self._sentence(k, unit) for k in range(len(self.estimates.mean))[:count]]

    def _sentence(self, k: int, unit: str) -> str:
        of = self.estimates
        mean, half = of.mean[k], of.half_width[k]
        begin = of.cuts[k] * self.clock.step
        drift = f"; MSER would leave out the first {begin:.4g} {self.time_unit}"
        end = drift if of.gains[k] >= LEAST_GAIN else ""
        end += f"; not resolved: {of.reasons[k]}" if of.reasons[k] else ""
        unit = f" {unit}" if unit else ""
        if not math.isfinite(half):
            return f"mean {mean:.4g}{unit}{end}"
        form = f".{digits_of_error(half)}f"
        time = of.correlation_steps[k] * self.clock.step
        return (
            f"mean {mean:{form}} ± {half:{form}}{unit} (95 %), correlation time"
            f" {time:.2g} {self.time_unit}, {of.n_effective[k]:.3g} effective"
            f" {self.clock.samples} of {of.n_frames[k]}{end}"
        )

    def _shaped(self, numbers: NDArray[np.float64]) -> Numbers:
        return numbers.reshape(self.shape) if self.shape else float(numbers[0])


def digits_of_error(error: float) -> int:
    """Return the digits after the point that show two digits of an error, from 0 to 12."""
    return min(12, max(0, 1 - math.floor(math.log10(error)))) if 0 < error < math.inf else 3


def statistics(
    values: ArrayLike,
    times: ArrayLike | None = None,
    *,
    discard: Discard = None,
    period: float | None = None,
) -> Statistics:
    """Return the mean of a correlated series with its error, correlation time and 95 % interval.

    Geyer's initial monotone sequence gives the statistical inefficiency; the interval is Student's
    t, stretched towards the tail of skewed values. docs/statistics.md says what each number means,
    when to distrust it, and how often such intervals cover the mean.

    Parameters
    ----------
    values
        `(n_frames,)`, or `(n_frames, …)` for several series; any unit.
    times
        `(n_frames,)`, ps, at equal distances. Without them, times are counted in frames. If they
        fall, the beginning is the end of the series.
    discard
        Time to leave out at the beginning, in ps; "auto" leaves out what `equilibration` suggests
        for each series. Cutting by the same data makes intervals a little too narrow.
    period
        Period of values on a circle: 360 for angles in degrees. Their means are circular.

    Raises
    ------
    ValueError
        If a value is not finite, times are not even or of another number, or `discard` is negative.
    TypeError
        If values are not real numbers.

    Examples
    --------
    >>> import trajet as tj
    >>> stats = tj.statistics(result.values, result.times)
    >>> stats.resolved, stats.reason
    (False, '2.85 effective frames are fewer than 20')
    """
    numbers = checked_numbers(values, "values")
    if not np.ndim(values):
        raise ValueError(
            "values must be a series, (n_frames,) or (n_frames, n_series), not a number"
        )
    if not np.isfinite(numbers).all():
        rows = ~np.isfinite(numbers.reshape(len(numbers), -1)).all(axis=1)
        first = int(rows.argmax())
        raise ValueError(
            f"values of {np.count_nonzero(rows)} frames are not finite, the first in row {first}:"
            " an error needs all frames of a stretch; choose one without gaps"
        )
    clock = FrameClock()
    if times is not None:
        given = checked_numbers(times, "times")
        if given.shape != (len(numbers),):
            raise ValueError(f"times of shape {given.shape} do not fit {len(numbers)} frames")
        clock = clock_of(given)
        if clock.remark:
            raise ValueError(f"{clock.remark}: leave times out to count in frames")
    return statistics_of_frames(numbers, clock, discard=discard, period=period)


def statistics_of_frames(
    values: NDArray[np.float64],
    clock: FrameClock,
    frames: NDArray[np.int64] | None = None,
    *,
    discard: Discard = None,
    period: float | None = None,
) -> Statistics:
    """Return `Statistics` also of values that are not finite or not even in time, with reasons.

    The beginning is that of the simulation, also if frames go backwards.

    Raises
    ------
    ValueError
        If `discard` or `period` is not positive, or neither a time nor "auto"; if the frames of
        which a part is to be discarded are in no order.
    """
    if not (discard is None or discard == "auto") and (
        isinstance(discard, str) or not (math.isfinite(discard) and discard >= 0)
    ):
        raise ValueError(f'discard is a time in ps of at least 0, or "auto", not {discard!r}')
    if discard is not None and discard != "auto":
        # Numbers of NumPy are numbers, too.
        discard = float(discard)
    if period is not None and not (math.isfinite(period) and period > 0):
        raise ValueError(f"period must be above 0, not {period!r}")
    frames = np.arange(len(values)) if frames is None else frames
    has_beginning = are_in_order(frames)
    if discard is not None and not has_beginning:
        raise ValueError(
            "discard leaves out the beginning, and frames are not in the order of the simulation:"
            " choose them in ascending order"
        )
    shape = values.shape[1:]
    clock, values, frames = clock.ascending(values, frames)
    found = estimates(
        values.reshape(len(values), math.prod(shape)),
        clock,
        frames,
        discard=discard,
        period=period,
        with_cuts=has_beginning,
    )
    return Statistics(found, clock, shape)
