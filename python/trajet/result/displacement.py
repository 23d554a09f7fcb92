"""Results with mean squared displacements and diffusion coefficients."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet.digits import in_digits
from trajet.messages import Code, Message
from trajet.quoting import quoted
from trajet.result.columns import names_column
from trajet.result.displacement_errors import Errors, errors_of_blocks, errors_of_groups
from trajet.result.summary import Column, Summary
from trajet.result.table import Table
from trajet.uncertainty.statistics import with_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look

# 1 Å²/ps in cm²/s.
CM2_PER_S = 1e-4
# The range of lags that is fitted by default, in parts of the longest lag.
DEFAULT_FIT = (0.1, 0.5)
# An MSD whose exponent differs by more from 1 is not that of free diffusion.
_DIFFUSIVE = 0.2
# The fewest lags to which a line is fitted without a message.
_FEWEST_LAGS = 4


class Diffusion(NamedTuple):
    """A diffusion coefficient: the slope of a line through an MSD, divided by twice its axes.

    Attributes
    ----------
    first, last
        The shortest and the longest fitted lag, ps.
    coefficient, error, half_width
        The coefficient, its standard error and the longer side of its 95 % interval, Å²/ps.
    reason
        Why the error is not resolved; an empty text if it is.
    intercept
        The line at lag 0, Å².
    exponent
        The slope of the logarithm of the MSD against that of the lag: 1 for free diffusion, below 1
        for hindered and 2 for uniform motion.
    """

    first: float
    last: float
    coefficient: float
    error: float
    intercept: float
    exponent: float
    half_width: float
    reason: str


@dataclass(frozen=True, repr=False)
class MeanSquaredDisplacement(Table):
    """Mean squared displacement against lag time, with a diffusion coefficient.

    The coefficient is the slope of the straight line through the MSD by least squares with equal
    weights, over the lags from `fit_first` to `fit_last`, divided by twice the number of axes.

    Errors of the MSD at each lag and of the coefficient are standard errors of those of `groups`,
    which are taken as independent. Of fewer than five particles, they are those of `blocks` of time
    origins, one after the other, by the estimator of `trajet.statistics`; they are not resolved at
    lags of which the trajectory has few windows, which a message in `report` says.

    CSV files have the columns lag_ps, msd_A2, n_windows, standard_error_A2 and half_width_95_A2.

    `values` are `(n_lags,)`, float64, Å²: means over all particles and pairs of frames at that lag.
    The part "groups" has those of groups of consecutive particles, at most 20; "blocks" those of 64
    to 127 blocks of time origins (fewer of a trajectory of fewer frames), of up to four particles.

    Attributes
    ----------
    directions
        The axes along which displacements are measured, such as "xyz" or "z".
    particles
        Kind of the particles: "atom", "residue", "molecule" or "chain".
    fit_first, fit_last
        Range of the fit, ps; NaN if it has fewer than two lags.
    diffusion, diffusion_error, diffusion_half_width
        Diffusion coefficient, its error and half of its 95 % interval, Å²/ps; NaN without a fit.
    intercept
        The fitted line at lag 0, Å².
    exponent
        The slope of log MSD against log lag in that range: 1 for free diffusion.
    """

    directions: str = ""
    particles: str = ""
    fit_first: float = float("nan")
    fit_last: float = float("nan")
    diffusion: float = float("nan")
    diffusion_error: float = float("nan")
    intercept: float = float("nan")
    exponent: float = float("nan")
    diffusion_half_width: float = float("nan")

    AXES: ClassVar[tuple[tuple[str, ...], ...]] = (("lag",),)
    ALSO: ClassVar[tuple[str, ...]] = ("n_windows",)
    TABLES: ClassVar[tuple[str, ...]] = ("groups",)
    _HAS_MEAN: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, part in self.parts.items():
            if [one.kind for one in part.axes] != ["lag", "parts"] or not np.array_equal(
                part.axes[0]["time"], self.lags
            ):
                raise ValueError(f"{name} have other lags")
        groups = self.parts.get("groups")
        if groups is None or groups.axes[1].get("size") is None:
            raise ValueError("there are no groups of particles with sizes")
        if not self.directions or len({*self.directions} & {*"xyz"}) < len(self.directions):
            raise ValueError(f"directions are some of x, y and z, not {self.directions!r}")
        if self.also["n_windows"].dtype.kind not in "iu":
            raise ValueError("n_windows are no counts")

    @property
    def lags(self) -> NDArray[np.float64]:
        """The lags, from 0, `(n_lags,)`, float64, ps."""
        return self._column("lag", "time").astype(np.float64, copy=False)

    @property
    def windows(self) -> NDArray[np.int64]:
        """Pairs of frames of each particle at each lag, `(n_lags,)`, int64."""
        return self.also["n_windows"].astype(np.int64, copy=False)

    @property
    def groups(self) -> NDArray[np.float64]:
        """Means over groups of particles, `(n_lags, n_groups)`, float64, Å²."""
        groups: NDArray[np.float64] = self.parts["groups"].values
        return groups

    @property
    def group_sizes(self) -> NDArray[np.int64]:
        """Particles of each group, `(n_groups,)`, int64."""
        return self.parts["groups"].axes[1]["size"].astype(np.int64, copy=False)

    @property
    def blocks(self) -> NDArray[np.float64] | None:
        """Means over blocks of time origins, `(n_lags, n_blocks)`, float64, Å².

        NaN for blocks of which an origin has no frame at that lag; None of five particles or more.
        """
        blocks = self.parts.get("blocks")
        return None if blocks is None else blocks.values

    @property
    def n_particles(self) -> int:
        """Number of particles."""
        return int(self.group_sizes.sum())

    @property
    def diffusion_cm2_per_s(self) -> float:
        """Diffusion coefficient, cm²/s."""
        return self.diffusion * CM2_PER_S

    @property
    def diffusion_error_cm2_per_s(self) -> float:
        """Error of the diffusion coefficient, cm²/s."""
        return self.diffusion_error * CM2_PER_S

    @property
    def diffusion_half_width_cm2_per_s(self) -> float:
        """Half of the 95 % interval of the diffusion coefficient, cm²/s."""
        return self.diffusion_half_width * CM2_PER_S

    def fit(self, first: float, last: float) -> "MeanSquaredDisplacement":
        """Return the same MSD with the diffusion coefficient of another range of lags.

        Parameters
        ----------
        first, last
            Shortest and longest lag of the fit, ps.

        Raises
        ------
        ValueError
            If there are fewer than two lags in the range, or it ends beyond the longest lag.

        Examples
        --------
        >>> msd = tj.msd(water, by="molecule")  # doctest: +SKIP
        >>> msd.fit(20, 80).diffusion_cm2_per_s  # doctest: +SKIP
        2.35e-05
        """
        n_axes, blocks = len(self.directions), self.blocks
        fit = partial(diffusion, self.lags, self.groups, self.group_sizes, n_axes, blocks=blocks)
        found = fit(fit=(first, last))
        # A slice may lack the lags of the fit before.
        is_fitted = len(_within(self.lags, self.fit_first, self.fit_last)) > 1
        is_fitted &= self.fit_last <= self.lags.max(initial=0.0)
        before = fit(fit=(self.fit_first, self.fit_last) if is_fitted else None)
        of_before = fit_messages(before, self.lags)
        kept = [one for one in self.messages if one not in of_before]
        fitted = replace(
            self,
            fit_first=found.first,
            fit_last=found.last,
            diffusion=found.coefficient,
            diffusion_error=found.error,
            intercept=found.intercept,
            exponent=found.exponent,
            diffusion_half_width=found.half_width,
            report=self.report.changed(
                messages=[*kept, *fit_messages(found, self.lags)],
                parameters={"fit_range": [found.first, found.last]},
            ),
        )
        fitted.report.record_scalars(fitted.scalars())
        return fitted

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the MSD and the fitted line on logarithmic axes; see `Table.plot`."""
        from trajet import plots

        return plots.displacement(
            self,
            self.lags,
            fit=(self.fit_first, self.fit_last),
            line=(self.intercept, 2 * len(self.directions) * self.diffusion),
            legend=f"fit, {plots.unbroken(f'D = {self._coefficient()}')}",
            ax=ax,
            look=look,
        )

    def _moving(self) -> str:
        n = self.n_particles
        return f"{n} {self.particles}{'' if n == 1 else 's'}"

    @property
    def error_is(self) -> str:
        """Meaning of the errors, in words."""
        if self.blocks is not None:
            return f"from {self.blocks.shape[1]} blocks of time origins"
        n = self.groups.shape[1]
        return f"from {n} groups of particles" if n > 1 else "unknown"

    def _coefficient(self) -> str:
        """Return the diffusion coefficient with its error as text."""
        if np.isnan(self.diffusion):
            return "not fitted"
        return with_error(self.diffusion_cm2_per_s, self.diffusion_half_width_cm2_per_s, "cm²/s")

    def _about(self) -> str:
        return (
            f"MSD of {quoted(self.selections[0])} along {self.directions}, {self._moving()},"
            f" {len(self.lags)} lags, D {self._coefficient()}"
        )

    def scalars(self) -> dict[str, object]:
        """Return diffusion coefficient, exponent and fit; see `Table.scalars`."""
        return {
            "diffusion_A2_per_ps": self.diffusion,
            "diffusion_error_A2_per_ps": self.diffusion_error,
            "diffusion_cm2_per_s": self.diffusion_cm2_per_s,
            "diffusion_error_cm2_per_s": self.diffusion_error_cm2_per_s,
            "diffusion_half_width_95_A2_per_ps": self.diffusion_half_width,
            "diffusion_half_width_95_cm2_per_s": self.diffusion_half_width_cm2_per_s,
            "diffusion_error_is": self.error_is,
            "intercept_A2": self.intercept,
            "exponent": self.exponent,
            "fit_first_ps": self.fit_first,
            "fit_last_ps": self.fit_last,
            "n_particles": self.n_particles,
        }

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the diffusion coefficient, its error and the fit; see `Table.summary`."""
        columns = (
            names_column("selection", [self.selections[0]]),
            Column(f"{self.particles}s", [self.n_particles]),
            Column("D (1e-5 cm²/s)", [self.diffusion_cm2_per_s * 1e5], ".4f"),
            Column("± 95 %", [self.diffusion_half_width_cm2_per_s * 1e5], ".4f"),
            Column("± is", [self.error_is]),
            Column("fit (ps)", [f"{in_digits(self.fit_first)} - {in_digits(self.fit_last)}"]),
            Column("exponent", [self.exponent], ".2f"),
        )
        return Summary(f"MSD along {self.directions}", columns, 1)


def range_of_fit(
    lags: NDArray[np.float64], fit: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the range of the fit, ps; None if it is not given, and the default has too few lags.

    Raises
    ------
    ValueError
        If there are fewer than two lags in the given range, or it ends beyond the longest lag.
    """
    longest = float(lags.max(initial=0.0))
    first, last = (part * longest for part in DEFAULT_FIT) if fit is None else map(float, fit)
    step = float(lags[1] - lags[0]) if len(lags) > 1 else 0.0
    # The longest lag is a whole number of steps.
    if last >= longest + step > 0:
        raise ValueError(
            f"a fit from {in_digits(first)} to {in_digits(last)} ps ends beyond the longest lag,"
            f" {in_digits(longest)} ps: choose a shorter fit_range, or a longer max_lag"
        )
    if len(_within(lags, first, last)) > 1:
        return first, last
    if fit is None:
        return None
    raise ValueError(
        f"a fit from {in_digits(first)} to {in_digits(last)} ps has fewer than two lags: lags go"
        f" from 0 to {in_digits(longest)} ps in steps of {in_digits(step)} ps"
    )


