"""Results with centres of groups of atoms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Centers(Table):
    """Centres of groups of atoms in each frame.

    CSV files have three columns per group, such as `center_A:MET1_x`.

    `values` are `(n_frames, n_groups, 3)`, float64, Å. The axis of the groups has their labels:
    residue and number, the first and last residue of a molecule, the chain, or the selection. The
    index of the first atom is added to labels that occur several times: SOL1@3341. Its column
    "size" has the number of atoms of each.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = tuple(
        ("frames", kind, "coordinates") for kind in ("residues", "molecules", "chains", "groups")
    )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw x, y and z of the centres, at most six, against time, in panels of their own.

        Raises
        ------
        ValueError
            If `ax` is given: one pair of axes has no room for three panels.
        """
        from trajet import plots

        if ax is not None:
            raise ValueError("centres are drawn in three panels: leave ax out")
        return plots.coordinates(self, self.axes[1].labels(), look)
