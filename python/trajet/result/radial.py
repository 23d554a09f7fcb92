"""Results with radial distribution functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.columns import Columns, Part, names_column
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look


@dataclass(frozen=True, repr=False)
class RadialDistribution(Table):
    """A radial distribution function, or those of several pairs of groups.

    The axes are "distance", and before it "groups" if there are several, whose columns are the
    selections of each pair ("first", "second") and the density. CSV files have the columns r_A, g,
    count and n, or those of each pair, such as `g:name_OW_-_name_HW1`; with errors also
    standard_error and half_width_95. The part "coordination" has n with errors of its own.

    Attributes
    ----------
    number_density
        Mean number density of the second group, 1/Å³; NaN if there are several pairs.
    first_minimum, coordination_number
        Distance of the first minimum of g after its first maximum, Å, and n up to there; NaN if
        there is no such minimum, or if there are several pairs. See `trajet.rdf`.
    first_minimum_half_width, coordination_half_width
        Longer sides of their 95 % intervals; NaN if they are unknown.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("distance",), ("groups", "distance"))
    ALSO: ClassVar[tuple[str, ...]] = ("count",)

    PARTS: ClassVar[Mapping[str, Part]] = MappingProxyType(
        {"coordination": Part("n(r), with its errors if there are any")}
    )

    number_density: float = float("nan")
    first_minimum: float = float("nan")
    coordination_number: float = float("nan")
    first_minimum_half_width: float = float("nan")
    coordination_half_width: float = float("nan")

    _HAS_MEAN: ClassVar[bool] = False

    @property
    def r(self) -> NDArray[np.float64]:
        """Centres of the bins, `(bins,)`, float64, Å."""
        return self.axis("distance")["centre"].astype(np.float64, copy=False)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins, `(bins + 1,)`, float64, Å."""
        return self.axis("distance").bin_edges

    @property
    def g(self) -> NDArray[np.float64]:
        """The values, `(bins,)` or `(n_pairs, bins)`: 1 where the density is the mean density."""
        return self.values

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pairs in each bin over all frames, int64, in the shape of g."""
        return self.also["count"].astype(np.int64, copy=False)

    @property
    def n(self) -> NDArray[np.float64]:
        """Mean numbers of neighbours up to the outer edge of each bin, in the shape of g."""
        return self.also["n"].astype(np.float64, copy=False)

    @property
    def coordination(self) -> Table:
        """Mean numbers of neighbours up to distances, with their errors if there are any."""
        return self.parts["coordination"]

    @property
    def labels(self) -> tuple[str, ...] | tuple[tuple[str, str], ...]:
        """The two selections, or those of each pair, as text."""
        groups = next(iter(self.named_axes()), None)
        if groups is None:
            return self.selections[0], self.selections[-1]
        return tuple(zip(groups["first"].tolist(), groups["second"].tolist(), strict=True))

    @property
    def density(self) -> float | NDArray[np.float64]:
        """Mean number density of the second group, or of that of each pair, 1/Å³."""
        groups = next(iter(self.named_axes()), None)
        if groups is None:
            return self.number_density
        return groups["density"].astype(np.float64, copy=False)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw g of each pair against the distance; see `Table.plot`."""
        from trajet import plots

        return plots.over_bins(self, "r (Å)", "g(r)", level=1.0, ax=ax, look=look)

    def scalars(self) -> dict[str, object]:
        """Return the highest g of a single pair, its distance and the number of pairs."""
        if self.named_axes():
            return {}
        most = int(np.argmax(self.g))
        return {
            "n_pairs_counted": int(self.counts.sum()),
            "highest_g": float(self.g[most]),
            "highest_g_at_A": float(self.r[most]),
            "density_per_A3": self.number_density,
            "first_minimum_A": self.first_minimum,
            "first_minimum_half_width_A": self.first_minimum_half_width,
            "coordination_number": self.coordination_number,
            "coordination_number_half_width": self.coordination_half_width,
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the highest g of each pair, and its distance; see `Table.summary`."""
        is_one = not self.named_axes()
        names = [" - ".join(self.selections)] if is_one else self.columns
        g, counts = self._by_column(self.g)[:limit], self._by_column(self.counts)[:limit]
        rows, most = np.arange(len(g)), g.argmax(axis=1)
        widths = None if self.half_widths is None else self._by_column(self.half_widths)[rows, most]
        columns = (
            names_column("groups", names[:limit]),
            Column("pairs counted", counts.sum(axis=1)),
            *with_half_widths(Column("highest g", g[rows, most], ".3f"), widths),
            Column("at r (Å)", self.r[most], ".3f"),
            *(self._at_minimum() if is_one else ()),
        )
        return Summary("RDF" if is_one else f"{len(names)} RDFs", columns, len(names))

    def _at_minimum(self) -> Iterator[Column]:
        """Yield the columns of the first minimum, and of n up to there, if there is one."""
        if np.isfinite(self.first_minimum):
            for name, number, half in (
                ("first minimum (Å)", self.first_minimum, self.first_minimum_half_width),
                ("n to it", self.coordination_number, self.coordination_half_width),
            ):
                widths = np.array([half]) if np.isfinite(half) else None
                yield from with_half_widths(Column(name, [number], ".3f"), widths)

    def _table(self) -> Columns:
        # The columns of one pair after those of the other.
        distances, *columns = super()._table()
        n_pairs = len(self.columns)
        return [distances, *(one for k in range(n_pairs) for one in columns[k::n_pairs])]
