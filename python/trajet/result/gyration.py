"""Results with principal moments of the gyration tensor."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.table import Table

# Largest sum of the moments of atoms that are at one place, Å².
_NO_EXTENT = 1e-14


@dataclass(frozen=True, repr=False)
class GyrationMoments(Table):
    """Principal moments of the gyration tensor per frame; files are those of `Table`.

    `values` are `(n_frames, 3)`, float64, Å², in ascending order. The quantities below are those of
    D. N. Theodorou and U. W. Suter, Macromolecules 18, 1206 (1985), doi:10.1021/ma00148a028.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "groups"),)

    @property
    def radius(self) -> NDArray[np.float64]:
        """Radius of gyration, `(n_frames,)`, float64, Å."""
        radius: NDArray[np.float64] = np.sqrt(self.values.sum(axis=1))
        return radius

    @property
    def asphericity(self) -> NDArray[np.float64]:
        """The largest moment less the mean of the others, `(n_frames,)`, float64, Å².

        It is 0 for atoms that are spread as in a sphere or a cube.
        """
        a, b, c = self.values.T
        asphericity: NDArray[np.float64] = c - (a + b) / 2
        return asphericity

    @property
    def acylindricity(self) -> NDArray[np.float64]:
        """The middle moment less the smallest, `(n_frames,)`, float64, Å².

        It is 0 for atoms that are spread as in a cylinder.
        """
        acylindricity: NDArray[np.float64] = self.values[:, 1] - self.values[:, 0]
        return acylindricity

    @property
    def anisotropy(self) -> NDArray[np.float64]:
        """Relative shape anisotropy κ², `(n_frames,)`, float64, from 0 (sphere) to 1 (rod).

        NaN where all atoms are at one place, as a single atom is.
        """
        a, b, c = self.values.T
        total = a + b + c
        # Below, moments are the rounding of the centre.
        total = np.where(total > _NO_EXTENT, total, np.nan)
        kappa: NDArray[np.float64] = 1 - 3 * (a * b + b * c + c * a) / total**2
        return kappa
