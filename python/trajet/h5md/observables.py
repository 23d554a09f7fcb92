"""Observables of H5MD files: energies and other numbers that are stored beside the particles."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.h5md import bounded
from trajet.h5md.library import HdfFile, h5py
from trajet.h5md.links import find

if TYPE_CHECKING:
    from h5py import Dataset, Group

# Numbers of a frame by name: a scalar or an array of any shape.
Numbers: TypeAlias = dict[str, "np.generic | np.ndarray"]

# Groups within groups that are looked into.
_DEPTH = 4


class Observables:
    """The observables of an H5MD file, whose rows are found by the steps of frames.

    The file stays open until the object is freed. Series whose steps repeat or go back are left out
    unless they are the steps of the frames, as are series without steps that have not a row for
    each frame.

    Parameters
    ----------
    path
        The file.
    particles
        Name of the group of particles; None for the only one.
    n_frames
        Number of its frames.

    Raises
    ------
    MissingPackageError
        If h5py is not installed.
    FormatError
        If the tables of the file cannot be read.
    """

    def __init__(self, path: HdfFile, particles: str | None, n_frames: int) -> None:
        self._series: list[tuple[str, Dataset, NDArray[np.int64] | None]] = []
        try:
            self._file = h5py(str(path)).File(path, "r")
            group = find(self._file, "observables")
            if group is not None:
                of_frames = _steps_of_frames(self._file, particles, n_frames)
                for name, values, steps in _series(group, "", _DEPTH):
                    if _is_of_frames(steps, of_frames, len(values), n_frames):
                        self._series.append((name, values, None))
                    elif steps is not None and _ascend(steps) and _ascend(of_frames):
                        self._series.append((name, values, steps))
        except OSError as error:
            raise FormatError(f"{path}: its observables cannot be read: {error}") from error

    def at(self, frame: int, step: int) -> Numbers:
        """Return the numbers of a frame by their names, without those that lack this step.

        Names are paths below "observables", in units of the file.
        """
        found: Numbers = {}
        for name, values, steps in self._series:
            row = frame
            if steps is not None:
                row = int(np.searchsorted(steps, step))
                if row == len(steps) or steps[row] != step:
                    continue
            found[name] = values[row]
        return found


def _series(
    group: "Group", prefix: str, depth: int
) -> Iterator[tuple[str, "Dataset", NDArray[np.int64] | None]]:
    """Yield name, values and steps of every series; no steps where it does not say them."""
    for name in group:
        member = find(group, name)
        # A dataset is a constant, and no part of a frame.
        if member is None or not hasattr(member, "keys"):
            continue
        values = find(member, "value")
        if values is None:
            if depth > 1:
                yield from _series(member, f"{prefix}{name}/", depth - 1)
            continue
        with contextlib.suppress(FormatError):
            bounded.check(values)
            yield f"{prefix}{name}", values, _steps(member, len(values))


def _steps_of_frames(
    file: "Group", particles: str | None, n_frames: int
) -> NDArray[np.int64] | None:
    """Return the steps of the frames, as the file has them; None if it does not say them."""
    groups = find(file, "particles")
    if groups is None:
        return None
    group = find(groups, next(iter(groups)) if particles is None else particles)
    for name in ("position", "velocity", "force"):
        element = None if group is None else find(group, name)
        if element is not None:
            steps = _steps(element, n_frames)
            return None if steps is None else steps[:n_frames]
    return None


def _is_of_frames(
    steps: NDArray[np.int64] | None,
    of_frames: NDArray[np.int64] | None,
    n_rows: int,
    n_frames: int,
) -> bool:
    """Return whether the rows of a series are the frames."""
    if steps is None or of_frames is None:
        return steps is None and n_rows == n_frames
    return n_rows >= n_frames and np.array_equal(steps[:n_frames], of_frames)


def _ascend(steps: NDArray[np.int64] | None) -> bool:
    """Return whether no step repeats or goes back."""
    return steps is not None and bool((np.diff(steps) > 0).all())


def _steps(element: "Group", n_rows: int) -> NDArray[np.int64] | None:
    """Return the steps of the rows of an element; None if it does not say them."""
    steps = find(element, "step")
    if steps is None:
        return None
    if steps.shape == ():
        begin = int(np.asarray(bounded.attribute(steps, "offset", 0)).item())
        return begin + np.arange(n_rows) * int(steps[()])
    return bounded.read(steps, dtype=np.int64)
