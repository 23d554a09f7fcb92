"""Results with the secondary structure of residues per frame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.report import Report
from trajet.result.result import (
    Columns,
    Result,
    column_name,
    count_of_frames,
    names_column,
    time_columns,
)
from trajet.result.summary import Column, Summary, mean_and_spread
from trajet.result.table import Axis, Table, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look
    from trajet.uncertainty.estimates import Discard
    from trajet.uncertainty.statistics import Statistics

# Letters of the classes in the order of their numbers, and their names.
CLASSES = {
    "H": "α-helix",
    "G": "3₁₀-helix",
    "I": "π-helix",
    "E": "strand",
    "B": "bridge",
    "T": "turn",
    "S": "bend",
    "-": "loop",
}
SIMPLIFIED = {"H": "helix", "E": "strand", "-": "coil"}
# The number of the simplified class of each class.
OF_CLASSES = np.array([0, 0, 0, 1, 1, 2, 2, 2], np.uint8)


@dataclass(frozen=True, repr=False)
class ClassContent(Table):
    """The share of residues in each class of secondary structure against time.

    Files are those of `Table`; the columns of CSV files end in the letters of the classes.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "classes"),)

    @property
    def letters(self) -> tuple[str, ...]:
        """The letter of each class."""
        return tuple(self.axes[1]["letter"].astype(np.str_).tolist())

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each class in the header of a CSV file."""
        letters = ("loop" if letter == "-" else letter for letter in self.letters)
        return [column_name(quantity or self.name, units or "", letter) for letter in letters]


@dataclass(frozen=True, repr=False)
class SecondaryStructure(Result):
    """The class of secondary structure of each residue in each frame.

    CSV files have
    the columns frame, time_ps, and one column with a letter per residue, as `class:MET1`.

    Attributes
    ----------
    codes
        `(n_frames, n_residues)`, uint8: the number of each class in `classes`.
    classes
        Letters of the classes: H, G, I, E, B, T, S and - of DSSP, or H, E and - if simplified.
    times
        `(n_frames,)`, float64, ps.
    frames
        `(n_frames,)`, int64, frame numbers.
    residues
        `(n_residues,)`, int64, indices of the residues in the topology.
    columns
        The name of each residue.
    label
        The selection, as text.
    report
        Timings and counters of the run.
    """

    codes: NDArray[np.uint8]
    classes: tuple[str, ...]
    times: NDArray[np.float64]
    frames: NDArray[np.int64]
    residues: NDArray[np.int64]
    columns: tuple[str, ...]
    label: str
    report: Report

    _ROWS: ClassVar[tuple[str, ...]] = ("codes", "times", "frames")
    _HAS_MEAN: ClassVar[bool] = False

    @property
    def values(self) -> NDArray[np.str_]:
        """The letter of each class, `(n_frames, n_residues)`, one character each."""
        return np.array(self.classes, "U1")[self.codes]

    def simplified(self) -> "SecondaryStructure":
        """Return the three classes: helix (H, G, I), strand (E, B) and coil (T, S, -)."""
        if self.classes == tuple(SIMPLIFIED):
            return self
        return SecondaryStructure(
            codes=OF_CLASSES[self.codes],
            classes=tuple(SIMPLIFIED),
            times=self.times,
            frames=self.frames,
            residues=self.residues,
            columns=self.columns,
            label=self.label,
            report=self.report,
        )

    def content(self) -> ClassContent:
        """Return the share of residues in each class against time.

        Examples
        --------
        >>> tj.dssp(traj.select("protein")).content().values.shape  # doctest: +SKIP
        (98, 8)
        """
        shares = [(self.codes == k).mean(axis=1) for k in range(len(self.classes))]
        return ClassContent(
            values=np.stack(shares, axis=1),
            axes=(
                Axis("frames", {"frame": self.frames, "time": self.times}),
                named("classes", list(self._names().values()), letter=np.array(self.classes)),
            ),
            name="content",
            units="fraction",
            selections=(self.label,),
            report=self.report,
        )

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw residues against time, each class in its colour."""
        from trajet import plots

        return plots.secondary_structure(
            self.codes,
            self.times,
            self.frames,
            classes=self._names(),
            labels=self.columns,
            title=f"secondary structure of {self.label}",
            ax=ax,
            look=look,
        )

    def _names(self) -> dict[str, str]:
        """Return the names of the classes by their letters."""
        return SIMPLIFIED if self.classes == tuple(SIMPLIFIED) else CLASSES

    def scalars(self) -> dict[str, object]:
        """Return the mean share of each class, by its name; see `Result.scalars`."""
        content = self.content()
        return {
            f"mean_{name}": mean_and_spread(shares)[0]
            for name, shares in zip(content.columns, content.values.T, strict=True)
        }

    def summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of the share of each class; see `Result.summary`."""
        content = self.content()
        labels = map(" ".join, zip(content.letters, content.columns, strict=True))
        title = f"secondary structure (% of {len(self.columns)} residues)"
        names = names_column("class", labels)
        return content._summed_up(
            100 * content.values,
            names,
            form=".1f",
            title=title,
            count=len(content.columns),
            unit="%",
        )

    def statistics(self, *, discard: "Discard" = None) -> "Statistics":
        """Return the mean share of each class with its error; see `Table.statistics`."""
        return self.content().statistics(discard=discard)

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean share of each class with its error; see `Result.mean_errors`."""
        return self.content().mean_errors()

    def _about(self) -> str:
        shape = self.codes.shape
        return f"secondary structure of {count_of_frames(self.frames)}, {shape[1]} residues"

    def _table(self) -> Columns:
        return [
            *time_columns(self.times, self.frames, self.report),
            *zip(
                (column_name("class", label=name) for name in self.columns),
                self.values.T,
                strict=True,
            ),
        ]
