"""`Step`: a transform as the native module takes it, and how its frames are reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet import _trajet


@dataclass(frozen=True)
class Step:
    """A transform, as the native module takes it.

    Attributes
    ----------
    name
        Name of the native step.
    arguments
        Its parameters.
    words
        Its description in reports: a name, and the arguments that the user gave.
    remarks
        Remarks on it that results repeat.
    unknown
        Columns of atoms whose molecules it needs and that are unknown: they cannot be read.
    """

    name: str
    arguments: dict[str, object]
    words: Mapping[str, object]
    remarks: tuple[str, ...] = ()
    unknown: NDArray[np.int64] | None = None


def native(steps: Sequence[Step], n_atoms: int) -> _trajet.Transforms:
    """Return steps as the native module takes them."""
    return _trajet.Transforms([(step.name, step.arguments) for step in steps], n_atoms)
