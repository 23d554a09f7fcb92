"""Positions of frames as bytes, and their centre; `trajet.viewer.scene` has the layout of frames.

numpy takes several times longer for arrays whose last axis has three elements. All functions here
therefore work on rows of many atoms.
"""

import numpy as np
from numpy.typing import NDArray

# Step of quantised positions, Å.
QUANTUM = 0.01
_LARGEST_INT16 = 32767
# Atoms of a row of sums and extremes, and atoms that are quantised at a time, in the cache.
_ROW = 64
_BLOCK = 4096


def plain(positions: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float64], float]:
    """Return positions, `(n_atoms, 3)`, Å, as bytes of float32, with origin and step 0."""
    return positions.astype("<f4", copy=False).tobytes(), np.zeros(3), 0.0


def quantised(positions: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float64], float]:
    """Return positions, `(n_atoms, 3)`, Å, as bytes of int16, with their origin and step, Å.

    The origin is the middle of the positions. They are float32, with origin and step 0, if they do
    not fit or are no numbers.
    """
    ends = np.stack([_along_axes(np.minimum, positions), _along_axes(np.maximum, positions)])
    # The header has single precision.
    origin = (ends.sum(axis=0) / 2).astype(np.float32).astype(np.float64)
    step = float(np.float32(QUANTUM))
    # Rounding keeps the order: where the ends fit, all others do. Comparisons with NaN are False.
    if not (np.abs(np.rint((ends - origin) / step)) <= _LARGEST_INT16).all():
        return plain(positions)
    values = positions.reshape(-1)
    found = np.empty(len(values), "<i2")
    origins, buffer = np.tile(origin, _BLOCK), np.empty(3 * _BLOCK)
    for begin in range(0, len(values), len(buffer)):
        some = values[begin : begin + len(buffer)]
        steps = buffer[: len(some)]
        np.subtract(some, origins[: len(some)], out=steps)
        np.divide(steps, step, out=steps)
        np.rint(steps, out=steps)
        found[begin : begin + len(some)] = steps
    return found.tobytes(), origin, QUANTUM


def centre(positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the centre of positions, `(n_atoms, 3)`, Å, as `(3,)`."""
    return _along_axes(np.add, positions) / len(positions)


def _along_axes(function: np.ufunc, positions: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the sums or extremes of positions, `(n_atoms, 3)`, along x, y and z, `(3,)`."""
    n_rows = len(positions) // _ROW
    rows = positions[: n_rows * _ROW].reshape(n_rows, 3 * _ROW)
    parts = positions[n_rows * _ROW :].astype(np.float64)
    if n_rows:
        of_rows = function.reduce(rows, axis=0, dtype=np.float64).reshape(_ROW, 3)
        parts = np.concatenate([of_rows, parts])
    found: NDArray[np.float64] = function.reduce(parts, axis=0)
    return found
