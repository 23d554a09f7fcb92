"""Errors of logarithms of ratios of shares, such as differences of free energies.

The ratio p / r of the share of a state and that of a reference is q / (1 - q), with the share q =
p / (p + r) of the state among both. The error of q is that of the mean of its influence on blocks
of frames, or on replicas: ((1 - q) p_k - q r_k) / (p + r) for the shares p_k and r_k of block k
(the linearised ratio estimator, W. G. Cochran, Sampling Techniques (1977), section 6.5). The ends
of the interval of q, which `trajet.uncertainty.estimates` makes wider towards the rarer state,
become those of the logarithm. Deviations:

1. Of several replicas, the error is the larger one of that between replicas, by Student's t, and
   that of the series of the blocks of all.
2. An interval whose end has no logarithm is not resolved.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.uncertainty.estimates import estimates_of_blocks
from trajet.uncertainty.student_t import quantile


@dataclass(frozen=True)
class LogRatios:
    """Errors of ln(p / r) of several states; every array is `(n_states,)`.

    Attributes
    ----------
    standard_error, half_width
        Standard errors, and longer sides of 95 % intervals; NaN where unknown.
    reasons
        Why an interval is not resolved; an empty text if it is.
    """

    standard_error: NDArray[np.float64]
    half_width: NDArray[np.float64]
    reasons: NDArray[np.object_]


def log_ratios(
    blocks: NDArray[np.float64],
    reference: NDArray[np.float64],
    replicas: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> LogRatios:
    """Return the errors of the logarithms of ratios of shares.

    Parameters
    ----------
    blocks, reference
        `(n_blocks, n_states)` and `(n_blocks,)`: shares of the states in each block, and of the
        reference. Their means over blocks are those of all frames, and positive.
    replicas
        As `blocks` and `reference`, of whole replicas, with the same means; None of one run.
    """
    p, r = blocks.mean(axis=0), reference.mean()
    q = p / (p + r)

    def influence(states: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = ((1 - q) * states - q * others[:, np.newaxis]) / (p + r)
        return found

    # Influences have the mean 0.
    found = estimates_of_blocks(influence(blocks, reference))
    below, above = -found.low, found.high
    error, reasons = found.standard_error, found.reasons
    if replicas is not None:
        n = len(replicas[1])
        between = influence(*replicas).std(axis=0, ddof=1) / np.sqrt(n)
        error, half = np.fmax(error, between), between * quantile(n - 1)
        below, above = np.fmax(below, half), np.fmax(above, half)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.log(p / r)
        low, high = (np.log(end / (1 - end)) for end in (q - below, q + above))
        half_width = np.fmax(centre - low, high - centre)
    is_open = ~(np.isfinite(low) & np.isfinite(high))
    reasons = np.where(is_open & (reasons == ""), "too short to tell: the share may be 0", reasons)
    return LogRatios(error / (q * (1 - q)), np.where(is_open, np.nan, half_width), reasons)
