"""Base class of all results."""

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from operator import index
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, Self, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trajet import output
from trajet._trajet import MissingPackageError
from trajet.result.report import Report, analysis_of
from trajet.result.summary import Column, Summary
from trajet.result.times import shortest_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from trajet.plots import Look

# The columns of a table: names, and values with one element per row.
Columns: TypeAlias = "list[tuple[str, NDArray[np.generic]]]"
# Main values of a row of a result.
Row: TypeAlias = "np.generic | NDArray[np.generic]"

_T = TypeVar("_T")

# Numbers of a table that are Python objects at the same time.
_AT_ONCE = 2**17
# Endings of files that every result can be saved to.
SUFFIXES = (".npz", ".json", ".csv")
# Most numbers of which statistics are shown.
_MOST_SHOWN = 10**7

# All classes of results by name, from which `load` takes the one that a file names.
KINDS: "dict[str, type[Result]]" = {}


@dataclass(frozen=True)
class Part:
    """A part of a result that its command can write: `--save NAME=FILE`.

    Attributes
    ----------
    help
        Contents of the file.
    suffixes
        Endings of the file; none for a folder.
    needs
        The parameter of the analysis that must be True for the result to have the part, or None.
    """

    help: str
    suffixes: tuple[str, ...] = (".csv", ".npz")
    needs: str | None = None

    @property
    def metavar(self) -> str:
        """Placeholder for the path in help texts."""
        return "FILE" if self.suffixes else "FOLDER"


