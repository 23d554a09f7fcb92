"""Atoms that a selection has more than once, which count each time."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from trajet import universes
from trajet.trajectory import Selection

# Arguments whose atoms count once, and a structure with the atoms of the selection.
_COUNTED_ONCE = ("context", "reference")


def repeat_remarks(arguments: Mapping[str, object]) -> list[str]:
    """Return a remark for each argument of an analysis in which atoms are listed several times.

    Lists of atom numbers may repeat atoms, for example those of two selections that overlap. Texts
    and masks select each atom once.
    """
    remarks = []
    for name, value in arguments.items():
        for indices in [] if name in _COUNTED_ONCE else _selected(value):
            if n_repeated := _count_repeated(indices):
                remarks.append(
                    f"{n_repeated} atoms are listed more than once in {name}= and count each time:"
                    " select(numpy.unique(indices)) selects each atom once"
                )
    return list(dict.fromkeys(remarks))


def _selected(value: object) -> Iterator[NDArray[np.int64]]:
    """Yield the atoms of the selections in an argument."""
    if isinstance(value, Selection):
        yield value.indices
    elif isinstance(value, (list, tuple)):
        # Lists of numbers may be long.
        for one in [] if value and isinstance(value[0], (int, float, np.number)) else value:
            yield from _selected(one)
    elif type(value).__module__ != "builtins" and universes.is_atomgroup(value):
        yield value.ix  # type: ignore[attr-defined]


def _count_repeated(indices: NDArray[np.int64]) -> int:
    """Return the number of atoms that occur several times."""
    if (np.diff(indices) > 0).all():
        return 0
    ordered = np.sort(indices)
    again = ordered[1:][np.diff(ordered) == 0]
    return len(again) and int(1 + np.count_nonzero(np.diff(again)))
