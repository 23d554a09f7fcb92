"""Precision of stored times."""

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import Reader

# The most digits after the point of times in text files.
_MAX_DIGITS = 9


def rounding_of_times(reader: Reader, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of neighbouring numbers of the stored type at each time, ps.

    Parameters
    ----------
    reader
        The native reader.
    times
        Times of some of its frames, ps.
    """
    precision = reader.time_precision
    if precision == "text":
        steps = np.diff(times)
        usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        return np.full(len(times), min(_unit_of_text(times), usual / 4))
    as_single = times.astype(np.float32)
    # Copies of XTC files hold numbers of single precision, also as doubles.
    if np.array_equal(as_single, times, equal_nan=True):
        return np.spacing(np.abs(as_single)).astype(np.float64)
    if precision == "single":
        # In another unit than ps.
        return np.abs(times) * float(np.finfo(np.float32).eps)
    return 4 * np.spacing(np.abs(times))


def _unit_of_text(times: NDArray[np.float64]) -> float:
    """Return the unit of the last digit of times in a text file: 0.01 for 0.33, 0.67, 1.00.

    Whole numbers are exact.
    """
    for digits in range(_MAX_DIGITS + 1):
        scaled = times * 10.0**digits
        if (np.abs(scaled - np.round(scaled)) <= 4 * np.spacing(np.abs(scaled))).all():
            return 10.0**-digits if digits else 0.0
    return 0.0
