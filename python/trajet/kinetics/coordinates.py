"""Coordinates of frames, such as a distance or an angle, and the bins that divide them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet._trajet import AnalysisError
from trajet.checked_numbers import checked_numbers, whole_number
from trajet.result import EnsembleResult, Table
from trajet.result.axes import Axis, bins
from trajet.result.report import analysis_of

# A result with one number per frame, or one of its series by its name or its number.
Series: TypeAlias = Table | EnsembleResult[Table] | tuple[Table | EnsembleResult[Table], str | int]
# Bins of an axis: how many, or their edges.
Bins: TypeAlias = int | ArrayLike
# A place, or the two ends of a range, along each coordinate.
Region: TypeAlias = float | tuple[float, float] | Sequence[float | tuple[float, float]]

# Most bins along an axis.
_MAX_BINS = 10_000


@dataclass(frozen=True)
class Coordinate:
    """A number of each frame of one run or of several.

    Attributes
    ----------
    quantity, label, units
        Name of the numbers, label of the series, and unit.
    period
        Period of numbers on a circle; None of others.
    values
        `(n_frames,)` of each run.
    tables
        The result of each run.
    runs
        Names of the runs, which is empty of one that is no member of an ensemble.
    """

    quantity: str
    label: str
    units: str
    period: float | None
    values: tuple[NDArray[np.float64], ...]
    tables: tuple[Table, ...]
    runs: tuple[str, ...]


def coordinate_of(given: Series, name: str) -> Coordinate:
    """Return the coordinate that a user gives as the argument `name`.

    Raises
    ------
    TypeError
        If it is no result with numbers of frames.
    ValueError
        If it has several series of which none is chosen, or members of several systems.
    AnalysisError
        If a value is not a finite number, or all members failed.
    """
    result, chosen = given if isinstance(given, tuple) else (given, None)
    if isinstance(result, EnsembleResult):
        _check_are_replicas(result, name)
        tables = [table for _, table in result.done()]
        runs = [one.label for one in result.outcomes if one.result is not None]
    else:
        tables, runs = [result], [""]
    values = []
    for table, run in zip(tables, runs, strict=True):
        if not (isinstance(table, Table) and table.has_frames and table.values.dtype.kind in "fiu"):
            raise TypeError(
                f"{name} is a result with numbers of each frame, such as tj.rmsd(selection), or"
                f" (result, series), not {type(result).__name__}"
            )
        column = _column_of(table, chosen, name)
        every = table.values.reshape(len(table), -1)[:, column].astype(np.float64)
        if (wrong := np.flatnonzero(~np.isfinite(every))).size:
            raise AnalysisError(
                f"{name}{f' of {run}' if run else ''}: frame {table.frames[wrong[0]]}:"
                f" {every[wrong[0]]:g} is no place on an axis: choose frames that have numbers, as"
                " result[numpy.isfinite(result.values)]"
            )
        values.append(every)
    first = tables[0]
    label = first.columns[_column_of(first, chosen, name)]
    has_label = len(first.columns) > 1 or first.period is not None
    quantity = first.name if not has_label else label if first.period else f"{first.name} {label}"
    return Coordinate(
        quantity, label, first.units, first.period, tuple(values), tuple(tables), tuple(runs)
    )


def _check_are_replicas(result: EnsembleResult[Table], name: str) -> None:
    """Raise a ValueError if members differ in another key than the replica."""
    for key in result.keys:
        if key != "replica" and len({keys[key] for keys, _ in result.done()}) > 1:
            raise ValueError(
                f"{name} has members that differ in {key}, and a free energy is of one system:"
                f" choose one, as result.where({key}=...)"
            )


def _column_of(table: Table, chosen: str | int | None, name: str) -> int:
    """Return the number of the chosen series of a table, or of its only one."""
    labels = table.columns
    if chosen is None and len(labels) == 1:
        return 0
    if isinstance(chosen, str) and labels.count(chosen) == 1:
        return labels.index(chosen)
    if chosen is not None and not isinstance(chosen, str):
        return whole_number(chosen, f"the series of {name}", least=0, most=len(labels) - 1)
    shown = ", ".join(map(repr, labels[:3])) + (", …" if len(labels) > 3 else "")
    raise ValueError(
        f"{name} has {len(labels)} series ({shown}): choose one by its number or its label, as"
        f" (result, 0) or (result, {labels[0]!r})"
    )


def coordinates_of(x: Series, y: Series | None) -> list[Coordinate]:
    """Return one coordinate or two of the same frames.

    Raises
    ------
    TypeError, ValueError, AnalysisError
        As `coordinate_of`; also if frames differ: rows of two files of other lengths or times do
        not belong together, even if there are as many.
    """
    first = coordinate_of(x, "x")
    if y is None:
        return [first]
    other = coordinate_of(y, "y")
    if first.runs != other.runs:
        raise ValueError("x and y are of different members of an ensemble")
    for one, two in zip(first.tables, other.tables, strict=True):
        check_same_frames(one, two, "y")
    if first.quantity == other.quantity:
        first, other = (
            replace(one, quantity=f"{one.quantity} of {one.label}") for one in (first, other)
        )
    return [first, other]


def check_same_frames(x: Table, other: Table, name: str) -> None:
    """Raise a ValueError if the rows of x and of the argument `name` are of different frames.

    Files are compared where both results know theirs; series of other programs do not.
    """
    if not (other.has_frames and np.array_equal(x.frames, other.frames)):
        raise ValueError(
            f"x has {len(x)} frames and {name} {len(other)}, or other ones: compute both with the"
            " same frames, as tj.run does in one pass"
        )
    files, others = _files_of(x), _files_of(other)
    are_other = bool(files and others and files != others)
    if are_other or not np.array_equal(x.times, other.times, equal_nan=True):
        raise ValueError(
            f"frames of x and {name} have the same numbers, and other times or files: they are of"
            " different trajectories"
        )


def _files_of(table: Table) -> list[str]:
    """Return the digests of the trajectories of which a result is; none of other programs."""
    inputs = analysis_of(table.report).get("inputs", ())
    return [one["digest"] for one in inputs if "n_frames" in one and one.get("digest")]


def axis_of(coordinate: Coordinate, given: Bins) -> Axis:
    """Return the axis of bins of a coordinate, of a whole circle where it has a period.

    Raises
    ------
    TypeError, ValueError
        If bins are neither a number nor ascending edges, there are too many, or all values of a
        coordinate without a period are equal.
    """
    period = coordinate.period
    if np.ndim(given):
        edges = checked_numbers(given, "edges of bins")
        ascend = edges.ndim == 1 and len(edges) > 1 and bool((np.diff(edges) > 0).all())
        if not ascend or not np.isfinite(edges).all() or len(edges) > _MAX_BINS + 1:
            raise ValueError(f"edges of bins must be 2 to {_MAX_BINS + 1:,} ascending numbers")
        if period is not None and edges[-1] - edges[0] > period * (1 + 1e-9):
            raise ValueError(f"edges of bins must be within one period of {period:g}")
    else:
        n = whole_number(given, "bins", least=1, most=_MAX_BINS)
        low, high = -(period or 0) / 2, (period or 0) / 2
        if period is None:
            low = min(float(one.min(initial=np.inf)) for one in coordinate.values)
            high = max(float(one.max(initial=-np.inf)) for one in coordinate.values)
            if not low < high:
                raise ValueError(
                    f"{coordinate.quantity} is the same in all frames, or there are none: there is"
                    " no profile"
                )
        edges = np.linspace(low, high, n + 1)
    made = bins("bins", edges)
    return Axis(
        "bins",
        made.columns,
        edges,
        quantity=coordinate.quantity,
        units=coordinate.units,
        period=period,
    )


def bins_of(axis: Axis, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bin of each value, -1 outside; the last one also has its upper edge."""
    edges = axis.bin_edges
    if axis.period is not None:
        values = edges[0] + (values - edges[0]) % axis.period
    found = np.searchsorted(edges, values, side="right") - 1
    found[values == edges[-1]] = len(axis) - 1
    return np.where(found < len(axis), found, -1)


