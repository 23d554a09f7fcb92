"""Times as the shortest decimals that give the stored values back."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from trajet.digits import ROUNDING, decimals_within
from trajet.formats import formats_of
from trajet.report_entries import InputEntry


def shortest_times(times: NDArray[np.float64], inputs: Iterable[InputEntry]) -> NDArray[np.float64]:
    """Return times, ps, as the shortest decimals that give the stored values back in their type.

    A file that stores 0.1 in single precision has the time 0.10000000149011612, which is returned
    as 0.1. DCD files store the time step, in single precision and another unit: decimals are within
    the rounding of the step.

    Parameters
    ----------
    times
        Times as they are read.
    inputs
        The inputs of the run, which name the formats of the files.
    """
    layouts = ", ".join(entry.get("format") or "" for entry in inputs)
    if any(info.times == "even" for info in formats_of(layouts)):
        return decimals_within(times, ROUNDING * np.abs(times))
    with np.errstate(over="ignore"):
        single = times.astype(np.float32)
    if not np.array_equal(single.astype(np.float64), times, equal_nan=True):
        return times
    shortest: NDArray[np.float64] = single.astype(np.str_).astype(np.float64)
    return shortest
