"""Times and lengths in the digits that mean something."""

import math

import numpy as np
from numpy.typing import NDArray

# A unit in the last place of float32, relative: files store times and cells in single precision,
# and programs differ by it in the unit of DCD files.
ROUNDING = 2.0**-23
# Most digits after the point that are tried.
_MAX_DIGITS = 12
# Share of a difference that may be rounded away, however large the numbers are.
_MAX_ROUNDED = 0.01


def in_digits(value: float, *, of: float = 0.0, significant: int | None = None) -> str:
    """Return a time or a length as text, with the fewest decimals that single precision tells.

    0.9999999119 is "1", 900.00006 is "900", and 1234567.5 is "1234567.5". Zero has no sign.

    Parameters
    ----------
    value
        The number.
    of
        The largest of the numbers whose difference it is; 0 if it is none.
    significant
        Significant digits of an estimate, such as a correlation time; None for all.

    Examples
    --------
    >>> from trajet.digits import in_digits
    >>> in_digits(97.99999137), in_digits(0.100006, of=1000.0), in_digits(451.3, significant=2)
    ('98', '0.1', '450')
    """
    value = float(value)
    if not math.isfinite(value):
        return f"{value}"
    if significant is not None:
        value = float(f"{value:.{significant}g}")
    slack = min(ROUNDING * max(abs(value), abs(of)), _MAX_ROUNDED * abs(value))
    (found,) = decimals_within(np.array([value]), np.array([slack])).tolist()
    return np.format_float_positional(found + 0.0, trim="-")


def decimals_within(times: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the decimals of the fewest digits after the point within the slack of each time.

    Different times have different decimals.
    """
    steps = np.abs(np.diff(times))
    if (steps > 0).any():
        slack = np.minimum(slack, 0.4 * steps[steps > 0].min())
    found = times.copy()
    left = np.isfinite(times)
    for digits in range(_MAX_DIGITS + 1):
        rounded = np.round(times, digits)
        fits = left & (np.abs(rounded - times) <= slack)
        found[fits] = rounded[fits]
        left &= ~fits
        if not left.any():
            break
    return found
