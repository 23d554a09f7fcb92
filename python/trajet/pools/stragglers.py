"""Which tasks take too long.

M. Khoshlessan, I. Paraskevakos, G. C. Fox, S. Jha and O. Beckstein, Concurrency Computat. Pract.
Exper. 32, e5789 (2020), section 3.3: over 1.5 times the median; or over twice the fastest group,
which still tells where most are slow.
"""

import numpy as np
from numpy.typing import NDArray

_OVER_MEDIAN = 1.5
_OVER_FASTEST = 2.0
# The fastest group: this part of all, one at least.
_FASTEST = 1 / 8


def limit(durations: NDArray[np.float64]) -> float:
    """Return what is too long beside these `durations`, of which there is one at least."""
    ordered = np.sort(durations)
    fastest = ordered[: max(1, int(len(ordered) * _FASTEST))]
    return float(min(_OVER_MEDIAN * np.median(ordered), _OVER_FASTEST * fastest.mean()))
