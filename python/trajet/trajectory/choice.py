"""Conversion of users' choices of frames and atoms to numbers."""

import operator
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FrameError, SelectionError
from trajet.pools.pool import Frames

FrameChoice: TypeAlias = slice | Sequence[int] | NDArray[np.integer | np.bool_] | None
AtomChoice: TypeAlias = str | Sequence[int] | NDArray[np.integer | np.bool_]


def resolve_frames(frames: FrameChoice, n_frames: int, label: str) -> Frames:
    """Return frame numbers as the native module takes them.

    Raises
    ------
    FrameError
        If one is out of range.
    TypeError
        If the choice is of another type, or a short tuple, which is probably meant as a range.
    """
    if isinstance(frames, tuple) and 1 < len(frames) < 4:
        numbers_of = ", ".join(map(str, frames))
        raise TypeError(
            f"frames=({numbers_of}) may mean a range or single frames: give slice({numbers_of}) for"
            f" the range, or the list [{numbers_of}] for these frames"
        )
    if frames is None:
        frames = slice(None)
    if isinstance(frames, slice):
        chosen = range(*frames.indices(n_frames))
        return (chosen.start, chosen.step, len(chosen)) if chosen else (0, 1, 0)
    numbers = np.atleast_1d(np.asarray(frames))
    if numbers.dtype == np.bool_:
        if numbers.shape != (n_frames,):
            raise FrameError(f"{label}: a mask of {numbers.shape} does not fit {n_frames} frames")
        return np.flatnonzero(numbers).astype(np.int64)
    if numbers.ndim != 1 or not (np.issubdtype(numbers.dtype, np.integer) or numbers.size == 0):
        raise TypeError(
            "frames must be a slice, such as slice(0, 100, 10), a list of frame numbers, a mask, or"
            f" None for all, not {frames!r:.40}"
        )
    wrong = numbers[(numbers < -n_frames) | (numbers >= n_frames)]
    if wrong.size:
        raise FrameError(
            f"{label}: frame {wrong[0]} is out of range: the trajectory has {n_frames} frames,"
            f" 0 to {n_frames - 1}"
        )
    # The sum below may overflow short integers.
    numbers = numbers.astype(np.int64)
    return np.where(numbers < 0, numbers + n_frames, numbers)


def frame_number(number: int) -> int:
    """Return the number of one frame; negative numbers count from the end.

    Raises
    ------
    TypeError
        If it is not a whole number.
    """
    if type(number) is int:
        return number
    if isinstance(number, (bool, slice)) or not hasattr(number, "__index__"):
        raise TypeError(
            "one frame is taken by its number; several are read with read(frames=...) or"
            " blocks(frames=...), and atoms are chosen by select(...)"
        )
    return operator.index(number)


def frame_numbers(frames: Frames) -> NDArray[np.int64]:
    """Return frame numbers as an array."""
    if isinstance(frames, tuple):
        first, step, count = frames
        return first + step * np.arange(count, dtype=np.int64)
    return frames


def resolve_indices(indices: np.ndarray, n_atoms: int) -> NDArray[np.int64]:
    """Return atom indices as int64, after checking that they are in range.

    Raises
    ------
    SelectionError
        If there are none, or one is out of range.
    TypeError
        If they are not a sequence of integers.
    """
    if indices.size == 0:
        raise SelectionError("selection of indices: it is empty")
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        raise TypeError("atoms must be a selection string, a sequence of integers, or a mask")
    wrong = indices[(indices < 0) | (indices >= n_atoms)]
    if wrong.size:
        raise SelectionError(
            f"atom {wrong[0]} is out of range: the trajectory has {n_atoms} atoms,"
            f" 0 to {n_atoms - 1}"
        )
    return np.ascontiguousarray(indices, dtype=np.int64)
