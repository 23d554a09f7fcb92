"""Observables of H5MD files: energies and other numbers that are stored beside the particles."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.h5md import bounded
from trajet.h5md.library import h5py
from trajet.h5md.links import find

if TYPE_CHECKING:
    from h5py import Dataset, Group

# Numbers of a frame by name: a scalar or an array of any shape.
Numbers: TypeAlias = dict[str, "np.generic | np.ndarray"]

# Groups within groups that are looked into.
_DEPTH = 4


class Observables:
    """The observables of an H5MD file, whose rows are found by the steps of frames.

    The file stays open until the object is freed.

    Parameters
    ----------
    path
        The file.
    n_frames
        Number of its frames.

    Raises
    ------
    MissingPackageError
        If h5py is not installed.
    FormatError
        If the tables of the file cannot be read.
    """

    def __init__(self, path: Path, n_frames: int) -> None:
        self._series: list[tuple[str, Dataset, NDArray[np.int64] | None]] = []
        try:
            self._file = h5py(str(path)).File(path, "r")
            group = find(self._file, "observables")
            if group is not None:
                self._series = list(_series(group, "", n_frames, _DEPTH))
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
    group: "Group", prefix: str, n_frames: int, depth: int
) -> Iterator[tuple[str, "Dataset", NDArray[np.int64] | None]]:
    """Yield name, values and steps of every series; no steps where its rows are the frames."""
    for name in group:
        member = find(group, name)
        # A dataset is a constant, and no part of a frame.
        if member is None or not hasattr(member, "keys"):
            continue
        values = find(member, "value")
        if values is None:
            if depth > 1:
                yield from _series(member, f"{prefix}{name}/", n_frames, depth - 1)
            continue
        with contextlib.suppress(FormatError):
            bounded.check(values)
            yield f"{prefix}{name}", values, _steps(member, len(values), n_frames)


def _steps(element: "Group", n_rows: int, n_frames: int) -> NDArray[np.int64] | None:
    """Return the steps of the rows of a series.

    Raises
    ------
    FormatError
        If it does not say them, and has not a row for each frame.
    """
    steps = find(element, "step")
    if steps is None:
        if n_rows == n_frames:
            return None
        raise FormatError(f"{element.name}: rows without steps that are not the frames")
    if steps.shape == ():
        begin = int(np.asarray(bounded.attribute(steps, "offset", 0)).item())
        return begin + np.arange(n_rows) * int(steps[()])
    return bounded.read(steps, dtype=np.int64)
