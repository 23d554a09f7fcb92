"""Results with the nearest pair of two groups in each frame."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import column_name
from trajet.result.table import Table


@dataclass(frozen=True, repr=False)
class MinDistance(Table):
    """The distance of the nearest pair of two groups in each frame, and the atoms of this pair.

    CSV files have the columns frame, time_ps, min_distance_A, atom and partner, each with name,
    number and insertion code (if any residue has one) of its residue, and, with a cut-off,
    contacts. Those behind min_distance_A are arrays of `also`.

    `values` are `(n_frames,)`, float64, Å.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)
    ALSO: ClassVar[tuple[str, ...]] = ("atom", "partner")

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Indices in the topology of the nearest atom of each group, `(n_frames, 2)`, int64."""
        return np.stack([self.also["atom"], self.also["partner"]], axis=1).astype(np.int64)

    @property
    def contacts(self) -> NDArray[np.int64] | None:
        """Number of pairs within the cut-off, `(n_frames,)`, int64; None without a cut-off."""
        contacts = self.also.get("contacts")
        return None if contacts is None else contacts.astype(np.int64, copy=False)

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of the column of the distance in a CSV file, or of another one."""
        return [column_name(quantity or "min_distance", self.units if units is None else units)]