def errors_of(
    groups: NDArray[np.float64], sizes: NDArray[np.int64], blocks: NDArray[np.float64] | None
) -> Errors:
    """Return errors from blocks of time origins, or without these from groups of particles.

    Parameters
    ----------
    groups, blocks
        `(n_numbers, n_groups)` and `(n_numbers, n_blocks)`.
    sizes
        `(n_groups,)`, particles of the groups.
    """
    return errors_of_groups(groups, sizes) if blocks is None else errors_of_blocks(blocks)


def diffusion(
    lags: NDArray[np.float64],
    groups: NDArray[np.float64],
    sizes: NDArray[np.int64],
    n_axes: int,
    fit: tuple[float, float] | None,
    blocks: NDArray[np.float64] | None = None,
) -> Diffusion:
    """Return the diffusion coefficient of the MSDs `groups`, `(n_lags, n_groups)`, Å².

    All numbers are NaN if `fit` is None and the default range has fewer than two lags.
    """
    where = range_of_fit(lags, fit)
    if where is None:
        nan = float("nan")
        return Diffusion(nan, nan, nan, nan, nan, nan, nan, "")
    chosen = _within(lags, *where)
    x, all_y = lags[chosen], groups[chosen]
    weights = sizes / sizes.sum()
    y = all_y @ weights
    slopes = _slopes(x, all_y) / (2 * n_axes)
    coefficient = float(slopes @ weights)
    of_blocks = None
    if blocks is not None:
        # Blocks of which every lag of the fit is known.
        of_blocks = (_slopes(x, blocks[chosen]) / (2 * n_axes))[np.newaxis]
    errors = errors_of(slopes[np.newaxis], sizes, of_blocks)
    above = (x > 0) & (y > 0)
    exponent = float("nan")
    if above.sum() > 1:
        exponent = float(_slopes(np.log(x[above]), np.log(y[above])[:, np.newaxis])[0])
    intercept = float(y.mean() - coefficient * 2 * n_axes * x.mean())
    return Diffusion(
        first=float(x[0]),
        last=float(x[-1]),
        coefficient=coefficient,
        error=float(errors.standard_errors[0]),
        intercept=intercept,
        exponent=exponent,
        half_width=float(errors.half_widths[0]),
        reason=errors.reasons[0],
    )


