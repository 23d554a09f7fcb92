"""Bins along coordinates of frames: their edges, volumes, and the frames in them."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajet.checked_numbers import checked_numbers, whole_number
from trajet.kinetics.coordinates import Coordinate
from trajet.result.axes import Axis, bins

# Bins of an axis: how many, or their edges.
Bins: TypeAlias = int | ArrayLike
# A place, or the two ends of a range, along each coordinate.
Region: TypeAlias = float | tuple[float, float] | Sequence[float | tuple[float, float]]

# Most bins along an axis.
_MAX_BINS = 10_000
# Results that are distances of two points in three dimensions.
_DISTANCES = ("distance", "end-to-end distance")


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
        # Values that differ by rounding alone have no bins between them.
        edges = np.linspace(low, high, n + 1) if low < high else np.zeros(2)
        if not (np.diff(edges) > 0).all():
            raise ValueError(
                f"{coordinate.quantity} is the same in all frames: there is no profile"
            )
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
        # Others keep their digits, which decide at edges.
        is_outside = (values < edges[0]) | (values > edges[-1])
        values = np.where(is_outside, edges[0] + (values - edges[0]) % axis.period, values)
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
    second, on a circle in the direction in which they rise: all of them if the ends are a period
    apart.

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
        elif axis.period is not None and abs(ends[1] - ends[0]) > axis.period:
            raise ValueError(
                f"the range {part!r} of {axis.label} is more than one period of {axis.period:g}"
            )
        elif axis.period is not None and ends[0] != ends[1]:
            width = (ends[1] - ends[0]) % axis.period or axis.period
            within &= (one - ends[0]) % axis.period <= width
        elif ends[0] < ends[1]:
            within &= (one >= ends[0]) & (one <= ends[1])
        else:
            raise ValueError(
                f"the range {part!r} of {axis.label} is empty: give its lower end first"
            )
    return within


def volumes_of(
    axes: Sequence[Axis], coordinates: Sequence[Coordinate], jacobian: str
) -> NDArray[np.float64]:
    """Return the volume of each bin, flat: that of a shell where the Jacobian is removed.

    Raises
    ------
    ValueError
        If it is to be removed and no coordinate has one, or edges of bins are none of it.
    """
    if jacobian not in ("kept", "removed"):
        raise ValueError(f"jacobian is 'kept' or 'removed', not {jacobian!r}")
    volumes, is_removed = np.ones(1), False
    for axis, coordinate in zip(axes, coordinates, strict=True):
        edges, own, largest = axis.bin_edges, np.diff(axis.bin_edges), np.inf
        if jacobian == "removed" and coordinate.tables[0].name in _DISTANCES:
            own, is_removed = np.diff(edges**3) / 3, True
        elif jacobian == "removed" and coordinate.units == "degrees" and axis.period is None:
            own, is_removed, largest = -np.diff(np.cos(np.radians(edges))), True, 180.0
        else:
            volumes = np.multiply.outer(volumes, own).ravel()
            continue
        if edges[0] < 0 or edges[-1] > largest:
            raise ValueError(
                f"bins from {edges[0]:g} to {edges[-1]:g}: {axis.label} has a Jacobian only"
                f" {'from 0 on' if np.isinf(largest) else 'from 0 to 180'}"
            )
        volumes = np.multiply.outer(volumes, own).ravel()
    if jacobian == "removed" and not is_removed:
        raise ValueError(
            "jacobian='removed' is of distances between two points and of angles of three points,"
            f" not of {' and '.join(axis.label for axis in axes)}: leave it out"
        )
    return volumes


def central_rows(
    axes: Sequence[Axis], coordinates: Sequence[Coordinate], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the row of one run that is nearest to the centre of each bin, flat; -1 without one.

    Parameters
    ----------
    cells
        `(n_frames,)`, the bin of each frame, -1 outside.
    """
    squares = np.zeros(len(cells))
    for axis, coordinate in zip(axes, coordinates, strict=True):
        (values,) = coordinate.values
        own = bins_of(axis, values)
        away = values - axis["centre"].astype(np.float64)[own]
        if axis.period is not None:
            away -= axis.period * np.rint(away / axis.period)
        squares += (away / np.diff(axis.bin_edges)[own]) ** 2
    found = np.full(int(np.prod([len(axis) for axis in axes])), -1)
    order = np.argsort(squares, kind="stable")
    order = order[cells[order] >= 0]
    seen, first = np.unique(cells[order], return_index=True)
    found[seen] = order[first]
    return found
