"""Correlation within series: autocovariances, and the statistical inefficiency of a mean.

The inefficiency g is the number of frames that count as one independent frame. It is the sum of
the normalised autocovariances over Geyer's initial monotone sequence: sums of two neighbouring
lags up to the first that is not positive, made to fall (C. J. Geyer, Statistical Science 7, 473
(1992), doi:10.1214/ss/1177011137). Deviations:

1. A sum below `_ROUNDING` times the variance counts as not positive: it is rounding.
2. g is at least 1 / log10(n), as in A. Vehtari et al., Bayesian Analysis 16, 667 (2021),
   doi:10.1214/20-BA1221: short anticorrelated series would reach 0 by chance.
"""

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-12
# Fewest lags that are computed, and how many times as many follow if they are too few.
_FIRST_LAGS = 1024
_MORE_LAGS = 4
# Frames of which the means tell how many lags are needed, and fewest frames of such series.
_COARSE = 64
_LONG = 2**16
# Series up to this length have few lags, which are summed pair by pair until the sequence ends.
_SHORT = 256
# Series are transformed as a whole up to this length, longer ones in segments of at least half of
# it.
_SEGMENT = 2**14
# Numbers that are transformed at once.
_AT_ONCE = 2**19


def inefficiency(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the statistical inefficiency of each series, and the last lag that it sums.

    Parameters
    ----------
    rows
        `(n_series, n_frames)`, each with mean 0 and not constant.

    Returns
    -------
    tuple of numpy.ndarray
        g and the window W, `(n_series,)` each.
    """
    n_frames = rows.shape[1]
    sums, windows = _sums_pair_by_pair(rows) if n_frames <= _SHORT else _sums_by_transforms(rows)
    return np.maximum(sums, 1 / max(1.0, np.log10(n_frames))), windows


def _sums_pair_by_pair(
    rows: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return sum and last lag of the initial monotone sequence of short series.

    Sequences of most series, such as means of blocks, end after a few lags: two lags at a time are
    computed of the series whose sequence has not ended.
    """
    n_series, n_frames = rows.shape
    sums, windows = np.full(n_series, -1.0), np.zeros(n_series, np.int64)
    left, variances = np.arange(n_series), np.einsum("ij,ij->i", rows, rows)
    before = np.full(n_series, np.inf)
    for lag in range(0, n_frames, 2):
        pairs = np.einsum("ij,ij->i", rows[:, : n_frames - lag], rows[:, lag:])
        if lag + 1 < n_frames:
            pairs += np.einsum("ij,ij->i", rows[:, : n_frames - lag - 1], rows[:, lag + 1 :])
        pairs /= variances
        goes_on = pairs > _ROUNDING
        if not goes_on.all():
            left, rows, variances = left[goes_on], rows[goes_on], variances[goes_on]
            before, pairs = before[goes_on], pairs[goes_on]
        if not len(left):
            break
        before = np.minimum(before, pairs)
        sums[left] += 2 * before
        windows[left] = lag + 1
    return sums, windows


def _sums_by_transforms(
    rows: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return sum and last lag of the initial monotone sequence of long series."""
    n_series, n_frames = rows.shape
    g, windows = np.ones(n_series), np.ones(n_series, np.int64)
    left, n_lags = np.arange(n_series), _likely_lags(rows)
    while len(left):
        # Each series goes its own way, so that its bits do not depend on others.
        now = min(n_frames, int(n_lags.min()))
        chosen = left[n_lags == n_lags.min()]
        sums, last, is_complete = _initial_sequence(autocovariances(rows[chosen], now))
        is_complete |= now == n_frames
        g[chosen[is_complete]] = sums[is_complete]
        windows[chosen[is_complete]] = last[is_complete]
        is_left = np.ones(len(left), bool)
        is_left[n_lags == n_lags.min()] = ~is_complete
        n_lags = np.where(n_lags == n_lags.min(), _MORE_LAGS * n_lags, n_lags)[is_left]
        left = left[is_left]
    return g, windows


def _likely_lags(rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many lags the sum of each series will likely need, `(n_series,)`.

    Few of long series would be computed in vain. Means over `_COARSE` frames have a sequence that
    ends at about the same time.
    """
    n_series, n_frames = rows.shape
    # Lags are summed in pairs, both of which must be known.
    likely = np.full(n_series, 2 * -(-_FIRST_LAGS // 2))
    if n_frames < _LONG:
        return likely
    n_coarse = n_frames // _COARSE
    coarse = rows[:, : n_coarse * _COARSE].reshape(n_series, n_coarse, _COARSE).mean(axis=2)
    coarse -= coarse.mean(axis=1)[:, np.newaxis]
    # Means of series that alternate may vanish.
    changes = np.flatnonzero((coarse != 0).any(axis=1))
    _, last, _ = _initial_sequence(autocovariances(coarse[changes], n_coarse))
    needed = np.zeros(n_series, np.int64)
    needed[changes] = _COARSE * (last + 2)
    while (likely < needed).any():
        likely = np.where(likely < needed, _MORE_LAGS * likely, likely)
    return likely


def _initial_sequence(
    covariances: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return sum and last lag of the initial monotone sequence, and whether it ends within.

    Parameters
    ----------
    covariances
        `(n_series, n_lags)`, from lag 0 on.
    """
    if covariances.shape[1] % 2:
        covariances = np.pad(covariances, ((0, 0), (0, 1)))
    variances = covariances[:, :1]
    pairs = (covariances[:, ::2] + covariances[:, 1::2]) / variances
    ends = pairs <= _ROUNDING
    is_complete: NDArray[np.bool_] = np.logical_or.reduce(ends, axis=1)
    counts = np.where(is_complete, ends.argmax(axis=1), pairs.shape[1])
    falling = np.minimum.accumulate(pairs, axis=1)
    falling[np.arange(pairs.shape[1]) >= counts[:, np.newaxis]] = 0
    # The first pair is positive unless neighbouring frames are opposite: lag 0 is summed always.
    return 2 * falling.sum(axis=1) - 1, np.maximum(2 * counts - 1, 0), is_complete


def autocovariances(rows: NDArray[np.float64], n_lags: int) -> NDArray[np.float64]:
    """Return the autocovariances at lags 0 to `n_lags` - 1, `(n_series, n_lags)`.

    Sums of products are divided by the number of frames, at each lag.

    Parameters
    ----------
    rows
        `(n_series, n_frames)`, each with mean 0.
    n_lags
        At most the number of frames.
    """
    n_series, n_frames = rows.shape
    found: NDArray[np.float64] = np.empty((n_series, n_lags))
    whole = _fast_length(n_frames + n_lags - 1)
    if whole <= max(_SEGMENT, 8 * n_lags):
        step = max(1, _AT_ONCE // whole)
        for begin in range(0, n_series, step):
            spectra = np.fft.rfft(rows[begin : begin + step], whole, axis=1)
            power = spectra.real**2 + spectra.imag**2
            found[begin : begin + step] = np.fft.irfft(power, whole, axis=1)[:, :n_lags]
    else:
        for k, row in enumerate(rows):
            found[k] = _sums_by_segments(row, n_lags)
    found /= n_frames
    return found


def _sums_by_segments(row: NDArray[np.float64], n_lags: int) -> NDArray[np.float64]:
    """Return the sums of products of a long series at lags 0 to `n_lags` - 1.

    Each segment is multiplied with itself and with the segment that follows. Both products come
    from one transform of each segment, padded with as many zeros: moved by its length, its spectrum
    changes the sign of every other number. The products of all segments are added, and transformed
    back once.
    """
    size = max(_SEGMENT, _fast_length(2 * n_lags))
    length = size // 2
    n_segments = -(-len(row) // length)
    padded = np.zeros((n_segments, length))
    padded.reshape(-1)[: len(row)] = row
    with_itself, with_next = np.zeros(length + 1), np.zeros(length + 1, np.complex128)
    before = np.zeros((1, length + 1), np.complex128)
    step = max(1, _AT_ONCE // size)
    for begin in range(0, n_segments, step):
        spectra = np.fft.rfft(padded[begin : begin + step], size)
        with_itself += np.einsum("ij,ij->j", spectra.real, spectra.real)
        with_itself += np.einsum("ij,ij->j", spectra.imag, spectra.imag)
        earlier = np.concatenate([before, spectra[:-1]])
        with_next += np.einsum("ij,ij->j", earlier.conj(), spectra)
        before = spectra[-1:]
    with_next[1::2] *= -1
    return np.fft.irfft(with_itself + with_next, size)[:n_lags]


def _fast_length(n: int) -> int:
    """Return a length of at least n that is transformed fast: a multiple of a power of two."""
    power = 1 << (n - 1).bit_length()
    eighths = next(k for k in (5, 6, 8) if k * power >= 8 * n)
    return power if power < 8 else eighths * power // 8
