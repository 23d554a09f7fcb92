"""Student's t distribution for any positive, also fractional, degrees of freedom.

SciPy has it too, and takes longer to import than an analysis runs.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.95
# Above, Hill's transform to the normal distribution is exact to rounding.
_NORMAL_FROM = 500.0
# Above, the ratio of gamma functions is taken from its asymptotic series, whose next term is 3e-13.
_SERIES_FROM = 25.0
_CLOSE = 4e-15
_MAX_TERMS = 500
_MAX_STEPS = 60
_TINY = 1e-300


def two_sided_p(t: ArrayLike, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the probability that |T| is at least |t|.

    Parameters
    ----------
    t
        Values, of any shape.
    freedom
        Degrees of freedom, positive, of a shape that fits.
    """
    of, nu = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(freedom, np.float64))
    square = of.ravel() ** 2
    # Beyond, the distribution differs from the normal one by less than the rounding.
    nu = np.minimum(nu.ravel(), 1e17)
    # The regularised incomplete beta function I_x(ν/2, 1/2) at x = ν/(ν + t²).
    few = np.minimum(nu, _NORMAL_FROM)
    x, rest = few / (few + square), square / (few + square)
    a, b = few / 2, np.full(nu.shape, 0.5)
    with np.errstate(divide="ignore"):
        log_x = np.where(x < 0.5, np.log(x), np.log1p(-np.minimum(rest, 0.5)))
        power = np.exp(a * log_x + np.log(rest) / 2 + _log_gamma_ratio(a)) / math.sqrt(math.pi)
    # The fraction converges fast on one side of the symmetry I_x(a, b) = 1 - I_{1-x}(b, a).
    is_tail = x < (a + 1) / (a + b + 2)
    first, second = np.where(is_tail, a, b), np.where(is_tail, b, a)
    part = power * fraction(np.where(is_tail, x, rest), first, second) / first
    p = np.where(is_tail, part, 1 - part)
    many = nu > _NORMAL_FROM
    p[many] = _nearly_normal_p(square[many], nu[many])
    shaped: NDArray[np.float64] = p.reshape(of.shape)
    return shaped


def quantile(
    freedom: ArrayLike, level: float = LEVEL, *, log_p: float | None = None
) -> NDArray[np.float64]:
    """Return the t that |T| stays below with probability `level`, for each degrees of freedom.

    Parameters
    ----------
    freedom
        Degrees of freedom, positive, of any shape; infinite ones give the normal distribution's.
    log_p
        Logarithm of the probability that |T| is larger, in place of `level`.
    """
    given = np.asarray(freedom, np.float64)
    # Many series of one length share a few values.
    nu, which = np.unique(np.minimum(given.ravel(), 1e17), return_inverse=True)
    wanted = math.log1p(-level) if log_p is None else log_p
    # P(|T| > t) is at most (1 + t²/ν)^(-ν/2): from the t of this bound, Newton's steps go down.
    log_t = np.log(nu * np.expm1(np.minimum(-2 * wanted / nu, 700))) / 2
    step = np.ones(nu.shape)
    for _ in range(_MAX_STEPS):
        t = np.exp(log_t)
        p = two_sided_p(t, nu)
        # log p falls ever faster in log t, so that Newton's steps come from the right.
        slope = -2 * t * _density(t, nu) / p
        # The error of a step is of the order of its square. Each t has its own number of steps, so
        # that its bits do not depend on others.
        is_far = np.abs(step) > 1e-8
        if not is_far.any():
            break
        step = np.where(is_far, (np.log(p) - wanted) / slope, 0)
        log_t -= step
    found: NDArray[np.float64] = np.exp(log_t)[which].reshape(given.shape)
    return found


def _nearly_normal_p(square: NDArray[np.float64], nu: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `two_sided_p` for many degrees of freedom, of which t² is given.

    G. W. Hill, Commun. ACM 13, 617 (1970), doi:10.1145/355598.355599.
    """
    a = nu - 0.5
    b = 48 * a**2
    z2 = a * np.log1p(square / nu)
    tail = ((-0.4 * z2 - 3.3) * z2 - 24) * z2 - 85.5
    z = np.sqrt(z2) * (1 + (tail / (0.8 * z2**2 + 100 + b) + z2 + 3) / b)
    return np.array([math.erfc(one / math.sqrt(2)) for one in z.tolist()])


def _density(t: NDArray[np.float64], nu: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density at t."""
    logarithm = _log_gamma_ratio(nu / 2) - np.log(nu * math.pi) / 2
    density: NDArray[np.float64] = np.exp(logarithm - (nu + 1) / 2 * np.log1p(t**2 / nu))
    return density


def _log_gamma_ratio(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log Γ(a + 1/2) - log Γ(a)."""
    large = np.maximum(a, _SERIES_FROM)
    series = np.log(large) / 2 - (1 - 1 / (24 * large**2) + 1 / (80 * large**4)) / (8 * large)
    small = [math.lgamma(n + 0.5) - math.lgamma(n) if n < _SERIES_FROM else 0.0 for n in a.tolist()]
    return np.where(a < _SERIES_FROM, small, series)


def fraction(
    x: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the continued fraction of the incomplete beta function, by Lentz' method.

    M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), 26.5.8.
    """
    c = np.ones(x.shape)
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    found, is_open = d, np.ones(x.shape, bool)
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _not_zero(1 + even * d)
        c = _not_zero(1 + even / c)
        factor = c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _not_zero(1 + odd * d)
        c = _not_zero(1 + odd / c)
        factor *= c * d
        found = np.where(is_open, found * factor, found)
        is_open &= np.abs(factor - 1) > _CLOSE
        if not is_open.any():
            break
    return found


def _not_zero(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers, a tiny one instead of 0."""
    return np.where(np.abs(numbers) < _TINY, _TINY, numbers)
