"""Results with lifetimes: correlation functions and dwell times of members that come and go."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.result.columns import Part, count_of_frames
from trajet.result.summary import Summary, mean_and_spread
from trajet.result.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

# The correlation functions, in the order of the columns.
FUNCTIONS = ("intermittent", "continuous", "continuous_mean_of_ratios")


@dataclass(frozen=True, repr=False)
class Lifetimes(Table):
    """Correlation functions of members that come and go, such as bonds, and lifetimes from them.

    `values` are `(n_lags, 3)`, float64: the intermittent and the continuous correlation, and the
    continuous one as a mean of ratios. `also["n_starts"]`, int64, has what each is divided by:
    members in all start frames, or start frames with any member. CSV files have one row per lag.
    Lifetimes are NaN in a slice whose lags do not begin at 0 and ascend.

    Attributes
    ----------
    intermittency
        Longest gap, in frames, that does not end a membership in the continuous correlations.
    """

    intermittency: int = 0

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("time", "groups"),)
    ALSO: ClassVar[tuple[str, ...]] = ("n_starts",)

    @property
    def times(self) -> NDArray[np.float64]:
        """The lags, from 0 on, `(n_lags,)`, float64, ps."""
        return self._column("time", "time").astype(np.float64, copy=False)

    @property
    def intermittent(self) -> NDArray[np.float64]:
        """Fraction of the members of a frame that are members after the lag, `(n_lags,)`.

        Whatever happens between. NaN without any member.
        """
        return self.values[:, 0]

    @property
    def continuous(self) -> NDArray[np.float64]:
        """Fraction of these that are members throughout the lag, `(n_lags,)`, float64."""
        return self.values[:, 1]

    @property
    def continuous_mean_of_ratios(self) -> NDArray[np.float64]:
        """Mean over frames of the fraction of their members that stay, `(n_lags,)`, float64.

        As MDAnalysis' `SurvivalProbability` computes it: each frame with members counts the same.
        """
        return self.values[:, 2]

    @property
    def n_starts(self) -> NDArray[np.int64]:
        """What each function is divided by, `(n_lags, 3)`, int64."""
        return self.also["n_starts"].astype(np.int64, copy=False)

    @property
    def intermittent_lifetime(self) -> float:
        """Integral of the intermittent correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.intermittent)

    @property
    def continuous_lifetime(self) -> float:
        """Integral of the continuous correlation up to the largest lag, ps, by trapezoids."""
        return self._integral(self.continuous)

    def scalars(self) -> dict[str, object]:
        """Return both lifetimes and the longest lag; see `Table.scalars`."""
        return {
            "intermittent_lifetime_ps": self.intermittent_lifetime,
            "continuous_lifetime_ps": self.continuous_lifetime,
            "longest_lag_ps": float(self.times[-1]) if len(self.times) else float("nan"),
        }

    def _integral(self, values: NDArray[np.float64]) -> float:
        # Without the first lags, or in another order, it is not the integral from 0.
        if not len(self) or self.times[0] != 0 or (np.diff(self.times) <= 0).any():
            return float("nan")
        return float(((values[1:] + values[:-1]) / 2 * np.diff(self.times)).sum())

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw both ratios of sums against the lag."""
        from trajet import plots

        return plots.correlations(self.times, self.curves, ax, look)

    @property
    def curves(self) -> dict[str, NDArray[np.float64]]:
        """The correlation functions that are drawn, by names with their lifetimes."""
        intermittent, continuous = self._lifetime_texts()
        return {
            f"intermittent, {intermittent} ps": self.intermittent,
            f"continuous, {continuous} ps": self.continuous,
        }

    def _lifetime_texts(self) -> tuple[str, str]:
        """Return both lifetimes with three digits."""
        return (
            in_digits(self.intermittent_lifetime, significant=3),
            in_digits(self.continuous_lifetime, significant=3),
        )

    def line(self) -> str:
        """Return both lifetimes as a line of a summary."""
        intermittent, continuous = self._lifetime_texts()
        return (
            f"lifetimes: {intermittent} ps (intermittent), {continuous} ps (continuous), of lags up"
            f" to {in_digits(self.times[-1])} ps"
        )

    def _about(self) -> str:
        intermittent, continuous = self._lifetime_texts()
        return (
            f"lifetimes, {intermittent} ps (intermittent) and {continuous} ps (continuous),"
            f" {len(self.times)} lags"
        )

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each function in the header of a CSV file, or of its starts."""
        return [*self.columns] if quantity is None else super().names(quantity, units)


