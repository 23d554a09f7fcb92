"""Results with the nearest pair of two groups in each frame."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import Columns, column_name, residue_columns
from trajet.result.series import Series


@dataclass(frozen=True, repr=False)
class MinDistance(Series):
    """The distance of the nearest pair of two groups in each frame, and the atoms of this pair.

    CSV files have the columns frame, time_ps, min_distance_A, atom and partner, each with name,
    number and insertion code (if any residue has one) of its residue, and, with a cut-off,
    contacts.

    Attributes
    ----------
    values
        `(n_frames,)`, float64, Å.
    pairs
        `(n_frames, 2)`, int64, indices in the topology of the nearest pair: an atom of the first
        group and one of the second.
    contacts
        `(n_frames,)`, int64, number of pairs within the cut-off; None without a cut-off.
    residue_names, residues
        `(n_frames, 2)`, str and int64, names and numbers of the residues of the nearest pair; None
        if the topology has none.
    insertion_codes
        `(n_frames, 2)`, str, insertion codes of these residues; None if none of them has one.
    """

    pairs: NDArray[np.int64]
    contacts: NDArray[np.int64] | None
    residue_names: NDArray[np.str_] | None = None
    residues: NDArray[np.int64] | None = None
    insertion_codes: NDArray[np.str_] | None = None

    _ROWS: ClassVar[tuple[str, ...]] = (
        *Series._ROWS,
        "pairs",
        "contacts",
        "residue_names",
        "residues",
        "insertion_codes",
    )

    def _names(self) -> list[str]:
        return [column_name("min_distance", self.units)]

    def _table(self) -> Columns:
        columns = super()._table()
        for k, of in enumerate(("atom", "partner")):
            columns.append((of, self.pairs[:, k]))
            columns += residue_columns(
                of, self.residue_names, self.residues, np.s_[:, k], self.insertion_codes
            )
        counted = [] if self.contacts is None else [("contacts", self.contacts)]
        return [*columns, *counted]
