"""Differences of the means of two small groups whose variances differ up to threefold.

Welch's test (B. L. Welch, Biometrika 34, 28 (1947), doi:10.1093/biomet/34.1-2.28) takes its degrees
of freedom from the variances of the groups. If the smaller group comes out with a small variance by
chance, they are far too many: for 2 and 10 numbers of equal variance, probabilities below 0.0005
are 18 times as frequent as they should be, 49 times if the two have three times the variance, and
corrections for many rows need such small ones. The frequency is an integral over the ratio of the
two variances (Y. Y. Wang, J. Am. Stat. Assoc. 66, 605 (1971), doi:10.1080/01621459.1971.10482315).
The probability given here is the largest frequency, over ratios of the true variances from 1/3 to
3, of a Welch's probability as small as the one found, and at least that one (R. L. Berger and D. D.
Boos, J. Am. Stat. Assoc. 89, 1012 (1994), doi:10.1080/01621459.1994.10476836, on such maxima). The
tests compare it with simulations.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trajet.uncertainty.student_t import LEVEL, quantile, two_sided_p

# Ratios of the variances, about threefold at most, over which the largest frequency is taken.
_RATIOS = 3.0 ** np.linspace(-1, 1, 5)
# Logarithms of Welch's probabilities whose frequencies are computed; between them, interpolated.
_LOG_P = np.log(10.0) * -np.concatenate([np.linspace(0, 4, 33)[1:], np.linspace(4, 40, 37)[1:]])
_NODES = 241


def freedom_of(
    first: NDArray[np.float64], second: NDArray[np.float64], sizes: tuple[int, int]
) -> NDArray[np.float64]:
    """Return Welch's degrees of freedom for two squared standard errors; NaN if both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = first / (first + second)
    freedom: NDArray[np.float64] = 1 / (
        share**2 / (sizes[0] - 1) + (1 - share) ** 2 / (sizes[1] - 1)
    )
    return freedom


def probability(
    t: NDArray[np.float64], freedom: NDArray[np.float64], sizes: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the probability of a t as large if the means of both groups were the same.

    Parameters
    ----------
    t, freedom
        Differences divided by their standard errors, and Welch's degrees of freedom.
    sizes
        Numbers of replicas of the groups.
    """
    p = two_sided_p(t, freedom)
    with np.errstate(divide="ignore"):
        frequency = np.exp(np.interp(np.log(p), _LOG_P[::-1], _log_frequencies(*sizes)[::-1]))
    return np.maximum(p, frequency)


def level_of_interval(sizes: tuple[int, int]) -> float:
    """Return the level at which Welch's interval has at least 95 %."""
    log_p = np.interp(math.log1p(-LEVEL), _log_frequencies(*sizes)[::-1], _LOG_P[::-1])
    return max(LEVEL, -math.expm1(float(log_p)))


@lru_cache(maxsize=64)
def _log_frequencies(n_a: int, n_b: int) -> NDArray[np.float64]:
    """Return the logarithm of the largest frequency of each probability of `_LOG_P`.

    Given the ratio of the estimated variances, t is proportional to a Student's t of all degrees of
    freedom. The ratio follows a beta distribution, whose logit is summed over with equal steps.
    """
    f_a, f_b = n_a - 1, n_b - 1
    # The density falls as exp(-f |logit| / 2) far out, and is normal in the middle if f are many.
    reach = 60 / min(f_a, f_b) + 9 * math.sqrt(2 / f_a + 2 / f_b) + math.log(_RATIOS[-1])
    middle = math.log(n_b / n_a)
    logit = middle + np.linspace(-reach, reach, _NODES)
    share, rest = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(logit))
    limits = _limits(1 / (share**2 / f_a + rest**2 / f_b))
    frequencies = []
    for ratio in _RATIOS:
        # Share of the first group in the sum of all squares, each in units of its true variance.
        of_a = logit - math.log(ratio * n_b * f_b / (n_a * f_a))
        log_part, log_rest = -np.logaddexp(0, -of_a), -np.logaddexp(0, of_a)
        density = f_a / 2 * log_part + f_b / 2 * log_rest
        weights = np.exp(density - density.max())
        estimated = (ratio / n_a / f_a) * np.exp(log_part) + np.exp(log_rest) / (n_b * f_b)
        factors = np.sqrt((f_a + f_b) * estimated / (ratio / n_a + 1 / n_b))
        tails = two_sided_p(limits * factors[:, np.newaxis], float(f_a + f_b))
        frequencies.append(weights @ tails / weights.sum())
    found: NDArray[np.float64] = np.log(np.max(frequencies, axis=0))
    return found


def _limits(freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the t of each probability of `_LOG_P`, `(n_freedom, n_probabilities)`."""
    levels = [quantile(freedom, log_p=float(log_p)) for log_p in _LOG_P]
    return np.stack(levels, axis=1)