@dataclass(frozen=True, repr=False)
class DwellTimes(Table):
    """How long members stay: the rate at which they leave, and the distribution of dwell times.

    A run of frames with a member is cut where the trajectory begins or ends. `values` are
    `(n_ages,)`, float64: the fraction of the runs that begin inside that last longer than each age,
    by the estimator of Kaplan and Meier; NaN beyond the longest. `also["at_risk"]`, int64, has the
    number of these runs of which it is known whether they reach each age, and `also["exits"]` the
    number of those that end with it. CSV files have one row per age.

    Attributes
    ----------
    rate
        k = -log(1 - p) / Δt, 1/ps: p is the number of exits per frame at risk, of all runs; NaN
        without frames at risk.
    rate_low, rate_high
        Ends of its 95 % interval, 1/ps.
    n_at_risk, n_exits
        Frames after which it is known whether the member stays, and those after which it leaves.
    n_inside, n_cut_at_begin, n_cut_at_end, n_cut_at_both
        Numbers of runs that begin and end inside of the trajectory, and that its ends cut.
    design_effect
        The variance of the number of exits, by frames or by members, whichever is larger, as a
        multiple of that of independent exits; at least 1.
    intermittency
        Longest gap, in frames, that does not end a run.
    """

    rate: float = 0.0
    rate_low: float = 0.0
    rate_high: float = 0.0
    n_at_risk: int = 0
    n_exits: int = 0
    n_inside: int = 0
    n_cut_at_begin: int = 0
    n_cut_at_end: int = 0
    n_cut_at_both: int = 0
    design_effect: float = 1.0
    intermittency: int = 0

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("time",),)
    ALSO: ClassVar[tuple[str, ...]] = ("at_risk", "exits")

    @property
    def times(self) -> NDArray[np.float64]:
        """The ages, from 0 on, `(n_ages,)`, float64, ps."""
        return self._column("time", "time").astype(np.float64, copy=False)

    @property
    def at_risk(self) -> NDArray[np.int64]:
        """Runs of which it is known whether they reach each age, `(n_ages,)`, int64."""
        return self.also["at_risk"].astype(np.int64, copy=False)

    @property
    def exits(self) -> NDArray[np.int64]:
        """Runs that end with each age, `(n_ages,)`, int64."""
        return self.also["exits"].astype(np.int64, copy=False)

    @property
    def mean(self) -> float:
        """Mean dwell time, 1 / rate, ps; infinite without an exit."""
        return _inverse(self.rate)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean dwell time, ps."""
        return _inverse(self.rate_high), _inverse(self.rate_low)

    @property
    def median(self) -> float:
        """Age that half of the runs do not reach, by `values`, ps; NaN if more do."""
        below = self.times[self.values <= 0.5]
        return float(below[0]) if len(below) else float("nan")

    @property
    def n_runs(self) -> int:
        """Number of all runs."""
        return self.n_inside + self.n_cut_at_begin + self.n_cut_at_end + self.n_cut_at_both

    def scalars(self) -> dict[str, object]:
        """Return rate, dwell times and numbers of runs; see `Table.scalars`."""
        return {
            "exit_rate_per_ps": self.rate,
            "exit_rate_low_per_ps": self.rate_low,
            "exit_rate_high_per_ps": self.rate_high,
            "mean_dwell_time_ps": self.mean,
            "median_dwell_time_ps": self.median,
            "n_exits": self.n_exits,
            "n_runs": self.n_runs,
            "n_runs_cut": self.n_runs - self.n_inside,
        }

    def line(self) -> str:
        """Return the mean dwell time, its interval, and the numbers of runs as a line."""
        mean, low, high = (in_digits(t, significant=3) for t in (self.mean, *self.interval))
        return (
            f"dwell time: {mean} ps (95 %: {low} to {high} ps), of {self.n_exits} exits;"
            f" {self.n_runs - self.n_inside} of {self.n_runs} runs are cut at the ends"
        )

    def _check_look(self, look: "Look", kind: str | None) -> None:
        # The rate has an interval, unlike the values.
        super()._check_look(replace(look, band=None), kind)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the distribution, and that of the rate with its interval."""
        from trajet import plots

        rates = (self.rate, self.rate_low, self.rate_high)
        return plots.dwell_times(self.times, self.values, rates, ax, look)

    def _about(self) -> str:
        return self.line()


