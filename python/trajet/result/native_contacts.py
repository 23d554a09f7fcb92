"""Results with the fraction of native contacts in each frame."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.result.series import Series
from trajet.result.summary import mean_and_spread


@dataclass(frozen=True, repr=False)
class NativeContacts(Series):
    """The fraction of native contacts in each frame; CSV files are those of `Series`.

    Attributes
    ----------
    pairs
        `(n_pairs, 2)`, int64, indices in the topology of the atoms of each native contact.
    distances
        `(n_pairs,)`, float64, their distances in the reference, Å.
    """

    pairs: NDArray[np.int64]
    distances: NDArray[np.float64]

    def scalars(self) -> dict[str, object]:
        """Return the number of native contacts and the mean fraction; see `Result.scalars`."""
        return {"n_native_contacts": len(self.pairs), "mean_q": mean_and_spread(self.values)[0]}
