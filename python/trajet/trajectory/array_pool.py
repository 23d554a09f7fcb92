"""`ArrayPool`: arrays for frames that callers may keep."""

import sys

import numpy as np
from numpy.typing import NDArray


def _references(arrays: list[NDArray[np.float32]], k: int) -> int:
    """Return the reference count of an array of a list; a view counts as a reference."""
    return sys.getrefcount(arrays[k])


# Reference count of an array that only the list holds.
_UNUSED = _references([np.empty(0, np.float32)], 0)
# The variable of a loop holds the arrays of one frame while the next is read.
_N_ARRAYS = 2


class ArrayPool:
    """Arrays of one shape, each used again only if nobody holds it or a view of it.

    A loop that keeps no array alternates between two of them.

    Parameters
    ----------
    shape
        Shape of the arrays, float32.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._arrays: list[NDArray[np.float32]] = []

    def array(self) -> NDArray[np.float32]:
        """Return an array with any values, which nobody holds."""
        for k in range(len(self._arrays)):
            if _references(self._arrays, k) == _UNUSED:
                return self._arrays[k]
        made = np.empty(self._shape, np.float32)
        self._arrays = [*self._arrays, made][-_N_ARRAYS:]
        return made
