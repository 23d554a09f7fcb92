"""Errors of the means of series, and of the means of blocks.

The squared standard error of the mean of n frames with variance C₀ is C₀ g (1 + (2W + 1) / n) / n:
g is the statistical inefficiency, summed up to lag W, and the factor corrects the bias of C₀ (U.
Wolff, Comput. Phys. Commun. 156, 143 (2004), doi:10.1016/S0010-4655(03)00467-3). Since g is itself
an estimate, the interval takes Student's t with n / (2W + 1) degrees of freedom, and reaches
further towards the tail of a skewed series (`trajet.uncertainty.skewed_means`).
`benches/interval_coverage.py` measures how often such intervals cover the mean.
"""

from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet.uncertainty.correlation import inefficiency
from trajet.uncertainty.equilibration import suggested_cuts
from trajet.uncertainty.even_times import FrameClock
from trajet.uncertainty.skewed_means import MIN_VISITS, sides
from trajet.uncertainty.student_t import quantile

# What is left out at the beginning: a time, or what MSER suggests.
Discard: TypeAlias = "float | Literal['auto'] | None"

# Fewest effective frames, and fewest degrees of freedom, of a mean that is resolved.
MIN_EFFECTIVE = 20
MIN_FREEDOM = 4
# Gain of a cut that is worth a message: at most 3 % of AR(1) of 20 correlation times exceed it.
MIN_GAIN = 1.5
# Fewest frames of which an error is estimated.
MIN_FRAMES = 4
# Numbers that are worked on at once.
_AT_ONCE = 2**22
_NUMBERS = ("mean", "std", "standard_error", "low", "high", "inefficiency", "freedom")


