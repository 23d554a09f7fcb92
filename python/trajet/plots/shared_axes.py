"""Axes that several results share: one unit of x, labels of all of them, and ranges that cut none.

A result that is drawn alone chooses unit, labels and ranges for itself. A later one in the same
axes, or in axes that share their x axis, takes the unit that is there. If it cannot, it is an
error: a number would stand at the wrong place.
"""

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trajet.plots.content import AxesContent

PS_PER_NS = 1000.0
# Label of frames that do not stand at equal times.
OF_CHOICE = "frame of the choice"
_TIMES = ("ps", "ns")
# Frames stand at most so far from their times in an image, as a part of its length.
_UNSEEN = 1e-3


def unit_of_times(times: NDArray[np.float64]) -> str:
    """Return the unit of an x axis with these times (ps): "ps", "ns", or "frame".

    It has frame numbers if times do not increase, as in concatenated files.
    """
    if len(times) < 2 or not (np.diff(times) > 0).all():
        return "frame"
    return "ns" if times[-1] - times[0] >= 10 * PS_PER_NS else "ps"


def in_unit(
    times: NDArray[np.float64], frames: NDArray[np.int64], unit: Hashable
) -> NDArray[np.float64]:
    """Return times (ps) or frame numbers in the unit of an x axis."""
    if unit == "frame":
        return frames.astype(np.float64)
    return times / PS_PER_NS if unit == "ns" else times


def label_of_times(unit: Hashable) -> str:
    """Return the label of an x axis with times, or with frame numbers."""
    return f"time ({unit})" if unit in _TIMES else "frame"


