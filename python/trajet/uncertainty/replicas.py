"""Mean and variance of a few numbers, whose equality rounding may hide."""

import numpy as np
from numpy.typing import NDArray

# Relative difference up to which numbers are equal: means of one quantity, summed in another order.
ROUNDING = 16 * float(np.finfo(np.float64).eps)


def mean_and_variance(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of each column; the variance of equal numbers is 0.

    Parameters
    ----------
    values
        `(n_replicas, n_rows)`, of two replicas or more.
    """
    mean, variance = values.mean(axis=0), values.var(axis=0, ddof=1)
    is_equal = np.ptp(values, axis=0) <= ROUNDING * np.abs(values).max(axis=0)
    return np.where(is_equal, values[0], mean), np.where(is_equal, 0.0, variance)