@dataclass(frozen=True)
class Estimates:
    """Means and errors of several series; every array is `(n_series,)`.

    Attributes
    ----------
    mean, std
        Mean and standard deviation of the frames that were used.
    standard_error
        Standard error of the mean.
    low, high
        Ends of the 95 % interval of the mean.
    inefficiency, freedom
        Statistical inefficiency, and degrees of freedom.
    n_frames, cuts
        Frames that were used, and how many MSER suggests to leave out.
    gains
        Ratio of the squared errors without and with the cut, as if frames were independent.
    reasons
        Why a mean is not resolved; an empty text if it is.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    inefficiency: NDArray[np.float64]
    freedom: NDArray[np.float64]
    n_frames: NDArray[np.int64]
    cuts: NDArray[np.int64]
    gains: NDArray[np.float64]
    reasons: NDArray[np.object_]

    @property
    def half_width(self) -> NDArray[np.float64]:
        """Larger distance of an end of the interval from the mean: mean ± this holds it."""
        return np.maximum(self.mean - self.low, self.high - self.mean)

    @property
    def is_resolved(self) -> NDArray[np.bool_]:
        """Whether the mean is resolved: there is no reason why not."""
        return np.array([not reason for reason in self.reasons], bool)

    @property
    def correlation_steps(self) -> NDArray[np.float64]:
        """Integrated correlation time, in steps between frames."""
        steps: NDArray[np.float64] = (self.inefficiency - 1) / 2
        return steps

    @property
    def n_effective(self) -> NDArray[np.float64]:
        """Number of independent frames that would give the same errors."""
        effective: NDArray[np.float64] = self.n_frames / self.inefficiency
        return effective


def estimates(
    values: NDArray[np.float64],
    clock: FrameClock,
    frames: NDArray[np.int64],
    *,
    discard: Discard = None,
    period: float | None = None,
    with_cuts: bool = True,
) -> Estimates:
    """Return means and errors of series.

    Parameters
    ----------
    values
        `(n_frames, n_series)`.
    clock
        Times of the frames.
    frames
        `(n_frames,)`, frame numbers, for reasons.
    discard
        Time that is left out at the beginning, in the unit of the clock; "auto" leaves out what
        MSER suggests for each series; None leaves out nothing.
    period
        Period of values on a circle, such as 360 for angles in degrees; None for other values.
    with_cuts
        Whether MSER looks at the series; otherwise `cuts` are 0.
    """
    n_frames, n_series = values.shape
    if isinstance(discard, (int, float)):
        begin = min(n_frames, int(np.ceil(discard / clock.step - 1e-9)))
        values, frames = values[begin:], frames[begin:]
    step = max(1, _AT_ONCE // max(1, n_frames))
    chunks = []
    for begin in range(0, n_series, step):
        rows = np.ascontiguousarray(values[:, begin : begin + step].T)
        chunk = _of_rows(rows, frames, clock, period, with_cuts)
        if discard == "auto":
            shorter = [
                _of_rows(row[np.newaxis, cut:], frames[cut:], clock, period, False)
                for row, cut in zip(rows, chunk.cuts.tolist(), strict=True)
            ]
            chunk = replace(_joined(shorter), cuts=chunk.cuts, gains=np.ones(len(rows)))
        chunks.append(chunk)
    return _joined(chunks or [_of_rows(np.empty((0, n_frames)), frames, clock, period, False)])


def estimates_of_blocks(values: NDArray[np.float64]) -> Estimates:
    """Return means with errors of quantities that each block of a run has, as an RDF or an RMSF.

    The values of blocks are a series, with the same estimator. Correlation times are those of
    blocks: 0 if correlations are shorter than a block.

    Parameters
    ----------
    values
        `(n_blocks, n_numbers)`: values of blocks of equal length, one after the other, or jackknife
        pseudo-values.
    """
    clock = FrameClock(unit="blocks", samples="blocks")
    return estimates(values, clock, np.arange(len(values)), with_cuts=False)


def _joined(parts: list[Estimates]) -> Estimates:
    """Return the estimates of all parts, one after the other."""
    return Estimates(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(Estimates)
        }
    )


def _of_rows(
    rows: NDArray[np.float64],
    frames: NDArray[np.int64],
    clock: FrameClock,
    period: float | None,
    with_cuts: bool,
) -> Estimates:
    """Return the estimates of `(n_series, n_frames)` values."""
    n_series, n_frames = rows.shape
    found = Estimates(
        **{name: np.full(n_series, np.nan) for name in _NUMBERS},
        n_frames=np.full(n_series, n_frames),
        cuts=np.zeros(n_series, np.int64),
        gains=np.ones(n_series),
        reasons=np.full(n_series, clock.reason, object),
    )
    if not n_frames:
        found.reasons[:] = f"there are no {clock.samples}"
        return found
    is_finite = np.isfinite(rows).all(axis=1)
    for k in np.flatnonzero(~is_finite):
        first = int(np.isfinite(rows[k]).argmin())
        found.reasons[k] = (
            f"the value of {clock.samples[:-1]} {frames[first]} is {rows[k, first]:g}"
        )
    rows = rows if is_finite.all() else rows[is_finite]
    series = _on_line(rows) if period is None else _on_circle(rows, period)
    found.mean[is_finite], found.std[is_finite] = series.mean, series.std
    is_long = n_frames >= MIN_FRAMES
    if not is_long:
        found.reasons[is_finite] = (
            f"{n_frames} {clock.samples[: None if n_frames > 1 else -1]}: an error needs at least"
            f" {MIN_FRAMES}"
        )
    else:
        numbers = np.flatnonzero(is_finite)
        found.reasons[numbers[series.is_flat]] = (
            "nothing changes: constants do not say how far another run would be from them"
        )
        found.reasons[numbers[series.is_flat & (series.lengths < 1 - 1e-9)]] = (
            "the angles have two opposite directions: none between them is their mean"
        )
    usable = ~series.is_flat & is_long
    k = np.flatnonzero(is_finite)[usable]
    if len(k):
        if with_cuts:
            found.cuts[k], found.gains[k] = suggested_cuts(*(part[usable] for part in series.parts))
        _add_errors(found, k, series, usable, clock, period)
    return found


def _add_errors(
    found: Estimates,
    k: NDArray[np.intp],
    series: "_Series",
    usable: NDArray[np.bool_],
    clock: FrameClock,
    period: float | None,
) -> None:
    """Set the errors of series `k`, which are the usable ones of some."""
    deviations = series.deviations if usable.all() else series.deviations[usable]
    n = deviations.shape[1]
    errors, g, windows = _errors_of_means(deviations)
    freedom = n / (2 * windows + 1)
    below, above, visits = sides(deviations, errors, g, freedom, quantile(freedom))
    around = np.zeros(len(k), bool)
    if period is None:
        below, above = below * series.scale[usable], above * series.scale[usable]
    else:
        cosines, lengths = series.parts[0][usable], series.lengths[usable]
        # From there on, the interval of the mean sine reaches the centre of the circle.
        around = (np.maximum(below, above) >= lengths) | _may_point_anywhere(cosines, lengths)
        slope = np.einsum("ij,ij->i", cosines, deviations)
        slope /= np.einsum("ij,ij->i", deviations, deviations)
        below, above = (
            np.where(around, np.pi, np.arctan2(side, lengths + sign * side * slope))
            * (period / (2 * np.pi))
            for sign, side in ((-1, below), (1, above))
        )
    errors = errors * series.scale[usable]
    found.standard_error[k], found.inefficiency[k], found.freedom[k] = errors, g, freedom
    found.low[k], found.high[k] = found.mean[k] - below, found.mean[k] + above
    effective = n / g
    is_short = (effective < MIN_EFFECTIVE) | (freedom < MIN_FREEDOM)
    for which in np.flatnonzero(around | is_short | (visits < MIN_VISITS)).tolist():
        index = k[which]
        reasons = [found.reasons[index]] if found.reasons[index] else []
        if around[which]:
            reasons.append(
                "the interval is the whole circle: the angles may have no common direction"
            )
        if effective[which] < MIN_EFFECTIVE:
            reasons.append(
                f"{effective[which]:.3g} effective {clock.samples} are fewer than {MIN_EFFECTIVE}"
            )
        elif freedom[which] < MIN_FREEDOM:
            reasons.append(f"correlations reach over {windows[which]} of {n} {clock.samples}")
        elif visits[which] < MIN_VISITS:
            reasons.append(
                "too short to tell: the rarer side of the mean was visited about"
                f" {np.floor(10 * visits[which]) / 10:g} times, fewer than {MIN_VISITS}"
            )
        found.reasons[index] = "; ".join(reasons)


def _errors_of_means(
    deviations: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return standard errors of the means of series, their inefficiencies and windows.

    Parameters
    ----------
    deviations
        `(n_series, n_frames)`, each with mean 0 and not constant.
    """
    n = deviations.shape[1]
    g, windows = inefficiency(deviations)
    variances = np.mean(deviations**2, axis=1)
    return np.sqrt(variances * g * (1 + (2 * windows + 1) / n) / n), g, windows


