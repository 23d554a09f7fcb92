"""Results with the fraction of native contacts in each frame."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.summary import mean_and_spread
from trajet.result.table import Table


@dataclass(frozen=True, repr=False)
class NativeContacts(Table):
    """The fraction of native contacts in each frame; CSV files are those of `Table`.

    The part "native" has the distance of each native contact in the reference.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)
    TABLES: ClassVar[tuple[str, ...]] = ("native",)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Indices in the topology of the atoms of each native contact, `(n_pairs, 2)`, int64."""
        axis = self.parts["native"].axes[0]
        return np.stack([axis["atom"], axis["partner"]], axis=1).astype(np.int64)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distances of the native contacts in the reference, `(n_pairs,)`, float64, Å."""
        distances: NDArray[np.float64] = self.parts["native"].values
        return distances

    def scalars(self) -> dict[str, object]:
        """Return the number of native contacts and the mean fraction; see `Table.scalars`."""
        return {"n_native_contacts": len(self.distances), "mean_q": mean_and_spread(self.values)[0]}
