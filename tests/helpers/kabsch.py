"""RMSD after superposition in plain float64: the twin of the fast one.

W. Kabsch, Acta Cryst. A32 (1976) 922, doi:10.1107/S0567739476001873, with the singular value
decomposition, and the deviations summed from rotated coordinates, so that identical structures give
zero and not the square root of a rounding error.
"""

import numpy as np


def fit(
    mobile: np.ndarray, reference: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rotation and centres: (x - mobile_centre) @ rotation + reference_centre fits best."""
    x, y = mobile.astype(np.float64), reference.astype(np.float64)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    x_centre, y_centre = np.average(x, 0, w), np.average(y, 0, w)
    u, _, vt = np.linalg.svd(((x - x_centre) * w[:, None]).T @ (y - y_centre))
    handedness = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    return u @ np.diag([1.0, 1.0, handedness]) @ vt, x_centre, y_centre


def deviation(a: np.ndarray, b: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the root of the weighted mean of squared distances, without superposition."""
    difference = a.astype(np.float64) - b.astype(np.float64)
    return float(np.sqrt(np.average((difference**2).sum(1), weights=weights)))


def superposed(
    mobile: np.ndarray, reference: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the RMSD after the best superposition."""
    rotation, x_centre, y_centre = fit(mobile, reference, weights)
    return deviation((mobile - x_centre) @ rotation, reference - y_centre, weights)


def of_group(
    mobile: np.ndarray,
    reference: np.ndarray,
    main: np.ndarray,
    group: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    group_weights: np.ndarray | None = None,
) -> float:
    """Return the RMSD of the atoms `group` after the best superposition of the atoms `main`."""
    rotation, x_centre, y_centre = fit(mobile[main], reference[main], weights)
    moved = (mobile[group] - x_centre) @ rotation + y_centre
    return deviation(moved, reference[group], group_weights)