def _may_point_anywhere(
    cosines: NDArray[np.float64], lengths: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return whether the mean cosine of angles about their mean direction may be 0, or negative.

    The mean direction of angles in two opposite states of about equal weight is chance, however
    precise the mean sine is.

    Parameters
    ----------
    cosines
        `(n_series, n_frames)`, deviations from the mean cosine.
    lengths
        `(n_series,)`, mean resultant lengths: the mean cosines.
    """
    anywhere = np.zeros(len(lengths), bool)
    varied = np.flatnonzero(np.mean(cosines**2, axis=1) > 1e-24)
    errors, g, windows = _errors_of_means(cosines[varied])
    freedom = cosines.shape[1] / (2 * windows + 1)
    below, _, _ = sides(cosines[varied], errors, g, freedom, quantile(freedom))
    anywhere[varied] = below >= lengths[varied]
    return anywhere


@dataclass(frozen=True)
class _Series:
    """Series as deviations from their means.

    Attributes
    ----------
    mean, std
        `(n_series,)`.
    deviations, scale
        `(n_series, n_frames)` and `(n_series,)`: deviations from the mean, divided by the scale. On
        a circle, those to which the mean is proportional where they are small.
    parts
        Numbers that MSER looks at: the deviations, or cosines and sines.
    is_flat
        Whether nothing changes beyond rounding, or angles have two opposite directions alone.
    lengths
        `(n_series,)`, mean resultant lengths of angles; 1 for other numbers.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    deviations: NDArray[np.float64]
    scale: NDArray[np.float64]
    parts: tuple[NDArray[np.float64], ...]
    is_flat: NDArray[np.bool_]
    lengths: NDArray[np.float64]


def _on_line(rows: NDArray[np.float64]) -> _Series:
    """Return usual numbers as deviations, scaled so that no square overflows or vanishes."""
    mean = rows.mean(axis=1)
    deviations = rows - mean[:, np.newaxis]
    scale = np.abs(deviations).max(axis=1, initial=0)
    is_flat = scale <= 4 * np.spacing(np.abs(mean))
    deviations /= np.where(is_flat, 1, scale)[:, np.newaxis]
    deviations -= deviations.mean(axis=1)[:, np.newaxis]
    std = np.sqrt(np.mean(deviations**2, axis=1)) * np.where(is_flat, 0, scale)
    return _Series(mean, std, deviations, scale, (deviations,), is_flat, np.ones(len(rows)))


def _on_circle(rows: NDArray[np.float64], period: float) -> _Series:
    """Return values on a circle as deviations from their circular mean.

    The mean angle follows the mean sine of the deviations, divided by the mean resultant length:
    N. I. Fisher, Statistical Analysis of Circular Data (1993), section 4.4. At the ends of the
    interval of the mean sine, the mean cosine is that of the regression on sines.
    """
    angles = rows * (2 * np.pi / period)
    centre = np.exp(1j * angles).mean(axis=1)
    length, mean = np.abs(centre), np.angle(centre)
    turned = angles - mean[:, np.newaxis]
    cosines, sines = np.cos(turned), np.sin(turned)
    # Angles on two opposite sides have no sines, and a mean that jumps from one to the other.
    is_flat = np.mean(sines**2, axis=1) <= np.maximum(1e-12 * (1 - length), 1e-28)
    deviations = sines - sines.mean(axis=1)[:, np.newaxis]
    in_units = period / (2 * np.pi)
    std = np.sqrt(-2 * np.log(np.clip(length, 1e-300, 1)))
    scale = in_units / np.maximum(length, 1e-12)
    parts = (cosines - cosines.mean(axis=1)[:, np.newaxis], deviations)
    return _Series(mean * in_units, std * in_units, deviations, scale, parts, is_flat, length)