def cells_of(axes: Sequence[Axis], values: Sequence[NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return the number of the bin of each frame in the flat array of all bins; -1 outside."""
    found = [bins_of(axis, one) for axis, one in zip(axes, values, strict=True)]
    flat = np.ravel_multi_index([np.maximum(one, 0) for one in found], tuple(map(len, axes)))
    return np.where(np.all([one >= 0 for one in found], axis=0), flat, -1)


def in_region(
    axes: Sequence[Axis], values: Sequence[NDArray[np.float64]], region: Region
) -> NDArray[np.bool_]:
    """Return whether values, along each of the axes, lie in a region.

    A number stands for the bin that has it, and a range for all values from its first end to the
    second, on a circle in the direction in which they rise.

    Raises
    ------
    ValueError
        If the region has not one part for each axis, a place is in no bin, or a range is empty.
    """
    parts = [region] if len(axes) == 1 else list(region) if isinstance(region, Sequence) else []
    if len(parts) != len(axes):
        raise ValueError(
            f"a region is a number or a range along each of {len(axes)} axes, such as"
            f" {'(-60, (-80, 0))' if len(axes) > 1 else '3.5 or (2, 5)'}, not {region!r}"
        )
    within = np.ones(np.shape(values[0]), bool)
    for axis, one, part in zip(axes, values, parts, strict=True):
        ends = checked_numbers(part, "places of a region")
        if np.shape(part) not in ((), (2,)) or not np.isfinite(ends).all():
            raise ValueError(f"{part!r} is neither a number nor a range of two")
        if not np.ndim(part):
            bin_ = bins_of(axis, ends)[0]
            if bin_ < 0:
                raise ValueError(f"{part!r} is outside of the bins of {axis.label}")
            within &= bins_of(axis, one) == bin_
        elif axis.period is not None:
            within &= (one - ends[0]) % axis.period <= (ends[1] - ends[0]) % axis.period
        elif ends[0] < ends[1]:
            within &= (one >= ends[0]) & (one <= ends[1])
        else:
            raise ValueError(
                f"the range {part!r} of {axis.label} is empty: give its lower end first"
            )
    return within
