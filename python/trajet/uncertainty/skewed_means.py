"""Means of skewed series: the sides of their intervals, and how often a rare state was visited.

The error of the mean of a skewed series depends on the mean: a rare state that was seen less often
than it should be also seems to vary less. The interval holds the means from which the series is at
most t of *their* errors away. It is E. B. Wilson's interval (J. Am. Stat. Assoc. 22, 209 (1927),
doi:10.1080/01621459.1927.10502953) with the number of effective frames for series of two values,
and for others its like, with the variance as a function of the mean by skewness and kurtosis: that
of natural exponential families of quadratic variance (C. N. Morris, Ann. Stat. 10, 65 (1982),
doi:10.1214/aos/1176345690). Deviations:

1. No side is shorter than that of Student's t: the short side would miss more often.
2. Moments are those of means of blocks of about one inefficiency, which noise from frame to frame
   does not hide.
3. The variance never grows faster than linearly with the mean: kurtosis is too uncertain.
"""

import numpy as np
from numpy.typing import NDArray

# Fewest visits to the rarer side of the mean of a mean that is resolved.
MIN_VISITS = 8
# A state with the share p is visited 2 p (1 - p) times per effective frame, and 1 / (p (1 - p)) is
# 4 + skewness². Means of blocks that are as long as the visits blur these by about a quarter, and
# visits of random length within single frames, such as blocks of a contact map, by a half.
_BLURRED, _WITHIN = 0.75, 0.5
# Values of a state of its own are so many times as far from the median as half of the values (five
# standard deviations of normal numbers). Between this and `_NEAR` are fewer values, beside a share
# of `_USUAL`: the tail of normal numbers. States of less than `_CHANCE` of the frames are chance.
_NEAR, _FAR = 4.4, 7.4
_USUAL, _CHANCE = 4e-3, 3e-5
# Least excess kurtosis of a series in which such deviations are looked for.
_HEAVY = 0.5


def sides(
    deviations: NDArray[np.float64],
    errors: NDArray[np.float64],
    inefficiencies: NDArray[np.float64],
    freedom: NDArray[np.float64],
    t: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return how far intervals reach below and above means, and visits to the rarer side.

    Parameters
    ----------
    deviations
        `(n_series, n_frames)`, each with mean 0 and not constant.
    errors, inefficiencies, freedom, t
        `(n_series,)`: standard errors of the means, statistical inefficiencies, degrees of freedom
        and quantiles of Student's t.
    """
    variance, skewness, excess = _moments(deviations, inefficiencies)
    n_effective = variance / errors**2
    slope = t**2 * skewness / np.sqrt(n_effective)
    # Of two values, this is 1 + t² / n, the denominator of Wilson's interval.
    square = 1 + t**2 * np.maximum(skewness**2 - excess, 0) / (2 * n_effective)
    root = np.sqrt(slope**2 + 4 * square * t**2)
    below, above = ((sign * slope + root) / (2 * square) for sign in (-1, 1))
    # `errors` hold a correction of the bias of the variance, of which `freedom` tells.
    n_unbiased = n_effective * (1 + 1 / freedom)
    visits = 2 * n_unbiased / (4 + np.maximum(skewness**2, excess))
    visits /= np.where(inefficiencies < 2, _WITHIN, _BLURRED)
    two, share = _states(deviations)
    n = deviations.shape[1]
    visits[two] = 2 * n * share * (1 - share) / (inefficiencies[two] + 1)
    heavy = np.setdiff1d(np.flatnonzero((excess > _HEAVY) & (visits >= MIN_VISITS)), two)
    visits[heavy] = np.minimum(visits[heavy], _far_visits(deviations[heavy]))
    return np.maximum(below, t) * errors, np.maximum(above, t) * errors, visits


def _states(deviations: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the series that have two values alone, and how often each of these has the higher."""
    lows, highs = deviations.min(axis=1)[:, np.newaxis], deviations.max(axis=1)[:, np.newaxis]
    is_high = deviations == highs
    two = np.flatnonzero((is_high | (deviations == lows)).all(axis=1))
    return two, is_high[two].mean(axis=1)


def _far_visits(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how often series enter a state far from most of their values; infinity without one.

    Noise of most frames hides a state in the moments that was seen in a few.
    """
    far = deviations - np.median(deviations, axis=1)[:, np.newaxis]
    np.abs(far, out=far)
    middle = np.median(far, axis=1)[:, np.newaxis]
    is_far = (far > _FAR * middle) & (middle > 0)
    n_far = np.count_nonzero(is_far, axis=1)
    n_between = np.count_nonzero(far > _NEAR * middle, axis=1) - n_far
    entries = is_far[:, 0] + np.count_nonzero(is_far[:, 1:] & ~is_far[:, :-1], axis=1)
    is_state = (n_far > _CHANCE * far.shape[1]) & (n_far >= n_between - _USUAL * far.shape[1])
    return np.where(is_state, entries, np.inf)


def _moments(
    deviations: NDArray[np.float64], inefficiencies: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return variance, skewness and excess kurtosis of means of blocks, `(n_series,)` each.

    The length of blocks is a power of two, at most the inefficiency and a quarter of the series.
    """
    n = deviations.shape[1]
    longest = np.clip(inefficiencies, 1, max(1, n // 4))
    lengths = 2 ** np.floor(np.log2(longest)).astype(np.int64)
    variance, skewness, excess = np.zeros((3, len(deviations)))
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        rows = deviations if len(chosen) == len(deviations) else deviations[chosen]
        if length > 1:
            n_blocks = n // length
            rows = rows[:, : n_blocks * length].reshape(len(chosen), n_blocks, length).mean(axis=2)
            rows -= rows.mean(axis=1)[:, np.newaxis]
        squares = rows**2
        second = squares.mean(axis=1)
        # Blocks as long as a period of the series have equal means, which are not skewed.
        safe = np.maximum(second, np.finfo(np.float64).tiny)
        variance[chosen] = safe
        skewness[chosen] = np.einsum("ij,ij->i", squares, rows) / rows.shape[1] / safe**1.5
        excess[chosen] = np.einsum("ij,ij->i", squares, squares) / rows.shape[1] / safe**2 - 3
    return variance, skewness, excess
