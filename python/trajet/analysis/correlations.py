"""Correlations of the motions of atoms, from the covariances of their coordinates."""

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.covariances import RANK, STILL


def cross_correlations(covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cross-correlations `(n, n)` of covariances `(3 n, 3 n)`, Å²; NaN without motion.

    They are symmetric bit by bit.
    """
    products = covariances[::3, ::3] + covariances[1::3, 1::3] + covariances[2::3, 2::3]
    squares = np.where(products.diagonal() > STILL, products.diagonal(), np.nan)
    values: NDArray[np.float64] = np.clip(products / np.sqrt(squares * squares[:, None]), -1, 1)
    np.fill_diagonal(values, np.where(np.isfinite(squares), 1, np.nan))
    return values


def generalised_correlations(covariances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return √(1 - exp(-2I/3)), `(n, n)`, of covariances `(3 n, 3 n)`, Å²; NaN for singular ones.

    In coordinates in which the covariance of each atom is the unit matrix, that of two atoms is R,
    and exp(-2I) is the determinant of 1 - R Rᵀ.
    """
    n = len(covariances) // 3
    blocks = covariances.reshape(n, 3, n, 3)
    variances, axes = np.linalg.eigh(blocks[np.arange(n), :, np.arange(n)])
    is_known = (variances[:, 0] > RANK * variances[:, 2]) & (variances[:, 2] > STILL)
    with np.errstate(invalid="ignore", divide="ignore"):
        to_unit = axes / np.sqrt(variances)[:, None]
    to_unit[~is_known] = np.nan
    values = np.where(is_known, np.where(is_known[:, None], np.eye(n), np.nan), np.nan)
    for i in np.flatnonzero(is_known).tolist():
        # Covariances with the atoms after it, (n - i - 1, 3, 3).
        others = blocks[i, :, i + 1 :].transpose(1, 0, 2)
        related = to_unit[i].T @ others @ to_unit[i + 1 :]
        with np.errstate(invalid="ignore"):
            left = np.linalg.det(np.eye(3) - related @ related.transpose(0, 2, 1))
        values[i, i + 1 :] = np.sqrt(1 - np.cbrt(np.clip(left, 0, 1)))
        values[i + 1 :, i] = values[i, i + 1 :]
    return values


def sums_of_centres(sums: NDArray[np.float64], members: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums `(3 n, 3 n)` of the centres of groups, of which atoms are members."""
    order = np.argsort(members, kind="stable")
    sizes = np.bincount(members)
    n, first = len(sizes), np.cumsum(sizes) - sizes
    products = sums.reshape(len(members), 3, len(members), 3)
    for axis in (0, 2):
        products = np.add.reduceat(products.take(order, axis), first, axis)
    found: NDArray[np.float64] = products / sizes[:, None, None, None] / sizes[:, None]
    return found.reshape(3 * n, 3 * n)
