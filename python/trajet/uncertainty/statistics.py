"""Means of series with their errors: `statistics`."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet.checked_numbers import checked_numbers
from trajet.digits import in_digits
from trajet.quantities import hint_on_text
from trajet.uncertainty.estimates import MIN_GAIN, Discard, Estimates, estimates
from trajet.uncertainty.even_times import FrameClock, are_in_order, clock_of

# A number, or an array with one for each series.
Numbers: TypeAlias = "float | NDArray[np.float64]"

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
        drift = f"; MSER would leave out the first {in_digits(begin)} {self.time_unit}"
        end = drift if of.gains[k] >= MIN_GAIN else ""
        end += f"; not resolved: {of.reasons[k]}" if of.reasons[k] else ""
        number = f"mean {with_error(float(mean), float(half), unit)}"
        if not math.isfinite(half):
            return f"{number}{end}"
        time = of.correlation_steps[k] * self.clock.step
        return (
            f"{number} (95 %), correlation time {in_digits(time, significant=2)} {self.time_unit},"
            f" {in_digits(of.n_effective[k], significant=3)} effective"
            f" {self.clock.samples} of {of.n_frames[k]}{end}"
        )

    def _shaped(self, numbers: NDArray[np.float64]) -> Numbers:
        return numbers.reshape(self.shape) if self.shape else float(numbers[0])


def with_error(value: float, error: float, unit: str = "", *, sign: bool = False) -> str:
    """Return a number with its error, of which two digits are shown: "1.23 ± 0.11 Å".

    Both have the same digits and power of ten: "(3.52 ± 0.41) × 10⁻⁶". Without a finite error, the
    number has four digits.
    """
    is_known = math.isfinite(error)
    largest = max(abs(value), error) if is_known else abs(value)
    has_power = math.isfinite(largest) and largest != 0 and not 1e-3 <= largest < 1e5
    power = math.floor(math.log10(largest)) if has_power else 0
    value, error = value / 10.0**power, error / 10.0**power
    plus = "+" if sign else ""
    if not is_known:
        text = f"{value:{plus}.4g}"
    else:
        # Of the rounded error: 0.0996 is 0.10.
        digits = 1 - math.floor(math.log10(float(f"{error:.1e}"))) if error > 0 else 3
        form = f".{min(12, max(0, digits))}f"
        text = f"{round(value, digits):{plus}{form}} ± {round(error, digits):{form}}"
    if power:
        text = f"({text})" if is_known else text
        text += f" × 10{str(power).translate(_SUPERSCRIPTS)}"
    return f"{text} {unit}" if unit else text


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
        if clock.reason:
            raise ValueError(f"{clock.reason}: leave times out to count in frames")
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
        raise ValueError(
            f'discard is a time in ps of at least 0, or "auto", not {discard!r}'
            f"{hint_on_text(discard, 'ps')}"
        )
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
