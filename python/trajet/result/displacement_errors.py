"""Errors of mean squared displacements and of what is linear in them, such as slopes.

Two estimates of how far the mean over many such runs may be:

- Particles that move independently are samples. The errors are those of the means of groups of
  particles, with Student's t and one degree of freedom fewer than groups.
- Means over blocks of time origins are a correlated series, of which `trajet.uncertainty` takes the
  error.

The first holds at all lags. The second needs no second particle, but a trajectory of about twenty
windows that do not overlap. `benches/coverage_msd.py` measures how often such intervals cover the
mean of Brownian particles.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.uncertainty.estimates import estimates_of_blocks
from trajet.uncertainty.student_t import quantile


@dataclass(frozen=True)
class Errors:
    """Errors of several numbers.

    Attributes
    ----------
    standard_errors, half_widths
        `(n_numbers,)`, standard errors, and longer sides of the 95 % intervals; NaN where unknown.
    reasons
        Why a number is not resolved; an empty text if it is.
    """

    standard_errors: NDArray[np.float64]
    half_widths: NDArray[np.float64]
    reasons: tuple[str, ...]


def errors_of_groups(groups: NDArray[np.float64], sizes: NDArray[np.int64]) -> Errors:
    """Return the errors of means over groups of independent particles.

    Parameters
    ----------
    groups
        `(n_numbers, n_groups)`, means over the particles of each group; NaN follows from one.
    sizes
        `(n_groups,)`, their particles.
    """
    if len(sizes) < 2:
        unknown = np.full(len(groups), np.nan)
        return Errors(unknown, unknown, ("there is one group",) * len(groups))
    weights = sizes / sizes.sum()
    # Sums over groups one after the other: their bits do not depend on the number of rows.
    means = _weighted(groups, weights)
    spreads = _weighted((groups - means[:, np.newaxis]) ** 2, weights)
    errors = np.sqrt(spreads / (len(sizes) - 1))
    t = float(quantile(len(sizes) - 1.0))
    return Errors(errors, t * errors, ("",) * len(groups))


def errors_of_blocks(blocks: NDArray[np.float64]) -> Errors:
    """Return the errors of means over blocks of time origins.

    Parameters
    ----------
    blocks
        `(n_numbers, n_blocks)`, means over each block; NaN after the last that counts.
    """
    n_known = np.count_nonzero(np.isfinite(blocks), axis=1)
    errors, half_widths = np.full(len(blocks), np.nan), np.full(len(blocks), np.nan)
    reasons = np.full(len(blocks), "", object)
    for count in np.unique(n_known).tolist():
        rows = np.flatnonzero(n_known == count)
        found = estimates_of_blocks(blocks[rows, :count].T)
        errors[rows], half_widths[rows] = found.standard_error, found.half_width
        reasons[rows] = found.reasons
    return Errors(errors, half_widths, tuple(map(str, reasons)))


def _weighted(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weighted sums over the columns, which are added one after the other."""
    total: NDArray[np.float64] = values[:, 0] * weights[0]
    for k in range(1, values.shape[1]):
        total = total + values[:, k] * weights[k]
    return total
