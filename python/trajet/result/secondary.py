"""Results with the secondary structure of residues per frame."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import named
from trajet.result.columns import column_name, count_of_frames, names_column
from trajet.result.summary import Column, Summary, mean_and_spread
from trajet.result.table import Table

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
class SecondaryStructure(Table):
    """The class of secondary structure of each residue in each frame.

    `values` are `(n_frames, n_residues)`, the letter of each class, one character each. CSV files
    have the columns frame, time_ps, and one column with a letter per residue, as `class:MET1`.

    Attributes
    ----------
    is_simplified
        Whether the classes are H, E and -.
    """

    values: NDArray[np.str_]  # type: ignore[assignment]
    is_simplified: bool = False

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames", "residues"),)
    HAS_SERIES: ClassVar[bool] = False
    VALUES: ClassVar[str] = "U"
    _HAS_MEAN: ClassVar[bool] = False
    _HAS_TIMES: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values.dtype != np.dtype("U1"):
            raise ValueError(f"letters of classes are of the type {self.values.dtype}")
        if self.codes.max(initial=0) >= len(self.classes):
            raise ValueError(f"letters of classes are none of {''.join(self.classes)}")

    @property
    def classes(self) -> tuple[str, ...]:
        """Letters of the classes: H, G, I, E, B, T, S and - of DSSP, or H, E and -."""
        return tuple(self._names())

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The number of each class in `classes`, `(n_frames, n_residues)`, uint8."""
        known = np.full(128, len(self.classes), np.uint8)
        known[[ord(letter) for letter in self.classes]] = np.arange(len(self.classes))
        points = np.ascontiguousarray(self.values, "U1").view(np.uint32)
        return known[np.minimum(points, len(known) - 1)]

    @property
    def residues(self) -> NDArray[np.int64]:
        """Indices of the residues in the topology, `(n_residues,)`, int64."""
        return self._column("residues", "residue").astype(np.int64, copy=False)

    def simplified(self) -> "SecondaryStructure":
        """Return the three classes: helix (H, G, I), strand (E, B) and coil (T, S, -)."""
        if self.is_simplified:
            return self
        letters = letters_of(OF_CLASSES[self.codes], simplified=True)
        return replace(self, values=letters, is_simplified=True)

    def content(self) -> ClassContent:
        """Return the share of residues in each class against time.

        Examples
        --------
        >>> tj.dssp(traj.select("protein")).content().values.shape  # doctest: +SKIP
        (98, 8)
        """
        codes = self.codes
        shares = [(codes == k).mean(axis=1) for k in range(len(self.classes))]
        return ClassContent(
            values=np.stack(shares, axis=1),
            axes=(
                self.axes[0],
                named("classes", list(self._names().values()), letter=np.array(self.classes)),
            ),
            name="content",
            units="fraction",
            selections=self.selections,
            report=self.report,
        )

    def averaged(self) -> Table:
        """Return the table whose rows have means over replicas: shares of classes."""
        return self.content()

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw residues against time, each class in its colour."""
        from trajet import plots

        return plots.secondary_structure(self, self.codes, self._names(), ax, look)

    def _names(self) -> dict[str, str]:
        """Return the names of the classes by their letters."""
        return SIMPLIFIED if self.is_simplified else CLASSES

    def scalars(self) -> dict[str, object]:
        """Return the mean share of each class, by its name; see `Table.scalars`."""
        content = self.content()
        return {
            f"mean_{name}": mean_and_spread(shares)[0]
            for name, shares in zip(content.columns, content.values.T, strict=True)
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return mean, spread and extremes of the share of each class; see `Table.summary`."""
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
        """Return the mean share of each class with its error; see `Table.mean_errors`."""
        return self.content().mean_errors()

    def _about(self) -> str:
        shape = self.values.shape
        return f"secondary structure of {count_of_frames(self.frames)}, {shape[1]} residues"

    def _draw_means(
        self, kind: Literal["convergence", "histogram"], ax: "Axes | None", look: "Look"
    ) -> "Figure":
        return self.content()._draw_means(kind, ax, look)


def letters_of(codes: NDArray[np.uint8], *, simplified: bool) -> NDArray[np.str_]:
    """Return the letters of classes, given their numbers."""
    letters: NDArray[np.str_] = np.array([*(SIMPLIFIED if simplified else CLASSES)], "U1")[codes]
    return letters
