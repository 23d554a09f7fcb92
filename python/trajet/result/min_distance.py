"""Results with the nearest pair of two groups in each frame."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import Table
from trajet.result.series import Series


@dataclass(frozen=True, repr=False)
class MinDistance(Series):
    """The distance of the nearest pair of two groups in each frame, and the atoms of this pair.

    CSV files have the columns frame, time_ps, min_distance_A, atom, partner
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

    _ROWS: ClassVar[tuple[str, ...]] = (*Series._ROWS, "pairs", "contacts")

    def _names(self) -> list[str]:
        return ["min_distance_A"]

    def _table(self) -> Table:
        atoms, partners = self.pairs.T
        counted = [] if self.contacts is None else [("contacts", self.contacts)]
        return [*super()._table(), ("atom", atoms), ("partner", partners), *counted]
