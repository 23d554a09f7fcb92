"""Base class of results with values per frame: means with their errors, and figures of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray

from trajet.result.result import Result
from trajet.result.summary import Column, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from trajet.plots import Look, Means
    from trajet.uncertainty.estimates import Discard
    from trajet.uncertainty.statistics import Statistics

_KINDS = ("convergence", "histogram")


class PerFrame(Result, is_base=True):
    """Values per frame, of one or several series.

    Subclasses have `_draw`, `_quantity`, `_labels` and `_sample_names`.
    """

    values: NDArray[np.float64]

    if TYPE_CHECKING:
        # Fields of dataclasses would take a property as their default.
        @property
        def times(self) -> NDArray[np.float64]:
            """Times of the frames, `(n_frames,)`, float64, ps."""

        @property
        def frames(self) -> NDArray[np.int64]:
            """Numbers of the frames, `(n_frames,)`, int64."""

    _HAS_TIMES: ClassVar[bool] = True
    # Period of the values, if they are on a circle.
    _PERIOD: ClassVar[float | None] = None

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        kind: Literal["convergence", "histogram"] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Figure": ...
    @overload
    def plot(
        self,
        ax: "Axes",
        *,
        kind: Literal["convergence", "histogram"] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Axes": ...
    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: Literal["convergence", "histogram"] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Figure | Axes":
        """Draw the result: against time, or as its class says; see `Result.plot`.

        Without `ax`, the distribution of the values is drawn beside series against time. Bands are
        95 % intervals of the means, hatched if these are not resolved.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        kind
            "convergence" draws means, their intervals and correlation times of the first part of
            the series against its length; "histogram" the distribution of the values. Both draw
            the first six series.
        label, color, smooth
            See `Result.plot`. `smooth` is of values against time: leave it out with `kind`.

        Raises
        ------
        ValueError
            If there is no such kind, or it is given with `smooth`; if there are other numbers of
            labels or colours than of series, or nothing to draw.

        Examples
        --------
        >>> figure = result.plot()
        >>> figure.savefig("rmsd.png")
        """
        if kind is not None and smooth is not None:
            raise ValueError(f"smooth is of values against time: leave it out with kind={kind!r}")
        look = self._look(label, color, smooth)
        drawn = self._draw(ax, look) if kind is None else self._draw_means(kind, ax, look)
        return drawn if ax is None else ax

    def _draw_means(
        self, kind: Literal["convergence", "histogram"], ax: "Axes | None", look: "Look"
    ) -> "Figure":
        """Draw how means converge, or the distribution of the values; see `plot`."""
        if kind not in _KINDS:
            raise ValueError(
                f"kind is one of {', '.join(map(repr, _KINDS))}, or None, not {kind!r}"
            )
        from trajet.result import drawn_means

        draw = drawn_means.convergence if kind == "convergence" else drawn_means.histogram
        return draw(
            self._samples().reshape(len(self.frames), len(self._sample_names())),
            self.times,
            self.frames,
            labels=tuple(self._labels()),
            quantity=self._quantity(),
            period=self._PERIOD,
            ax=ax,
            look=look,
        )

    def statistics(self, *, discard: "Discard" = None) -> "Statistics":
        """Return the mean of each series with its error, correlation time and 95 % interval.

        See `trajet.statistics` and docs/statistics.md. Where values are not finite or times are not
        even, the reason says so.

        Parameters
        ----------
        discard
            Time to leave out at the beginning of the simulation, ps; "auto" leaves out what MSER
            suggests. Frames that go backwards are cut at their end.

        Examples
        --------
        >>> stats = result.statistics()
        >>> f"{stats.correlation_time:.0f} {stats.time_unit}", stats.reason
        ('17 ps', '2.85 effective frames are fewer than 20')
        """
        return self._statistics_of(self._samples(), discard)

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each series with its error; see `Result.mean_errors`."""
        from trajet.result.mean_errors import table_of_errors

        return table_of_errors(self.statistics(), self._sample_names())

    def _samples(self) -> NDArray[np.float64]:
        """Return the values whose means have errors."""
        return self.values

    def _quantity(self) -> str:
        """Return name and unit of the values, as on the axis of a figure."""
        raise NotImplementedError

    def _labels(self) -> list[str]:
        """Return the name of each series in figures."""
        raise NotImplementedError

    def _means(self) -> "Means":
        """Return the means of the series, for figures."""
        from trajet.result import drawn_means

        return drawn_means.means_of(self.statistics())

    def _sample_names(self) -> list[str]:
        """Return the name of each series in files."""
        raise NotImplementedError

    def _statistics_of(
        self, values: NDArray[np.float64], discard: "Discard" = None
    ) -> "Statistics":
        """Return the statistics of values of the frames of this result."""
        from trajet.uncertainty.even_times import clock_of
        from trajet.uncertainty.statistics import statistics_of_frames

        clock = clock_of(self.times, self.frames)
        if discard not in (None, "auto") and clock.unit != "ps":
            raise ValueError(
                f"discard is a time in ps, and {clock.remark or 'the times of frames are unknown'}:"
                " choose frames with frames= instead"
            )
        return statistics_of_frames(
            values, clock, self.frames, discard=discard, period=self._PERIOD
        )

    def _summed_up(
        self,
        values: NDArray[np.float64],
        names: Column,
        *,
        form: str,
        title: str,
        count: int,
        unit: str,
    ) -> Summary:
        """Return a summary with statistics of `(n_frames, n_series)` values, as far as shown."""
        from trajet.result.mean_errors import with_errors

        texts = list(map(str, names.values))
        some = values[:, : len(texts)]
        stats = self._statistics_of(some)
        columns, lines = with_errors(some, stats, form=form, names=texts, unit=unit)
        return Summary(title, (names, *columns), count, lines)