def time_axis(
    axes: "Axes", times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return the values of a result along the x axis, and the label of the axis.

    Parameters
    ----------
    times, frames
        `(n_frames,)`, ps and frame numbers.

    Raises
    ------
    ValueError
        If an earlier result has times there, and those of this one do not increase; or if the x
        axis shows something else.
    """
    unit = take_time_unit(axes, [times])
    return in_unit(times, frames, unit), label_of_times(unit)


def take_time_unit(axes: "Axes", runs: list[NDArray[np.float64]]) -> Hashable:
    """Return the unit of times of several runs (ps) in these axes; see `time_axis`."""
    used, shown = _in_use(axes)
    # A run without frames has no times, and a single frame has one in any unit.
    known = [times for times in runs if len(times) > 1 or (len(times) and used not in _TIMES)]
    units = {unit_of_times(times) for times in known}
    if not units:
        return "frame" if used is None else used
    unit = "frame" if "frame" in units else "ns" if "ns" in units else "ps"
    if used in _TIMES and unit == "frame":
        raise ValueError(
            f"these axes show {shown}, and times of this result do not increase, so that it is"
            " drawn against frame numbers: draw it into axes of its own, or choose frames whose"
            " times increase"
        )
    return take_unit(axes, "frame" if used == "frame" else unit, label_of_times(unit))


def lag_axis(
    axes: "Axes", lags: NDArray[np.float64], longest: float = 0.0
) -> tuple[NDArray[np.float64], str]:
    """Return lags or other lengths of time (ps) along the x axis, and their unit, "ps" or "ns".

    Without an earlier result, it is "ns" if the `longest` (ps) has 10 ns.

    Raises
    ------
    ValueError
        If the x axis shows something else than times.
    """
    unit = take_unit(axes, "ns" if longest >= 10 * PS_PER_NS else "ps", "times in ps")
    return (lags / PS_PER_NS if unit == "ns" else lags), str(unit)


def take_unit(axes: "Axes", unit: Hashable, label: str) -> Hashable:
    """Return the unit in which a result is drawn along the x axis, and record it.

    Parameters
    ----------
    unit
        Unit or kind of its numbers: "ps" and "ns" are converted into one another.
    label
        Words for the unit, for an error.

    Raises
    ------
    ValueError
        If numbers of earlier results are something else.
    """
    used, shown = _in_use(axes)
    if used in _TIMES and unit in _TIMES:
        unit = used
    elif used not in (None, unit):
        other = "other ones" if shown == label else label
        raise ValueError(
            f"the x axis of these axes shows {shown}, and this result has {other}: draw it into"
            " axes of its own, which do not share that axis"
        )
    if not axes.has_data():
        # A result that was refused may have left a record.
        for artist in _records(axes):
            artist.remove()
    content = content_of(axes)
    content.unit, content.shown = unit, shown or label
    return unit


def _in_use(axes: "Axes") -> tuple[Hashable, str]:
    """Return the unit of the x axis of earlier results, and words on it; None if there is none."""
    for content in _contents(axes):
        if content.unit is not None:
            return content.unit, content.shown
    return None, ""


def _contents(axes: "Axes") -> "Iterator[AxesContent]":
    """Yield the records of axes, and of those that share their x axis, in which something is."""
    for one in [axes, *axes.get_shared_x_axes().get_siblings(axes)]:
        if one.has_data():
            yield from _records(one)


def _records(axes: "Axes") -> "list[AxesContent]":
    from trajet.plots.content import AxesContent

    return [artist for artist in axes.artists if isinstance(artist, AxesContent)]


def content_of(axes: "Axes") -> "AxesContent":
    """Return the record of what axes show, which is added if there is none."""
    from trajet.plots.content import AxesContent

    for artist in _records(axes):
        return artist
    content = AxesContent()
    axes.add_artist(content)
    return content


def shared_label(axes: "Axes", side: Literal["x", "y"], label: str) -> str:
    """Return the labels of all results in axes for one of their sides, the last of them this."""
    labels = content_of(axes).labels[side]
    if label and label not in labels:
        labels.append(label)
    return ", ".join(labels)


def even_times(
    times: NDArray[np.float64], frames: NDArray[np.int64], unit: Hashable = None
) -> tuple[NDArray[np.float64], str]:
    """Return the positions of frames in an image, which has equal steps, and their label.

    If a frame would not stand at its time, it is the number of the frame among the chosen ones.

    Parameters
    ----------
    times, frames
        `(n_frames,)`, ps and frame numbers.
    unit
        The unit of times; None for the one that fits.
    """
    unit = unit_of_times(times) if unit is None else unit
    x = in_unit(times, frames, unit)
    n = len(x)
    if n > 1:
        length = abs(float(x[-1] - x[0]))
        away = float(np.abs(x - np.linspace(x[0], x[-1], n)).max())
        if length and away <= max(0.5 * length / (n - 1), _UNSEEN * length):
            return x, label_of_times(unit)
    return np.arange(n, dtype=np.float64), OF_CHOICE


def even_time_axis(
    axes: "Axes", times: NDArray[np.float64], frames: NDArray[np.int64]
) -> tuple[NDArray[np.float64], str]:
    """Return what `even_times` does, in the unit of axes; see `time_axis` for errors."""
    used, _ = _in_use(axes)
    x, label = even_times(times, frames, used if used in (*_TIMES, "frame") else None)
    if label == OF_CHOICE:
        take_unit(axes, label, label)
    else:
        take_time_unit(axes, [times])
    return x, label


def limits(axes: "Axes", side: Literal["x", "y"]) -> tuple[float, float] | None:
    """Return the limits of axes in which something is, also beside them for x; None if nothing."""
    beside = axes.get_shared_x_axes() if side == "x" else axes.get_shared_y_axes()
    if not any(one.has_data() for one in beside.get_siblings(axes)):
        return None
    return axes.get_xlim() if side == "x" else axes.get_ylim()


def limit(
    axes: "Axes",
    side: Literal["x", "y"],
    ends: tuple[float, float],
    before: tuple[float, float] | None,
    *,
    keep_auto: bool = False,
) -> None:
    """Set the limits of axes, so that nothing is cut that was within those `before`.

    If `keep_auto`, they still follow what is drawn later.
    """
    auto = None if keep_auto else False
    (axes.set_xlim if side == "x" else axes.set_ylim)(_widened(ends, before), auto=auto)
    if not keep_auto:
        content_of(axes).limited.add(side)


def reveal(axes: "Axes", side: Literal["x", "y"], values: NDArray[np.float64]) -> None:
    """Widen limits that an earlier result has set, so that all these values are seen."""
    finite = values[np.isfinite(values)]
    if finite.size and side in content_of(axes).limited:
        now = axes.get_xlim() if side == "x" else axes.get_ylim()
        low, high = float(finite.min()), float(finite.max())
        ends = _widened((low, high) if now[0] <= now[1] else (high, low), now)
        (axes.set_xlim if side == "x" else axes.set_ylim)(ends)


def _widened(ends: tuple[float, float], before: tuple[float, float] | None) -> tuple[float, float]:
    """Return the ends of a range that has all of another one, in the order of the first."""
    if before is None:
        return ends
    low, high = min(*ends, *before), max(*ends, *before)
    return (low, high) if ends[0] <= ends[1] else (high, low)


def lowest_value(axes: "Axes") -> float:
    """Return the lowest value of results in axes, and of lines, bars and points of the user.

    In axes that share their y axis, results and lines count. Bands and bars of errors do not: they
    may go below what values can be.
    """
    from matplotlib.collections import PathCollection

    found = [content_of(axes).lowest]
    for one in axes.get_shared_y_axes().get_siblings(axes):
        found += [record.lowest for record in _records(one)]
        found += _lowest_of_lines(one)
    for patch in axes.patches:
        if all(patch.get_transform().contains_branch_seperately(axes.transData)):
            corners = patch.get_patch_transform().transform(patch.get_path().vertices)
            found.append(_lowest(corners[:, 1]))
    for points in axes.collections:
        if isinstance(points, PathCollection):
            found.append(_lowest(np.ma.filled(points.get_offsets(), np.nan)[:, 1]))
    return min(found)


def _lowest_of_lines(axes: "Axes") -> list[float]:
    """Return the lowest value of each line but the caps of bars of errors."""
    from matplotlib.container import ErrorbarContainer

    errors = [part for part in axes.containers if isinstance(part, ErrorbarContainer)]
    caps = {cap for part in errors for cap in part.lines[1]}
    return [
        _lowest(line.get_ydata(orig=False))
        for line in axes.lines
        if line not in caps and line.get_transform().contains_branch_seperately(axes.transData)[1]
    ]


def note_values(axes: "Axes", values: NDArray[np.float64]) -> None:
    """Record values that a result draws."""
    content = content_of(axes)
    content.lowest = min(content.lowest, _lowest(values))


def _lowest(values: object) -> float:
    """Return the lowest finite value; infinity if there is none."""
    numbers = np.asarray(values, np.float64)
    return float(numbers[np.isfinite(numbers)].min(initial=np.inf))
