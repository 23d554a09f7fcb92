"""Checks of numbers that users give."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Sums of weights and of weighted squares stay far from the limits of float64.
_MIN_WEIGHT, _MAX_WEIGHT = 1e-100, 1e100
# Positions are float32.
_LARGEST = float(np.finfo(np.float32).max)


def checked_numbers(numbers: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return real numbers as a contiguous array of float64.

    Raises
    ------
    TypeError
        If they are not real numbers, such as complex ones or texts.
    ValueError
        If rows have different lengths.
    """
    given = np.asarray(numbers)
    if given.dtype.kind not in "fiu":
        raise TypeError(f"{what} must be numbers, not {given.dtype}")
    return np.ascontiguousarray(given, np.float64)


def word_of_weights(weights: object) -> str | None:
    """Return "mass" or "equal"; None for weights that are numbers.

    Raises
    ------
    ValueError
        If they are None, or another word.
    """
    if weights is None or (isinstance(weights, str) and weights not in ("mass", "equal")):
        advice = ': give "equal" for equal weights' if weights is None else ""
        raise ValueError(f'weights are "mass", "equal" or numbers, not {weights!r}{advice}')
    return weights if isinstance(weights, str) else None


def checked_weights(weights: ArrayLike, n_atoms: int) -> NDArray[np.float64]:
    """Return `(n_atoms,)` weights.

    Raises
    ------
    TypeError
        If they are not real numbers.
    ValueError
        If there is another number of them, or no average with them exists.
    """
    numbers = checked_numbers(weights, "weights")
    if numbers.shape != (n_atoms,):
        raise ValueError(f"{numbers.shape} weights do not fit {n_atoms} atoms")
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.any()):
        raise ValueError("weights must be finite, not negative, and not all zero")
    largest = float(numbers.max())
    if not (largest >= _MIN_WEIGHT and largest * n_atoms <= _MAX_WEIGHT):
        raise ValueError(
            f"the largest weight is {largest:g}: scale weights to between {_MIN_WEIGHT:g} and"
            f" {_MAX_WEIGHT:g}, beyond which sums lose their digits"
        )
    return numbers


def checked_positions(numbers: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Return finite coordinates (Å) of a shape, which float32 can hold.

    Raises
    ------
    TypeError
        If they are not real numbers.
    ValueError
        If the shape is another, or a number is not finite or beyond float32.
    """
    found = checked_numbers(numbers, what)
    if found.shape != shape:
        raise ValueError(f"{what} must be numbers (Å) of shape {shape}, not {found.shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{what} must be finite numbers (Å)")
    if np.abs(found).max(initial=0.0) > _LARGEST:
        raise ValueError(
            f"{what} has {found[np.unravel_index(np.abs(found).argmax(), shape)]:g} Å, which single"
            f" precision cannot hold: coordinates are at most {_LARGEST:.3g} Å"
        )
    return found


def whole_number(value: object, name: str, *, least: int, most: int = 2**53) -> int:
    """Return a whole number between two limits.

    Raises
    ------
    TypeError
        If it is not a whole number.
    ValueError
        If it is out of range.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most:,}, not {value:g}")
    return int(value)
