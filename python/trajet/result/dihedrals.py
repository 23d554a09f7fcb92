"""Results with dihedral angles per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import column_name, names_column
from trajet.result.mean_errors import lines_of_errors
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class Dihedrals(Table):
    """Dihedral angles, or their cosines and sines, per frame; files are those of `Table`.

    The axis of the angles has labels such as "phi ALA3", and four atoms of each. Backbone angles
    are φ and ψ of one residue after the other. With `function`, "cos" and "sin" follow each other.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "angles"),)
    _HAS_MEAN: ClassVar[bool] = False
    _PERIOD: ClassVar[float | None] = 360.0

    @property
    def sin_cos(self) -> bool:
        """Whether the values are cosine and sine of one angle after the other."""
        return "function" in self.axes[1].columns

    @property
    def backbone(self) -> bool:
        """Whether the angles are backbone angles: φ and ψ of one residue after the other."""
        return "angle" in self.axes[1].columns

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices in the topology of the four atoms of each angle, `(n, 4)`, int64."""
        atoms = self.axes[1].atoms()
        assert atoms is not None
        return atoms[::2] if self.sin_cos else atoms

    @property
    def angles(self) -> NDArray[np.float64]:
        """The angles, `(n_frames, n)`, float64, degrees, also if values are cosines and sines."""
        angles: NDArray[np.float64] = self.values
        if self.sin_cos:
            angles = np.degrees(np.arctan2(angles[:, 1::2], angles[:, ::2]))
        return angles

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw a Ramachandran plot of backbone angles, or each angle against time.

        See `Table.plot`.
        """
        from trajet import plots

        if self.backbone:
            angles = self.angles
            return plots.ramachandran(angles[:, ::2], angles[:, 1::2], ax, look)
        return plots.angles(self, self.angles, self._labels(), ax, look)

    def _summary(self, limit: int | None = None) -> Summary:
        """Return circular mean and standard deviation of each angle; see `Table.summary`."""
        names = self._labels()
        angles = self.angles[:, :limit]
        title = f"{len(names)} dihedral angles (degrees, on the circle)"
        if not len(angles):
            return Summary(title)
        centres = np.exp(1j * np.radians(angles)).mean(axis=0)
        with np.errstate(divide="ignore"):
            spreads = np.degrees(np.sqrt(-2 * np.log(np.minimum(1.0, np.abs(centres)))))
        texts = names[:limit]
        stats = self._statistics_of(angles)
        columns = (
            names_column("angle", texts),
            *with_half_widths(
                Column("mean", np.degrees(np.angle(centres)), ".1f"), stats.estimates.half_width
            ),
            Column("std", spreads, ".1f"),
            Column("last", angles[-1], ".1f"),
        )
        lines = lines_of_errors(stats, texts, "degrees")
        return Summary(title, columns, len(names), lines.always, lines.verbose)

    @property
    def period(self) -> float | None:
        """Period of the values; None of cosines and sines."""
        return None if self.sin_cos else self._PERIOD

    def _samples(self) -> NDArray[np.float64]:
        return self.angles

    def _quantity(self) -> str:
        return "angle (degrees)"

    def _labels(self) -> list[str]:
        """Return the label of each angle, without its function."""
        return self.axes[1].labels()[:: 1 + self.sin_cos]

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each angle, or of its cosine and sine: "cos phi ALA3"."""
        labels, functions = self.axes[1].labels(), self.axes[1].get("function")
        if functions is None:
            return tuple(labels)
        return tuple(map(" ".join, zip(functions.astype(np.str_).tolist(), labels, strict=True)))

    def _sample_names(self) -> list[str]:
        return [column_name("angle", "degrees", label) for label in self._labels()]

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each angle, cosine or sine in the header of a CSV file."""
        labels, functions = self.axes[1].labels(), self.axes[1].get("function")
        if functions is None:
            return [column_name(quantity or "angle", self.units, label) for label in labels]
        of = functions.astype(np.str_).tolist()
        return [column_name(one, label=label) for one, label in zip(of, labels, strict=True)]

    def feature_names(self) -> list[str]:
        """Return the names of CSV files; see `Table.feature_names`."""
        return self.names()
