"""Correlation functions and dwell times of pairs of several kinds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet.result.axes import named
from trajet.result.lifetimes import DwellTimes, Lifetimes
from trajet.result.summary import Summary
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

_Part = TypeVar("_Part", Lifetimes, DwellTimes)


@dataclass(frozen=True, repr=False)
class _ByKind(Table, is_base=True):
    """Tables of kinds in one, whose fields are columns of the axis of kinds."""

    @classmethod
    def of(cls, tables: Mapping[str, Table]) -> Self:
        """Return the table of some kinds, given that of each."""
        every = [*tables.values()]
        first = every[0]
        fields = {k: np.array([getattr(one, k) for one in every]) for k in first.own_fields()}
        return cls(
            np.stack([one.values for one in every], axis=1),
            (first.axes[0], named("kinds", [*tables], **fields), *first.axes[1:]),
            *(first.name, first.units, first.selections, first.report),
            also={k: np.stack([one.also[k] for one in every], axis=1) for k in first.also},
        )

    @property
    def times(self) -> NDArray[np.float64]:
        """Lags or ages, from 0 on, `(n,)`, float64, ps."""
        return self._column("time", "time").astype(np.float64, copy=False)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds."""
        return tuple(self.axes[1]["label"].tolist())

    def of_kind(self, kind: str) -> Lifetimes | DwellTimes:
        """Return the table of one kind; ValueError if there is no such kind."""
        raise NotImplementedError

    def _part(self, kind: str, made: type[_Part]) -> _Part:
        """Return the table of one kind."""
        k, axis = self.kinds.index(kind), self.axes[1]
        return made(
            self.values[:, k],
            (self.axes[0], *self.axes[2:]),
            *(self.name, self.units, self.selections, self.report),
            also={name: array[:, k] for name, array in self.also.items()},
            **{name: axis[name][k].item() for name in made.own_fields()},
        )

    def scalars(self) -> dict[str, object]:
        """Return the scalars of each kind, named `KIND_NAME`; see `Table.scalars`."""
        return {
            f"{kind.replace('-', '_')}_{name}": value
            for kind in self.kinds
            for name, value in self.of_kind(kind).scalars().items()
        }

    def lines(self) -> list[str]:
        """Return a line of a summary for each kind that has pairs."""
        return [f"{kind} {self.of_kind(kind).line()}" for kind in self._curves()]

    def _summary(self, limit: int | None = None) -> Summary:
        return Summary(self.name, lines=tuple(self.lines()))

    def _curves(self) -> dict[str, NDArray[np.float64]]:
        """Return the first function of each kind that has one."""
        first = self.values if self.values.ndim == 2 else self.values[:, :, 0]
        curves = dict(zip(self.kinds, first.T, strict=True))
        return {kind: curve for kind, curve in curves.items() if np.isfinite(curve).any()}

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the first function of each kind that has pairs."""
        from trajet import plots

        return plots.correlations(self.times, self._curves(), ax, look, self.name)


@dataclass(frozen=True, repr=False)
class InteractionLifetimes(_ByKind):
    """Correlation functions of the pairs of each kind of interaction.

    `values` are `(n_lags, n_kinds, 3)`, float64: the functions of `Lifetimes`, NaN for kinds
    without pairs. Figures have the intermittent ones.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("time", "kinds", "groups"),)
    ALSO: ClassVar[tuple[str, ...]] = Lifetimes.ALSO

    def of_kind(self, kind: str) -> Lifetimes:
        """Return the functions and lifetimes of one kind; ValueError if there is no such kind."""
        return self._part(kind, Lifetimes)


@dataclass(frozen=True, repr=False)
class InteractionDwellTimes(_ByKind):
    """How long the pairs of each kind of interaction stay.

    `values` are `(n_ages, n_kinds)`, float64: those of `DwellTimes`, NaN for kinds without pairs.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("time", "kinds"),)
    ALSO: ClassVar[tuple[str, ...]] = DwellTimes.ALSO

    def of_kind(self, kind: str) -> DwellTimes:
        """Return rate and distribution of one kind; ValueError if there is no such kind."""
        return self._part(kind, DwellTimes)


# The parts of a result.
LASTING: Mapping[str, type[_ByKind]] = {
    "lifetimes": InteractionLifetimes,
    "dwell_times": InteractionDwellTimes,
}