def _inverse(rate: float) -> float:
    """Return the time of a rate; infinite for 0."""
    return 1 / rate if rate else math.inf


@dataclass(frozen=True, repr=False)
class WithLifetimes(Table, is_base=True):
    """A result with the parts `lifetimes` and `dwell_times`, which a slice of some rows lacks."""

    LASTING: ClassVar[Mapping[str, type[Table]]] = {
        "lifetimes": Lifetimes,
        "dwell_times": DwellTimes,
    }
    CLASSES: ClassVar[Mapping[str, type[Table]]] = LASTING
    PARTS: ClassVar[Mapping[str, Part]] = {
        "lifetimes": Part("the correlation functions of the pairs", needs="lifetimes"),
        "dwell_times": Part("the distribution of their dwell times", needs="lifetimes"),
    }

    @property
    def lifetimes(self) -> Lifetimes | None:
        """Correlation functions and lifetimes.

        None unless they were asked for, and in a slice of some rows.
        """
        return cast(Lifetimes | None, self.parts.get("lifetimes"))

    @property
    def dwell_times(self) -> DwellTimes | None:
        """Rate and distribution of dwell times; None where `lifetimes` is."""
        return cast(DwellTimes | None, self.parts.get("dwell_times"))

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        every = np.arange(len(self))
        if np.array_equal(every[chosen], every):
            return super()._of_rows(chosen)
        parts = {name: part for name, part in self.parts.items() if name not in self.LASTING}
        return super(WithLifetimes, replace(self, parts=parts))._of_rows(chosen)

    def _lasting(self) -> list[Lifetimes | DwellTimes]:
        """Return both parts, or none."""
        return [part for part in (self.lifetimes, self.dwell_times) if part is not None]

    def scalars(self) -> dict[str, object]:
        """Return the numbers of both parts; see `Table.scalars`."""
        return {name: value for part in self._lasting() for name, value in part.scalars().items()}

    def _summary(self, limit: int | None = None) -> Summary:
        summary = super()._summary(limit)
        lines = tuple([part.line() for part in self._lasting()])
        return replace(summary, lines=(*summary.lines, *lines))


@dataclass(frozen=True, repr=False)
class Contacts(WithLifetimes):
    """The number of contacts in each frame, on request with the lifetimes of the pairs.

    `values` are `(n_frames,)`, float64 holding integers.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)


@dataclass(frozen=True, repr=False)
class Survival(WithLifetimes):
    """The number of members of an updating selection in each frame, and how long they stay.

    `values` are `(n_frames,)`, float64 holding integers: atoms or residues.
    """

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("frames",),)
    PARTS: ClassVar[Mapping[str, Part]] = {
        "lifetimes": Part("the correlation functions of the members"),
        "dwell_times": Part("the distribution of their dwell times"),
    }

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the correlation functions, or in a slice the number of members against time."""
        return super()._draw(ax, look) if self.lifetimes is None else self.lifetimes._draw(ax, look)

    def _check_look(self, look: "Look", kind: str | None) -> None:
        if kind is None and self.lifetimes is not None:
            self.lifetimes._check_look(look, kind)
        else:
            super()._check_look(look, kind)

    def _about(self) -> str:
        mean = f", {mean_and_spread(self.values)[0]:.1f} a frame" if len(self.values) else ""
        return f"members of {count_of_frames(self.frames)}{mean}"