class Result:
    """Numbers of an analysis with the report of its run; can be drawn, saved and loaded.

    A result is a sequence of rows: `len(result)`, `for row in result`, `result[5]`, and
    `result[10:20]`, which is a result of those rows. `np.asarray(result)` has its main values.

    Classes of results are frozen dataclasses with `repr=False`. Their fields are arrays, strings,
    numbers, booleans, tuples of these, results, or None, and the report. NPZ and JSON files hold
    all of them, and `trajet.load` restores them. A class declares `_ROWS`, and has `_draw`,
    `_about` and `_table`; `scalars` and `summary` if it has more to say than its rows.
    """

    report: Report

    # Subclasses are dataclasses.
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    # Fields with one element per row, the main values first; fields that are None are skipped.
    _ROWS: ClassVar[tuple[str, ...]] = ("values",)
    # The parts that have files of their own, and the one that has all rows of the summary's table;
    # None if the files of the result have them.
    PARTS: ClassVar[Mapping[str, Part]] = {}
    TABLE_PART: ClassVar[str | None] = None
    # Whether the mean of all main values means something: not for angles.
    _HAS_MEAN: ClassVar[bool] = True
    # Whether figures may have values against time, which can be smoothed.
    _HAS_TIMES: ClassVar[bool] = False

    def __init_subclass__(cls, *, is_base: bool = False, **options: object) -> None:
        """Register a class of results, so that `load` finds it by name, but no further base."""
        super().__init_subclass__(**options)
        if not is_base:
            KINDS[cls.__name__] = cls

    def __repr__(self) -> str:
        """Return a summary of one line: quantity, shape, mean and extremes."""
        return f"<{type(self).__name__}: {', '.join([self._about(), *self._statistics()])}>"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(np.asarray(self))

    def __bool__(self) -> bool:
        """Return True, also without a row."""
        return True

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the main values, row by row."""
        return iter(np.asarray(self))

    @overload
    def __getitem__(self, chosen: int | np.integer | tuple[object, ...]) -> Row: ...

    @overload
    def __getitem__(
        self, chosen: "slice | list[int] | list[bool] | range | NDArray[np.generic]"
    ) -> Self: ...

    def __getitem__(self, chosen: object) -> Row | Self:
        """Return the main values of a row, or a result of several rows.

        Parameters
        ----------
        chosen
            A row number or a tuple, which index the main values; or a slice, row numbers or a mask,
            which choose rows.

        Examples
        --------
        >>> len(result[10:20]), result[10:20].frames[0]
        (10, np.int64(10))
        """
        row: Row
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
        """Return the main values as an array."""
        return np.array(getattr(self, self._row_fields()[0]), dtype=dtype, copy=copy)

    @overload
    def plot(
        self,
        ax: None = None,
        *,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Figure": ...
    @overload
    def plot(
        self,
        ax: "Axes",
        *,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Axes": ...
    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        label: str | Sequence[str] | None = None,
        color: str | Sequence[str] | None = None,
        smooth: bool | int | None = None,
    ) -> "Figure | Axes":
        """Draw the result.

        Parameters
        ----------
        ax
            Axes to draw into; None for a figure of its own.
        label
            Names in the legend, one for each series, in place of a title; or the title of an image.
        color
            Colours of matplotlib, one for each series; or the name of a map of colours of an image.
            None for those of the style in use, or of our palette.
        smooth
            Frames of the running average of values against time; True for 1/50 of the frames, which
            is usual from 200 frames on, False for none. Without such values it must be left out.

        Returns
        -------
        matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, which is not registered with pyplot: save it or show it. Or the given axes,
            whose figure notebooks show anyway.

        Raises
        ------
        ValueError
            If there are other numbers of labels or colours than of series, or nothing to draw.
        """
        drawn = self._draw(ax, self._look(label, color, smooth))
        return drawn if ax is None else ax

    def _look(
        self,
        label: str | Sequence[str] | None,
        color: str | Sequence[str] | None,
        smooth: bool | int | None,
    ) -> "Look":
        """Return labels, colours and running average of a figure; see `plot`."""
        from trajet.plots import Look

        if smooth is not None and not self._HAS_TIMES:
            raise ValueError(
                f"smooth is of values against time, which {type(self).__name__} does not draw:"
                " leave it out"
            )
        return Look(label, color, smooth)

    def _draw(self, ax: "Axes | None", look: "Look") -> "Figure":
        """Draw the result into the given axes, or into a figure of its own; see `plot`."""
        raise NotImplementedError

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
        return {}

    def summary(self, limit: int | None = None) -> Summary:
        """Return the table that commands print.

        Parameters
        ----------
        limit
            The largest number of rows; None for all.
        """
        return Summary(self._about())

    def mean_errors(self) -> tuple[Column, ...]:
        """Return the mean of each series with its error, as the columns of a table.

        They are in JSON files as `statistics`: mean, 95 % interval, standard error and deviation,
        correlation time, effective frames, and whether and why not the mean is resolved. Results
        without values per frame have none.
        """
        return ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write NPZ or JSON, which `trajet.load` restores, or CSV with all digits.

        `numpy.load` reads NPZ files without pickle: each field of the result by its name, `kind`
        (its class) and `report` (JSON text). JSON files have the same fields with `dtype`, `shape`
        and `data`, and before them `scalars`, the summary `table`, `parameters`, `remarks` and
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
        """Write one of `PARTS`, and return the paths of its files.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        part: Result = getattr(self, name)
        part.save(path)
        return [path]

    def _about(self) -> str:
        """Return the quantity and the shape of its values, for `__repr__`."""
        raise NotImplementedError

    def _table(self) -> Columns:
        """Return the columns of the CSV file and of the DataFrame."""
        raise NotImplementedError

    def _row_fields(self) -> tuple[str, ...]:
        """Return the fields with one element per row, the main values first."""
        return self._ROWS

    def _of_rows(self, chosen: "slice | NDArray[np.generic]") -> Self:
        """Return a result of the chosen rows, with the report of the whole."""
        taken: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in self._row_fields():
            value = getattr(self, name)
            if isinstance(value, tuple):
                numbers = np.arange(len(value))[chosen].tolist()
                taken[name] = tuple(value[k] for k in numbers)
            elif value is not None:
                taken[name] = value[chosen]
        return type(self)(**taken)

    def _statistics(self) -> list[str]:
        """Return mean and extremes of the main values as texts, if they are a few numbers."""
        values = np.asarray(self)
        if not 0 < values.size <= _MOST_SHOWN or values.dtype.kind not in "iuf":
            return []
        finite = values[np.isfinite(values)]
        left_out = values.size - finite.size
        texts = [f"{left_out} not finite"] if left_out else []
        if finite.size:
            extremes = [f"min {finite.min():.4g}", f"max {finite.max():.4g}"]
            texts = [f"mean {finite.mean():.4g}"] * self._HAS_MEAN + extremes + texts
        return texts

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all fields but the report as arrays, for NPZ files; None is left out."""
        arrays = {}
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if isinstance(value, Result):
                # A result that belongs to this one, and shares its report.
                arrays.update({f"{name}.{key}": array for key, array in value._arrays().items()})
            elif name != "report" and value is not None:
                arrays[name] = _as_array(name, value)
        return arrays

    def csv_header(self) -> list[str]:
        """Return the names of a CSV file's columns."""
        return [name for name, _ in self._table()]

    def csv_rows(self) -> Iterator[Iterable[object]]:
        """Yield the rows of a CSV file."""
        columns = [column for _, column in self._table()]
        size = max(1, _AT_ONCE // max(1, len(columns)))
        for begin in range(0, len(columns[0]) if columns else 0, size):
            some = [column[begin : begin + size].tolist() for column in columns]
            yield from zip(*some, strict=True)

    def _write_csv(self, file: IO[bytes]) -> None:
        write_csv(file, [self.csv_header()], self.csv_rows())

    def _repr_html_(self) -> str:
        """Return the summary and, if it can be drawn, the plot: notebooks show them."""
        import base64
        import html

        from trajet import plots

        summary = f"<p>{html.escape(repr(self))}</p>"
        try:
            png = plots.png(self.plot())
        except ValueError:
            # There are too many curves, or nothing to draw.
            return summary
        return f'{summary}<img src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def with_scalars(result: _T) -> _T:
    """Return the result of an analysis after its report has got its scalars."""
    if isinstance(result, Result):
        result.report.record_scalars(result.scalars())
    return result


def write_csv(file: IO[bytes], *parts: Iterable[Iterable[object]]) -> None:
    """Write rows, those of one part after the other, as CSV.

    As `repr` prints them, numbers have all digits.
    """
    import csv

    text = io.StringIO()
    # Names of functions, segments and residues may contain commas and quotes.
    writer = csv.writer(text, lineterminator="\n")

    def flush() -> None:
        file.write(text.getvalue().encode(errors="backslashreplace"))
        text.seek(0)
        text.truncate()

    for part in parts:
        for row in part:
            writer.writerow([one if isinstance(one, str) else repr(one) for one in row])
            if text.tell() > _AT_ONCE:
                flush()
    flush()


def _as_array(name: str, value: object) -> NDArray[np.generic]:
    """Return the value of a field as an array that is saved without pickle.

    Raises
    ------
    TypeError
        If it cannot be.
    """
    array = np.asarray(value, np.str_ if isinstance(value, tuple) and not value else None)
    if array.dtype.kind not in "biufcU" or isinstance(value, (list, dict)):
        raise TypeError(
            f"field {name!r} of a result: an array, a string, a number, a tuple of these, or None"
            f" can be saved, not {type(value).__name__}"
        )
    return array


def count_of_frames(frames: NDArray[np.int64]) -> str:
    """Return the number of frames as text: "98 frames"."""
    return f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"


def column_name(quantity: str, units: str = "", label: str = "") -> str:
    """Return the name of a column of a table: "rmsd_A", or "rmsd_A:name_CA".

    All tables have names of this form. The column of the command's own selection has no label. A
    label tells apart further groups, and the residues, atoms or pairs of a selection. No option
    changes the name of a column.

    Parameters
    ----------
    quantity, units
        Quantity and unit of the column.
    label
        The selection, or the name, to which it belongs, if a table may have several such columns.
    """
    name = quantity.lower().replace(" ", "_").replace("-", "_")
    stem = "_".join(filter(None, [name, ascii_units(units)]))
    return f"{stem}:{label}".replace(" ", "_") if label else stem


def ascii_units(units: str) -> str:
    """Return a unit in ASCII, for the header of a CSV file."""
    return units.replace("Å", "A").replace("²", "2").replace("³", "3")


def names_column(heading: str, names: Iterable[str]) -> Column:
    """Return the first column of a summary."""
    return Column(heading, list(names))


def residue_columns(
    of: str,
    names: NDArray[np.generic] | None,
    numbers: NDArray[np.generic] | None,
    at: "tuple[slice, int] | NDArray[np.int64]",
    codes: NDArray[np.generic] | None = None,
) -> Columns:
    """Return the columns with name, number and insertion code of residues, as far as known.

    Parameters
    ----------
    of
        Role of the residues, such as "donor".
    names, numbers
        Names and numbers; None if they are unknown.
    at
        Index of the elements that belong to the rows.
    codes
        Insertion codes; None if there are none.
    """
    columns: Columns = []
    if names is not None:
        columns.append((f"{of}_resname", names[at]))
    if numbers is not None:
        columns.append((f"{of}_resid", numbers[at]))
    if codes is not None:
        columns.append((f"{of}_icode", codes[at]))
    return columns


def time_columns(times: NDArray[np.float64], frames: NDArray[np.int64], report: Report) -> Columns:
    """Return the first columns of a table with one row per frame."""
    return [
        ("frame", frames),
        ("time_ps", shortest_times(times, analysis_of(report).get("inputs", ()))),
    ]
