"""The part of a series that its equilibration takes, by the marginal standard error rule (MSER).

The cut that makes the standard error of the rest smallest, as if its frames were independent:
K. P. White, Simulation 69, 323 (1997), doi:10.1177/003754979706900601. Deviations:

1. At most half of the frames are cut.
2. Of long series, cuts lie at multiples of 1/2000 of their length.
3. Of cuts whose errors differ by no more than rounding, the first is taken.
"""

import numpy as np
from numpy.typing import NDArray

_CUTS = 2000
# Error of a sum of squares by rounding, as a share of it.
_ROUNDING = 1e-12


def suggested_cuts(
    *parts: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many frames at the beginning of each series MSER would leave out, and the gain.

    Parameters
    ----------
    *parts
        `(n_series, n_frames)`, each with a mean near 0 and not constant: one array, or cosines and
        sines.

    Returns
    -------
    tuple of numpy.ndarray
        The cuts, and the ratio of the squared errors without and with them; `(n_series,)` each.
    """
    n_frames = parts[0].shape[1]
    begins = np.arange(0, n_frames, 1 + n_frames // _CUTS)
    left = n_frames - begins
    of_squares = sum(_from_here_on(np.square(rows), begins) for rows in parts)
    of_means = sum(_from_here_on(rows, begins) ** 2 for rows in parts) / left
    allowed = begins <= n_frames // 2
    divisors = left.astype(np.float64) ** 2
    errors = ((of_squares - of_means) / divisors)[:, allowed]
    rounding = (_ROUNDING * of_squares / divisors)[:, allowed]
    least = (errors + rounding).min(axis=1)
    first = (errors - rounding <= least[:, np.newaxis]).argmax(axis=1)
    cuts: NDArray[np.int64] = begins[allowed][first]
    return cuts, errors[:, 0] / np.maximum(errors.min(axis=1), np.finfo(np.float64).tiny)


def _from_here_on(rows: NDArray[np.float64], begins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of each row from each of the frames to its end."""
    sums = np.add.reduceat(rows, begins, axis=1)
    total: NDArray[np.float64] = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
    return total
