"""Which tasks take unusually long, by the two rules of the founding papers.

Khoshlessan et al., Concurrency Computat. Pract. Exper. 32 (2020) e5789, doi:10.1002/cpe.5789:
longer than 1.5 times the median (section 2.1, from the literature), or than twice the group that
finished fastest (section 6.1), which still sees them where most are slow.

1. The group that finished fastest is here the fastest quarter, by its median: 10 of 72 fast ranks
   are enough.
"""

from collections.abc import Sequence

import numpy as np

MEDIAN_RULE = "1.5 times the median"
FASTEST_RULE = "twice the fastest"
_MEDIANS = 1.5
_FASTEST = 2.0
_GROUP = 4


def limits(seconds: Sequence[float]) -> dict[str, float]:
    """Return from when on a task counts as a straggler, by each rule, beside what others took."""
    ordered = np.sort(np.asarray(seconds, np.float64))
    fastest = ordered[: -(-len(ordered) // _GROUP)]
    return {
        MEDIAN_RULE: _MEDIANS * float(np.median(ordered)),
        FASTEST_RULE: _FASTEST * float(np.median(fastest)),
    }
