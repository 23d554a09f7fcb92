"""Interval of a probability, given how often an event occurred in independent trials."""

import math

import numpy as np
from numpy.typing import NDArray

from trajet.uncertainty.student_t import LEVEL, fraction

# Each of these rounds finds the one of so many steps in which the probability is.
_ROUNDS = 5
_POINTS = 1026


def interval_of_share(events: float, trials: float, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of the probability of an event; from 0 to 1 without trials.

    Where events come together, both numbers are those divided by the design effect.

    The exact one, whose ends are the probabilities at which as few events, or as many, have the
    probability (1 - level) / 2: C. J. Clopper and E. S. Pearson, Biometrika 26, 404 (1934),
    doi:10.1093/biomet/26.4.404.
    """
    half = (1 - level) / 2
    low = _share_of_tail(events, trials, half) if events else 0.0
    high = _share_of_tail(events + 1, trials, 1 - half) if events < trials else 1.0
    return low, high


def _share_of_tail(events: float, trials: float, tail: float) -> float:
    """Return the probability at which at least that many events have the probability `tail`."""
    # In logarithms, as rare events have tiny probabilities.
    low, high = math.log(1e-300), 0.0
    for _ in range(_ROUNDS):
        logs = np.linspace(low, high, _POINTS)
        k = int(np.searchsorted(_at_least(events, trials, logs[1:-1]), tail))
        low, high = logs[k : k + 2].tolist()
    return math.exp((low + high) / 2)


def _at_least(events: float, trials: float, log_shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of at least that many events: the incomplete beta function."""
    a, b = events, trials - events + 1
    x, rest = np.exp(log_shares), -np.expm1(log_shares)
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    power = np.exp(constant + a * log_shares + b * np.log(rest))
    # The fraction converges fast on one side of the symmetry I_x(a, b) = 1 - I_{1-x}(b, a).
    is_tail = x < (a + 1) / (a + b + 2)
    first, second = np.where(is_tail, a, b), np.where(is_tail, b, a)
    part = power * fraction(np.where(is_tail, x, rest), first, second) / first
    return np.where(is_tail, part, 1 - part)