def _within(lags: NDArray[np.float64], first: float, last: float) -> NDArray[np.int64]:
    """Return the numbers of the lags in a range, whose ends may be rounded."""
    slack = 1e-6 * float(lags.max(initial=0.0))
    return np.flatnonzero((lags >= first - slack) & (lags <= last + slack))


def _slopes(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes of straight lines through `(n,)` and each column of `(n, k)`."""
    centred = x - x.mean()
    slopes: NDArray[np.float64] = (centred[:, np.newaxis] * y).sum(axis=0) / (centred**2).sum()
    return slopes


def fit_messages(
    found: Diffusion, lags: NDArray[np.float64], fitted: str = "the diffusion coefficient"
) -> list[Message]:
    """Return messages if the fitted part of the MSD is short, or not that of free diffusion.

    `fitted` is what follows from the slope.
    """
    if np.isnan(found.coefficient):
        return [
            Message(
                Code.FIT,
                f"{fitted} is not fitted: there are too few lags",
                "choose more frames",
            )
        ]
    few = []
    n_fitted = int(((lags >= found.first) & (lags <= found.last)).sum())
    if n_fitted < _FEWEST_LAGS:
        few = [
            Message(
                Code.FIT,
                f"{fitted} is fitted to {n_fitted} lags, and its error says little",
                "choose more frames, or a longer fit_range=",
            )
        ]
    if found.reason:
        few.append(
            Message(
                Code.NOT_RESOLVED,
                f"the error of {fitted} is not resolved: {found.reason}",
                "choose a shorter fit_range=, or a longer trajectory",
            )
        )
    if not abs(found.exponent - 1) > _DIFFUSIVE:
        return few
    return [
        *few,
        Message(
            Code.FIT,
            f"the MSD grows with the power {found.exponent:.2f} of the lag from"
            f" {in_digits(found.first)} to {in_digits(found.last)} ps, and not in proportion to"
            f" it: {fitted} means little",
            "choose another range with fit_range=, or a longer trajectory",
        ),
    ]
