"""`Table`: values with an `Axis` for each dimension, which tells its places apart."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import islice, product
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import (
    IO,
    TYPE_CHECKING,
    ClassVar,
    Literal,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    overload,
)

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trajet import output
from trajet._trajet import MissingPackageError
from trajet.digits import ROUNDING, decimals_within
from trajet.hints import Hinted, with_hints
from trajet.messages import Message, Messages, emit, in_figures, repr_of
from trajet.quoting import quoted
from trajet.result.axes import Axis
from trajet.result.columns import (
    AT_ONCE,
    SUFFIXES,
    Columns,
    Part,
    column_name,
    count_of_frames,
    names_column,
    write_csv,
)
from trajet.result.frame_masks import FrameMask
from trajet.result.joining import HasFrameTimes, rows_at
from trajet.result.report import Report, analysis_of
from trajet.result.scalars import Scalar, scalars_of, summary_of, texts_of
from trajet.result.summary import Column, Summary, with_half_widths
from trajet.result.times import shortest_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import FigureSize, Look, Means
    from trajet.uncertainty.estimates import Discard
    from trajet.uncertainty.statistics import Statistics


_T = TypeVar("_T", bound=np.generic)
_R = TypeVar("_R")

# Main values of a row of a result.
Row: TypeAlias = "np.generic | NDArray[np.generic]"

_KINDS = ("convergence", "histogram")
# Most numbers of which statistics are shown.
_MAX_SHOWN = 10**7
# Share of the largest value below which an extreme is shown as 0.
_NEGLIGIBLE = 1e-12

# All classes of results by name, from which `load` takes the one that a file names.
RESULTS: "dict[str, type[Table]]" = {}


@dataclass(frozen=True, repr=False)
class Table(Messages, Hinted):
    """Values with an axis for each dimension: frames, series, atoms, residues, pairs.

    All results are tables, or subclasses with methods of their own. A result is a sequence of rows:
    `len(result)`, `for row in result`, `result[5]`, and `result[10:20]`, which is a result of those
    rows. `np.asarray(result)` has its values. It can be drawn, saved and loaded.

    CSV files have a row for each place of the first axis, with its columns, such as frame and
    time_ps, and a column for each place of the named axes, such as `rmsd_A:name_CA`.

    Attributes
    ----------
    values
        As many dimensions as axes; `units`. Other types than float64 where a subclass says so.
    axes
        What the places along each dimension are; see `Axis`.
    name, units
        Name of the computed quantity, and its unit.
    selections
        The selections that the values are of, as text.
    report
        Timings and counters of the run.
    label
        Name of the only series in the headers of files; empty if it is the selection.
    standard_errors, half_widths
        In the shape of the values, `units`: standard errors, and longer sides of 95 % intervals;
        None if they were not asked for.
    resolved
        In the shape of the values, bool: whether the run is long enough to trust the interval; None
        without errors.
    also
        Further arrays in the shape of the values, such as counts, by name.
    parts
        Further tables with axes of their own, by name.

    Subclasses are frozen dataclasses with `repr=False`. They may have further fields: numbers,
    texts, or tuples of texts, with a default. Fields whose metadata have `is_saved=False` are not
    in files.
    """

    values: NDArray[np.float64]
    axes: tuple[Axis, ...]
    name: str
    units: str
    selections: tuple[str, ...]
    report: Report
    label: str = ""
    standard_errors: NDArray[np.float64] | None = None
    half_widths: NDArray[np.float64] | None = None
    resolved: NDArray[np.bool_] | None = None
    also: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    parts: "Mapping[str, Table]" = field(default_factory=dict)

    # The parts that have files of their own, and the one that has all rows of the summary's table;
    # None if the files of the result have them.
    PARTS: ClassVar[Mapping[str, Part]] = MappingProxyType({})
    TABLE_PART: ClassVar[str | None] = None
    # Whether the mean of all main values means something: not for angles.
    _HAS_MEAN: ClassVar[bool] = True
    # Whether values per frame are numbers with a mean over time and over replicas: not numbers of
    # classes and clusters, and projections on components of one run.
    HAS_SERIES: ClassVar[bool] = True
    # Whether figures may have values against time, which can be smoothed.
    _HAS_TIMES: ClassVar[bool] = True
    # Period of the values whose means have errors, if they are on a circle.
    _PERIOD: ClassVar[float | None] = None
    # Whether files have only some places as rows, such as pairs that are ever in contact, and the
    # values of others are 0. Such a class has `in_contact` and `table_of`.
    IS_PARTIAL: ClassVar[bool] = False
    # Whether averaged rows that a run lacks, and others have, have the value 0.
    IS_SPARSE: ClassVar[bool] = False
    # Kinds of the types of the values: numbers or texts.
    VALUES: ClassVar[str] = "iuf"
    # Kinds of the axes, further arrays and parts that files of a subclass must have; any if empty.
    AXES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    ALSO: ClassVar[tuple[str, ...]] = ()
    TABLES: ClassVar[tuple[str, ...]] = ()
    # Classes of parts that are more than tables.
    CLASSES: "ClassVar[Mapping[str, type[Table]]]" = MappingProxyType({})
    # Names of the arrays that each file has.
    REQUIRED: ClassVar[tuple[str, ...]] = ("values", "name", "units", "selections", "label")

    def __init_subclass__(cls, *, is_base: bool = False, **options: object) -> None:
        super().__init_subclass__(**options)
        if not is_base:
            RESULTS[cls.__name__] = cls

    def __post_init__(self) -> None:
        """Check that all arrays have the shape of the axes.

        Raises
        ------
        ValueError
            If they have not.
        """
        shape = tuple(map(len, self.axes))
        for name, array in {"values": self.values, **self._errors(), **self.also}.items():
            if np.shape(array) != shape:
                raise ValueError(f"{name} have the shape {np.shape(array)}, and the axes {shape}")

    def __repr__(self) -> str:
        about = f"<{type(self).__name__}: {', '.join([self._about(), *self._statistics()])}>"
        return about + repr_of(self.messages)

    @property
    def messages(self) -> list[Message]:
        """Warnings and notes on the numbers; see `warnings` and `notes`."""
        return self.report.messages

    def __len__(self) -> int:
        return len(np.asarray(self))

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Row]:
        return iter(np.asarray(self))

    @overload
    def __getitem__(self, chosen: int | np.integer | tuple[object, ...]) -> Row: ...

    @overload
    def __getitem__(self, chosen: str) -> "Table": ...

    @overload
    def __getitem__(
        self, chosen: "slice | list[int] | list[bool] | range | NDArray[np.generic]"
    ) -> Self: ...

    def __getitem__(self, chosen: object) -> "Row | Self | Table":
        """Return the main values of a row, or a result of several rows or of one column.

        Parameters
        ----------
        chosen
            A row number or a tuple, which index the main values; or a slice, row numbers or a mask,
            which choose rows; or the name of one of the `columns` of values per frame.

        Examples
        --------
        >>> len(result[10:20]), result[10:20].frames[0]
        (10, np.int64(10))
        """
        row: Row
        if isinstance(chosen, str):
            return self._column_of(chosen)
        if isinstance(chosen, tuple):
            row = np.asarray(self)[chosen]
            return row
        if isinstance(chosen, SupportsIndex) and np.asarray(chosen).ndim == 0:
            row = np.asarray(self)[index(chosen)]
            return row
        if not isinstance(chosen, slice):
            numbers = np.asarray(chosen)
            if numbers.ndim != 1 or not (numbers.dtype.kind in "biu" or not numbers.size):
                raise TypeError(
                    "choose rows by a number, a slice, row numbers or a mask, not by"
                    f" {type(chosen).__name__}"
                )
            chosen = numbers if numbers.size else slice(0)
        return self._of_rows(chosen)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        return np.array(self.values, dtype=dtype, copy=copy)

    def _column_of(self, name: str) -> "Table":
        """Return the table of one series; see `__getitem__`.

        Raises
        ------
        KeyError
            If there is not exactly one of this name.
        """
        named = self.named_axes()
        if self.has_frames and not named and name == self.name:
            return self
        if not self.has_frames or len(named) != 1:
            raise KeyError(f"no column {name!r}: {self.name} is no table of frames and columns")
        own, units = named[0].get("name"), named[0].get("unit")
        found = [k for k, label in enumerate(self.columns) if label == name]
        if not found and own is not None:
            found = np.flatnonzero(own == name).tolist()
        if len(found) != 1:
            raise KeyError(f"no column {name!r}: there are {', '.join(self.columns[:20])}")
        k = found[0]
        return Table(
            values=self.values[:, k],
            axes=(replace(self.axes[0], period=self.period),),
            name=self.name if own is None else str(own[k]),
            units=self.units if units is None else str(units[k]),
            selections=self.selections,
            report=self.report,
            label=self.label if own is not None else name,
            also={key: array[:, k] for key, array in self.also.items()},
        )

    def at(self, trajectory: HasFrameTimes, *, tolerance: float | None = None) -> "Table":
        """Return the values at the frames of a trajectory: of each the row at its time.

        Nothing is interpolated. Frames at whose time there is no row have NaN, with a warning.

        Parameters
        ----------
        trajectory
            The trajectory, or a selection of it.
        tolerance
            Largest distance in time, ps; of several rows the nearest counts. None for the rounding
            of both files, such as single precision and printed digits.

        Raises
        ------
        ValueError
            If values are not numbers per frame, times do not grow from row to row, or the files of
            the trajectory state none.

        Examples
        --------
        >>> len(result[5:].at(traj, tolerance=10.0))
        98
        """
        if not is_of_frames(self):
            raise ValueError(f"{self.name} has no numbers per frame, which could be joined by time")
        of = trajectory.source.frame_times()
        own = self.axes[0]
        rows, messages = rows_at(self.times, own.get("rounding"), of, tolerance)
        values = self.values[rows].astype(np.float64)
        values[rows < 0] = np.nan
        columns = {"frame": np.arange(len(rows)), "time": of.times}
        frames = Axis("frames", columns, period=self.period)
        emit(messages)
        return Table(
            values=values,
            axes=(frames, *self.axes[1:]),
            name=self.name,
            units=self.units,
            selections=self.selections,
            report=self.report.changed(
                messages=[*messages, *self.messages],
                parameters={"joined_to": of.label, "tolerance": tolerance},
                analysis=f"{analysis_of(self.report)['analysis']} at frames",
            ),
            label=self.label,
        )

    def __lt__(self, limit: float) -> FrameMask:
        return self._mask("<", np.less, limit)

    def __le__(self, limit: float) -> FrameMask:
        return self._mask("<=", np.less_equal, limit)

    def __gt__(self, limit: float) -> FrameMask:
        return self._mask(">", np.greater, limit)

    def __ge__(self, limit: float) -> FrameMask:
        return self._mask(">=", np.greater_equal, limit)

    def _mask(
        self, sign: str, compare: Callable[..., NDArray[np.bool_]], limit: float
    ) -> FrameMask:
        """Return the frames whose numbers fulfil a condition.

        Raises
        ------
        TypeError
            If the limit is no number, or there is not one number per frame.
        """
        if not isinstance(limit, (int, float, np.number)) or np.isnan(limit):
            raise TypeError(f"{self.name} is compared with a number, not with {quoted(limit)}")
        if not is_of_frames(self) or self.n_columns() != 1:
            raise TypeError(
                f"{self.name} has not one number per frame: choose a column, such as"
                f" result[{self.columns[0]!r}]"
            )
        values = self.values.reshape(-1)
        return FrameMask(
            condition=f"{self.name} {sign} {limit:g}",
            frames=self.frames,
            times=self.times,
            chosen=compare(values, limit),
            known=~np.isnan(values),
            is_joined=analysis_of(self.report)["analysis"] != "read_series",
        )

    def to_dataframe(self) -> "DataFrame":
        """Return the table of the CSV file as a pandas DataFrame.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.

        Examples
        --------
        >>> result.to_dataframe().columns.tolist()
        ['frame', 'time_ps', 'rmsd_A']
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                "a result as a DataFrame needs pandas: pip install 'trajet[pandas]'"
            ) from error
        table = self._table()
        # Names may occur twice.
        frame = pd.DataFrame({k: column for k, (_, column) in enumerate(table)})
        frame.columns = pd.Index([name for name, _ in table])
        return frame

    def scalars(self) -> dict[str, object]:
        """Return the numbers that describe the whole result, by names that end in their unit.

        Such as `diffusion_cm2_per_s` and its error, lifetimes, exponents, or numbers of clusters.
        A number that is not known is NaN. They are in JSON files and in the report, too.
        """
        found = self._scalars()
        return scalars_of(found) if found else {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write NPZ or JSON, which `trajet.load` restores, or CSV with all digits.

        `numpy.load` reads NPZ files without pickle: each field of the result by its name, `kind`
        (its class) and `report` (JSON text). JSON files have the same fields with `dtype`, `shape`
        and `data`, and before them `scalars`, the summary `table`, `parameters`, `messages` and
        `inputs`. Fields that are None are left out.

        Raises
        ------
        ValueError
            If the name ends in none of `.npz`, `.json` and `.csv`.
        OutputError
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, SUFFIXES)
        if path.suffix.lower() == ".csv":
            output.write(path, self._write_csv)
            return
        if path.suffix.lower() == ".json":
            from trajet.result.as_json import write

            output.write(path, lambda file: write(self, file))
            return
        arrays = {
            **self._arrays(),
            "kind": np.array(type(self).__name__),
            "report": np.array(self.report.to_json().encode()),
        }
        output.write(path, lambda file: np.savez(file, allow_pickle=False, **arrays))

    def save_part(self, name: str, path: Path) -> list[Path]:
        """Write one of `PARTS` or `parts`, and return the paths of its files.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        part: Table = self.parts[name] if name in self.parts else getattr(self, name)
        part.save(path)
        return [path]

    def _scalars(self) -> list[Scalar]:
        """Return the numbers of the part "scalars"; none without it."""
        if (part := self.parts.get("scalars")) is None:
            return []
        names, units = part.axes[0].labels(), part.axes[0]["unit"].tolist()
        numbers = [one.tolist() for one in (part.values, *part._errors().values())]
        return [Scalar(*row) for row in zip(names, units, *numbers, strict=True)]

    def _statistics(self) -> list[str]:
        """Return mean and extremes of the main values as texts, if they are a few numbers."""
        values, known = np.asarray(self), texts_of(self._scalars())
        if not 0 < values.size <= _MAX_SHOWN or values.dtype.kind not in "iuf":
            return []
        if not self.units and self.n_columns() > 1 and self.axes[-1].kind == "quantities":
            return []
        finite = values[np.isfinite(values)]
        left_out = values.size - finite.size
        texts = [f"{left_out} not finite"] if left_out else []
        if finite.size:
            # A frame fitted to itself has an RMSD of 1e-15 Å.
            least = _NEGLIGIBLE * np.abs(finite).max()
            ends = (("min", finite.min()), ("max", finite.max()))
            extremes = [f"{name} {0.0 if abs(x) < least else x:.4g}" for name, x in ends]
            has_mean = self._HAS_MEAN and not known and self.period is None
            texts = [f"mean {finite.mean():.4g}"] * has_mean + extremes + texts
        return known + texts

    def csv_header(self) -> list[str]:
        """Return the names of a CSV file's columns."""
        return [name for name, _ in self._table()]

    def csv_rows(self) -> Iterator[Iterable[object]]:
        """Yield the rows of a CSV file."""
        columns = [column for _, column in self._table()]
        size = max(1, AT_ONCE // max(1, len(columns)))
        for begin in range(0, len(columns[0]) if columns else 0, size):
            some = [column[begin : begin + size].tolist() for column in columns]
            yield from zip(*some, strict=True)

    def _write_csv(self, file: IO[bytes]) -> None:
        write_csv(file, [self.csv_header()], self.csv_rows())

    def _errors(self) -> dict[str, NDArray[np.generic]]:
        """Return errors and whether they are resolved, as far as they are known, by field."""
        fields = {
            "standard_errors": self.standard_errors,
            "half_widths": self.half_widths,
            "resolved": self.resolved,
        }
        return {name: array for name, array in fields.items() if array is not None}

    def axis(self, kind: str) -> Axis:
        """Return the axis of a kind, such as "frames" or "atoms".

        Raises
        ------
        KeyError
            If there is none.
        """
        for one in self.axes:
            if one.kind == kind:
                return one
        raise KeyError(f"no axis {kind!r}: there are {', '.join(one.kind for one in self.axes)}")

    def _column(self, kind: str, name: str) -> NDArray[np.generic]:
        """Return a column of an axis, for a property.

        Raises
        ------
        AttributeError
            If there is no such axis.
        """
        try:
            return self.axis(kind)[name]
        except KeyError as error:
            raise AttributeError(f"{self.name}: {error.args[0]}") from None

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the frames, `(n_frames,)`, float64, ps."""
        return self._column("frames", "time").astype(np.float64, copy=False)

    @property
    def frames(self) -> NDArray[np.int64]:
        """Numbers of the frames, `(n_frames,)`, int64."""
        return self._column("frames", "frame").astype(np.int64, copy=False)

    @property
    def atoms(self) -> NDArray[np.int64]:
        """Indices of the atoms in the topology, `(n_atoms,)`, int64."""
        return self._column("atoms", "atom").astype(np.int64, copy=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The selection or the name of each series."""
        return tuple(self._labels_of_columns())

    def _labels_of_columns(
        self, count: int | None = None, *, in_headers: bool = False
    ) -> list[str]:
        """Return the labels of the first columns of files, or of all; those of axes are joined."""
        first, *others = self.named_axes() or (None,)
        if first is None:
            return [self.label if in_headers else self.label or " and ".join(self.selections)]
        if not others:
            return first.labels_in_headers()[:count] if in_headers else first.labels(count)
        joints = [one.of_kind.joint for one in others]
        labels = product(first.labels(count), *(one.labels() for one in others))
        return [
            "".join([label, *(part for pair in zip(joints, then, strict=True) for part in pair)])
            for label, *then in islice(labels, count)
        ]

    def n_columns(self) -> int:
        """Return the number of columns of the values in files."""
        return int(np.prod([len(one) for one in self.named_axes()]))

    def with_labels(self, labels: Sequence[str]) -> Self:
        """Return the table with other names of its series."""
        (named,) = self.named_axes()
        other = named.with_column("label", np.array(labels, np.str_))
        return replace(self, axes=tuple(other if one is named else one for one in self.axes))

    @property
    def quantity(self) -> str:
        """Name and unit, as on the axis of a figure."""
        return f"{self.name} ({self.units})" if self.units else self.name

    def feature_names(self) -> list[str]:
        """Return the name of each value of a frame, as in CSV files, but with all selections."""
        return [column_name(self.name, self.units, label) for label in self.columns]

    def summary(self, limit: int | None = None) -> Summary:
        """Return the table that commands print: mean and extremes, of each series per frame.

        Parameters
        ----------
        limit
            The largest number of rows; None for all.
        """
        return replace(self._summary(limit), messages=tuple(self.messages))

    def _summary(self, limit: int | None = None) -> Summary:
        """Return the summary without messages; see `summary`."""
        if found := self._scalars():
            return summary_of(self.quantity, found)
        if not is_of_frames(self):
            return self._extremes()
        named = self.named_axes()
        heading = named[0].of_kind.heading if named else "selection"
        return self._summed_up(
            self.values.reshape(len(self.frames), self.n_columns()),
            names_column(heading, self._labels_of_columns(limit)),
            form=".3f",
            title=self.quantity,
            count=self.n_columns(),
            unit=self.units,
        )

    def _extremes(self) -> Summary:
        """Return mean, extremes, and the place of the largest of values without frames."""
        values = numbers = self.values
        if self.is_matrix:
            first, second = (next(iter(one.columns.values())) for one in self.axes)
            is_other = (first[:, np.newaxis] != second) & np.isfinite(values)
            numbers, values = values[is_other], np.where(is_other, values, -np.inf)
        if not np.isfinite(numbers).any():
            return Summary(self.quantity)
        at = np.unravel_index(int(np.nanargmax(values)), values.shape)
        where = []
        for axis, k in zip(self.axes, at, strict=True):
            # The first column tells the places apart.
            text = (
                _text_of(next(iter(axis.columns.values()))[k]) if axis.columns else axis.labels()[k]
            )
            residues = axis.get("resid")
            where.append(text if residues is None else f"{text} (residue {residues[k]})")
        kinds = [one.quantity or one.kind.removesuffix("s") for one in self.axes]
        mean, least, largest = (
            Column(name, [float(of(numbers))], ".3f")
            for name, of in (("mean", np.nanmean), ("min", np.nanmin), ("max", np.nanmax))
        )
        half = None if self.half_widths is None else self.half_widths[at]
        columns = (
            names_column("selection", [" and ".join(self.selections)]),
            *(
                Column(f"bins of {one.quantity}" if one.quantity else one.kind, [len(one)])
                for one in self.axes
            ),
            *(mean, least, *with_half_widths(largest, half)),
            Column(f"{', '.join(kinds)} of max", [", ".join(where)]),
        )
        return Summary(self.quantity, columns, 1)

    @property
    def period(self) -> float | None:
        """Period of the values, if they are on a circle, such as 360 of angles."""
        return self.axes[0].period if self.has_frames else None

    @property
    def is_symmetric(self) -> bool:
        """Whether the places have two members without an order, such as the atoms of pairs."""
        return [one.kind for one in self.named_axes()] == ["pairs"]

    @property
    def is_matrix(self) -> bool:
        """Whether rows and columns are the same atoms or residues."""
        kinds = [one.kind for one in self.axes]
        return kinds[1:] == [f"other {kinds[0]}"] and not self.has_frames

    def in_contact(self) -> tuple[NDArray[np.int64], ...]:
        """Return the places along each axis of the rows of files, if these are only some."""
        raise NotImplementedError

    def table_of(self, *places: NDArray[np.int64]) -> Columns:
        """Return the columns of files at some places, given along each axis."""
        raise NotImplementedError

    def averaged(self) -> "Table | None":
        """Return the table whose rows have means over replicas.

        None if rows of several runs are not the same, such as those of clusters.
        """
        return self if self.HAS_SERIES or not self.has_frames else None

    def named_axes(self) -> tuple[Axis, ...]:
        """Return the axes whose places are columns of files."""
        if self.has_frames:
            return self.axes[1:]
        return tuple([one for one in self.axes if one.of_kind.is_named])

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw each series against time, the values of atoms, or a matrix; see `Table.plot`."""
        from trajet import plots

        if self.has_frames:
            if self.period is None:
                draw = partial(plots.series, self, self._means(look))
            else:
                angles = self.values.reshape(len(self.frames), self.n_columns())
                draw = partial(plots.angles, self, angles, self._labels())
            return draw(ax, look)
        if self.axes[0].kind in plots.CURVES:
            return plots.curves(self, plots.CURVES[self.axes[0].kind], ax, look)
        if self.axes[0].quantity:
            basins = self.also.get("basin")
            known = None if basins is None else basins.astype(np.int64)
            counts = None if basins is None else self.also["count"].astype(np.int64)
            return plots.landscape(self, known, counts, ax, look)
        if self.is_matrix:
            sides = self.axes[0], replace(self.axes[1], kind=self.axes[0].kind)
            of = f"{self.axes[0].of_kind.heading} ({self.selections[0]})"
            return plots.matrix(
                *(self.values, sides, (of, of)),
                quantity=self.quantity,
                is_signed=True,
                ax=ax,
                look=look,
            )
        if self.axes[0].edges is not None:
            return plots.over_bins(self, "r (Å)", self.quantity, ax=ax, look=look)
        are_bars = self.axes[0].kind == "numbers"
        return plots.along(
            self.axes[0],
            self.values,
            look.intervals(self.values, self.half_widths, self.resolved, are_curves=not are_bars),
            quantity=self.quantity,
            is_bars=are_bars,
            by_name=are_bars,
            ax=ax,
            look=look,
        )

    def _quantity(self) -> str:
        return self.quantity

    def _labels(self) -> list[str]:
        return list(self.columns)

    def _sample_names(self) -> list[str]:
        return self.names()

    def names(self, quantity: str | None = None, units: str | None = None) -> list[str]:
        """Return the name of each series in the header of a CSV file.

        `quantity` and `units` are those of the values if they are None.
        """
        labels = self._labels_of_columns(in_headers=True)
        quantity = self.name if quantity is None else quantity
        units = self.units if units is None else units
        return [column_name(quantity, units, label) for label in labels]

    def _about(self) -> str:
        selections = " and ".join(map(quoted, self.selections))
        of = count_of_frames(self.frames) if self.has_frames else selections
        return f"{self.name} of {of}, values {self.values.shape} {self.units}".rstrip()

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        kind: Literal["convergence", "histogram"] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
        mean: bool | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
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
        mean: bool | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Axes": ...
    @with_hints
    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: Literal["convergence", "histogram"] | None = None,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
        mean: bool | None = None,
        band: bool | None = None,
        title: str | None = None,
        size: "FigureSize | None" = None,
    ) -> "Figure | Axes":
        """Draw the result: against time, or as its class says.

        Bands and bars are 95 % intervals, drawn where they are resolved.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        kind
            "convergence" draws means, their intervals and correlation times of the first part of
            the series against its length; "histogram" the distribution of the values. Both draw
            the first six series.
        label
            Names in the legend, one for each series. Images have none.
        color
            Colours of matplotlib, one for each series; or the name of a map of colours of an image.
            None for those of the style in use, or of our palette.
        smooth
            Frames of the running average of values against time; True for 1/50 of the frames, which
            is usual from 200 frames on, False for none. Without such values, and with `kind`, it
            must be left out.
        mean
            Whether a dashed line shows the mean over time of each series. None where it is
            resolved, but not for an RMSD, whose mean says little.
        band
            Whether bands or bars show 95 % intervals: of such means, of curves along residues,
            distances or lags, and of fractions. None where they are resolved, True also where they
            are not.
        title
            Title of the figure, or of `ax`.
        size
            Width and height of a figure of its own, such as "8x6cm" or, in inches, (3.35, 2.5).

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or the given axes. If `matplotlib.pyplot` has been imported, the figure is
            its current one, for `plt.savefig` and `plt.show`.

        Raises
        ------
        ValueError
            If there is no such kind, or an option that it or the result does not draw; if there are
            other numbers of labels or colours than of series, or nothing to draw.

        Examples
        --------
        >>> figure = result.plot()
        >>> figure.savefig("rmsd.png")
        """
        from trajet import plots

        look = plots.Look(
            *(label, color, smooth, mean, band, title, in_figures(self.messages)),
            self.half_widths is not None and band is not False,
        )
        self._check_look(look, kind)
        return plots.for_user(
            lambda: self._draw(ax, look) if kind is None else self._draw_means(kind, ax, look),
            ax,
            size,
        )

    def _check_look(self, look: "Look", kind: str | None) -> None:
        """Raise a ValueError for options of a figure that the result does not draw; see `plot`."""
        if kind is not None and look.smooth is not None:
            raise ValueError(f"smooth is of values against time: leave it out with kind={kind!r}")
        if kind == "convergence" and look.mean is not None:
            raise ValueError("kind='convergence' always draws means: leave mean out")
        for option in ("smooth", "mean"):
            if getattr(look, option) is not None and not (self.has_frames and self._HAS_TIMES):
                raise ValueError(
                    f"{option} is of values against time, which {self.name} does not draw: leave it"
                    " out"
                )
        if look.band and not (self.has_frames or self.half_widths is not None):
            raise ValueError(
                f"{self.name} has no intervals to draw: compute it with errors=True, or"
                " leave band out"
            )

    def _draw_means(
        self, kind: Literal["convergence", "histogram"], ax: "Axes | None", look: "Look"
    ) -> "Figure":
        """Draw how means converge, or the distribution of the values; see `plot`."""
        if not is_of_frames(self):
            raise ValueError(
                f"kind={kind!r} draws values per frame, which {self.name} does not have: leave it"
                " out"
            )
        if kind not in _KINDS:
            raise ValueError(
                f"kind is one of {', '.join(map(repr, _KINDS))}, or None, not {kind!r}"
            )
        from trajet.result import drawn_means

        draw = drawn_means.convergence if kind == "convergence" else drawn_means.histogram
        values = self._samples().reshape(len(self.frames), len(self._sample_names()))
        period = self._PERIOD or self.period
        return draw(self, values, self._labels(), self._quantity(), period, ax, look)

    def statistics(self, *, discard: "Discard" = None) -> "Statistics":
        """Return the mean of each series with its error, correlation time and 95 % interval.

        See `trajet.statistics` and docs/statistics.md. Where values are not finite or times are not
        even, the reason says so.

        Parameters
        ----------
        discard
            Time to leave out at the beginning of the simulation, ps; "auto" leaves out what MSER
            suggests. Frames that go backwards are cut at their end.

        Raises
        ------
        ValueError
            If there are no numbers per frame that have a mean.

        Examples
        --------
        >>> stats = result.statistics()
        >>> f"{stats.correlation_time:.0f} {stats.time_unit}", stats.reason
        ('17 ps', '2.85 effective frames are fewer than 20')
        """
        if not is_of_frames(self):
            raise ValueError(f"{self.name} has no values per frame with a mean, and no error of it")
        return self._statistics_of(self._samples(), discard)

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each series with its error, as the columns of a table.

        They are in JSON files as `statistics`: mean, 95 % interval, standard error and deviation,
        correlation time, effective frames, and whether and why not the mean is resolved. Results
        without values per frame have none.
        """
        from trajet.result.mean_errors import table_of_errors

        if not is_of_frames(self):
            return ()
        return table_of_errors(self.statistics(), self._sample_names())

    def _samples(self) -> NDArray[np.float64]:
        """Return the values whose means have errors."""
        return self.values

    def _means(self, look: "Look") -> "Means | None":
        """Return the means of the series, for figures; None if nobody wants them."""
        from trajet.result import drawn_means

        if not drawn_means.are_drawn(self.name, look):
            return None
        return drawn_means.means_of(self.statistics())

    def _statistics_of(
        self, values: NDArray[np.float64], discard: "Discard" = None
    ) -> "Statistics":
        """Return the statistics of values of the frames of this result."""
        from trajet.uncertainty.even_times import clock_of
        from trajet.uncertainty.statistics import statistics_of_frames

        clock = clock_of(self.times, self.frames)
        if discard not in (None, "auto") and clock.unit != "ps":
            raise ValueError(
                f"discard is a time in ps, and {clock.reason or 'the times of frames are unknown'}:"
                " choose frames with frames= instead"
            )
        return statistics_of_frames(
            *(values, clock, self.frames), discard=discard, period=self._PERIOD or self.period
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
        return Summary(title, (names, *columns), count, lines.always, lines.verbose)

    @cached_property
    def has_frames(self) -> bool:
        """Whether the rows are frames."""
        return bool(self.axes) and self.axes[0].kind == "frames"

    def _row_axes(self) -> tuple[Axis, ...]:
        """Return the axes whose places are rows of files: frames alone, or all without names."""
        if self.has_frames:
            return self.axes[:1]
        return tuple([one for one in self.axes if not one.of_kind.is_named])

    def _table(self) -> Columns:
        rows, names = self._row_axes(), self.names()
        # Views, which take no memory on a grid.
        places = np.meshgrid(*(np.arange(len(one)) for one in rows), indexing="ij", copy=False)
        columns: Columns = []
        for axis, at in zip(rows, places, strict=True):
            in_files = axis.of_kind.files
            if axis.quantity:
                in_files = {"centre": column_name(axis.quantity, axis.units)}
            for column, name in in_files.items():
                if column in axis.columns:
                    columns.append((name, axis[column][at].ravel()))
        if self.has_frames:
            # The shortest decimals that give the stored times back.
            inputs = analysis_of(self.report).get("inputs", ())
            columns[1] = ("time_ps", shortest_times(self.times, inputs))
        elif rows and (times := rows[0].get("time")) is not None:
            lags = times.astype(np.float64, copy=False)
            rounded = decimals_within(lags, ROUNDING * np.abs(lags))
            columns[0] = (columns[0][0], rounded[places[0]].ravel())
        quantities: list[tuple[list[str], NDArray[np.generic]]] = [
            (names, self.values),
            *((self.names(name, ""), array) for name, array in self.also.items()),
        ]
        errors = {"standard error": self.standard_errors, "half width 95": self.half_widths}
        for name, array in errors.items():
            if array is not None:
                quantities.append((self.names(name), array))
        for headers, values in quantities:
            # Counts are integers.
            by_column = self._by_column(cast("NDArray[np.float64]", values))
            columns += zip(headers, by_column, strict=True)
        return columns

    def _by_column(self, array: NDArray[_T]) -> NDArray[_T]:
        """Return an array in the shape of the values, column of files by column."""
        rows = self._row_axes()
        # Axes of rows first, wherever they are.
        order = sorted(range(len(self.axes)), key=lambda k: self.axes[k] not in rows)
        n_rows = int(np.prod([len(one) for one in rows]))
        return array.transpose(order).reshape(n_rows, self.n_columns()).T

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        """Return a table of the chosen rows, with the report of the whole.

        Parts that have the same rows are those of the chosen ones.
        """

        def some(array: NDArray[_T] | None) -> NDArray[_T] | None:
            return None if array is None else array[chosen]

        def has_rows(part: Table) -> bool:
            return part.axes[0].kind == self.axes[0].kind and len(part) == len(self)

        return replace(
            self,
            values=self.values[chosen],
            axes=(self.axes[0].some(chosen), *self.axes[1:]),
            standard_errors=some(self.standard_errors),
            half_widths=some(self.half_widths),
            resolved=some(self.resolved),
            also={name: array[chosen] for name, array in self.also.items()},
            parts={
                name: part._of_rows(chosen) if has_rows(part) else part
                for name, part in self.parts.items()
            },
        )

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return values, axes, and further arrays and tables, for NPZ files."""
        arrays: dict[str, NDArray[np.generic]] = {
            "values": self.values,
            "name": np.array(self.name),
            "units": np.array(self.units),
            "selections": np.array(self.selections, np.str_),
            "label": np.array(self.label),
            **self._errors(),
            **{
                name: np.array(getattr(self, name), np.str_ if default == () else None)
                for name, default in self.own_fields().items()
            },
        }
        for k, axis in enumerate(self.axes):
            arrays.update(axis.arrays(f"axis{k}"))
        arrays.update({f"also.{name}": array for name, array in self.also.items()})
        for name, part in self.parts.items():
            of_part = part._arrays().items()
            arrays.update({f"part.{name}.{key}": array for key, array in of_part})
        return arrays

    def _repr_html_(self) -> str:
        """Return the summary and, if it can be drawn, the plot: notebooks show them."""
        import base64
        import html

        from trajet import plots

        summary = "".join([f"<p>{html.escape(line)}</p>" for line in repr(self).splitlines()])
        look = plots.Look(
            warning=in_figures(self.messages), must_have_intervals=self.half_widths is not None
        )
        try:
            png = plots.png(self._draw(None, look))
        except ValueError:
            # There are too many curves, or nothing to draw.
            return summary
        return f'{summary}<img src="data:image/png;base64,{base64.b64encode(png).decode()}">'

    @classmethod
    def own_fields(cls) -> dict[str, object]:
        """Return the default of each field that a subclass adds, and files have."""
        own = fields(cls)[len(fields(Table)) :]
        return {one.name: one.default for one in own if one.metadata.get("is_saved", True)}


RESULTS["Table"] = Table


def _text_of(value: np.generic) -> str:
    """Return what tells a place apart as text; numbers have six digits."""
    return f"{value:.6g}" if isinstance(value, np.floating) else str(value)


def with_scalars(result: _R) -> _R:
    """Return the result of an analysis after its report has got its scalars."""
    if isinstance(result, Table):
        result.report.record_scalars(result.scalars())
    return result


def is_of_frames(result: object) -> TypeGuard[Table]:
    """Return whether a result has numbers per frame, with means over time and replicas."""
    return isinstance(result, Table) and result.has_frames and result.HAS_SERIES
