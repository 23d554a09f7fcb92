"""Results with dihedral angles per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import column_name, names_column
from trajet.result.series import Series
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Dihedrals(Series):
    """Dihedral angles, or their cosines and sines, per frame; files are those of `Series`.

    Attributes
    ----------
    atoms
        `(n, 4)`, int64, indices in the topology of the four atoms of each angle.
    backbone
        Whether the angles are backbone angles: φ and ψ of one residue after the other.
    sin_cos
        Whether the values are cosine and sine of one angle after the other.
    """

    atoms: NDArray[np.int64]
    backbone: bool
    sin_cos: bool

    _HAS_MEAN: ClassVar[bool] = False
    _PERIOD: ClassVar[float | None] = 360.0

    @property
    def angles(self) -> NDArray[np.float64]:
        """The angles, `(n_frames, n)`, float64, degrees, also if values are cosines and sines."""
        if not self.sin_cos:
            return self.values
        cosines, sines = self.values[:, ::2], self.values[:, 1::2]
        return np.degrees(np.arctan2(sines, cosines))

    def feature_atoms(self) -> NDArray[np.int64]:
        """Return the four atoms of each value; see `Series.feature_atoms`."""
        return np.repeat(self.atoms, 2, axis=0) if self.sin_cos else self.atoms

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw a Ramachandran plot of backbone angles, or each angle against time.

        See `Result.plot`.
        """
        from trajet import plots

        if self.backbone:
            angles = self.angles
            title = f"φ and ψ of {angles.shape[1] // 2} residues, {len(self.frames)} frames"
            return plots.ramachandran(
                angles[:, ::2], angles[:, 1::2], title=title, ax=ax, look=look
            )
        labels = tuple(self._labels())
        return plots.angles(self.angles, self.times, self.frames, labels=labels, ax=ax, look=look)

    def summary(self, limit: int | None = None) -> Summary:
        """Return circular mean and standard deviation of each angle; see `Result.summary`."""
        names = self._labels()
        angles = self.angles[:, :limit]
        title = f"{len(names)} dihedral angles (degrees, on the circle)"
        if not len(angles):
            return Summary(title)
        centres = np.exp(1j * np.radians(angles)).mean(axis=0)
        with np.errstate(divide="ignore"):
            spreads = np.degrees(np.sqrt(-2 * np.log(np.minimum(1.0, np.abs(centres)))))
        texts = names[:limit]
        from trajet.result.mean_errors import half_widths, lines_of_errors

        stats = self._statistics_of(angles)
        columns = (
            names_column("angle", texts),
            Column("mean", np.degrees(np.angle(centres)), ".1f"),
            half_widths(stats, ".1f"),
            Column("std", spreads, ".1f"),
            Column("last", angles[-1], ".1f"),
        )
        return Summary(title, columns, len(names), lines_of_errors(stats, texts, "degrees"))

    def _samples(self) -> NDArray[np.float64]:
        return self.angles

    def _quantity(self) -> str:
        return "angle (degrees)"

    def _labels(self) -> list[str]:
        labels = self.columns[::2] if self.sin_cos else self.columns
        return [label.removeprefix("cos ") for label in labels]

    def _sample_names(self) -> list[str]:
        return [column_name("angle", "degrees", label) for label in self._labels()]

    def _names(self) -> list[str]:
        if self.sin_cos:
            # "cos MET1 phi" is the cosine of the angle "MET1 phi".
            parts = (name.split(" ", 1) for name in self.columns)
            return [column_name(function, label=angle) for function, angle in parts]
        return [column_name("angle", self.units, name) for name in self.columns]
