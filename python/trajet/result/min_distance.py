"""Results with the nearest pair of two groups in each frame."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.result.series import Series


@dataclass(frozen=True, repr=False)
class MinDistance(Series):
    """The distance of the nearest pair of two groups in each frame, and which atoms it is.

    NPZ files hold `values`, `times`, `frames`, `units`, `columns`, `pairs` and `contacts` (empty
    without a cut-off). CSV files have the columns frame, time_ps, min_distance_A, atom, partner
    and, with a cut-off, contacts.

    Attributes
    ----------
    values
        `(n_frames,)`, float64, Å.
    pairs
        `(n_frames, 2)`, int64, indices in the topology of the nearest pair: an atom of the first
        group and one of the second.
    contacts
        `(n_frames,)`, int64, number of pairs within the cut-off; None without a cut-off.
    """

    pairs: NDArray[np.int64]
    contacts: NDArray[np.int64] | None

    def _arrays(self) -> dict[str, np.ndarray]:
        contacts = np.empty(0, np.int64) if self.contacts is None else self.contacts
        return {**super()._arrays(), "pairs": self.pairs, "contacts": contacts}

    def _names(self) -> list[str]:
        counted = [] if self.contacts is None else ["contacts"]
        return ["min_distance_A", "atom", "partner", *counted]

    def _rows(self) -> Iterable[Iterable[object]]:
        columns = [self.frames, self.times, self.values, *self.pairs.T]
        if self.contacts is not None:
            columns.append(self.contacts)
        return zip(*(column.tolist() for column in columns), strict=True)
