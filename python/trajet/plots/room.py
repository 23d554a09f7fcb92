"""Room for legends and warnings within axes: they cover no data."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.path import Path
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

# Gap between a legend and the data, as a part of the height of the axes.
_GAP = 0.03
# The largest part of the height that a legend takes.
_MOST = 0.7


def lay_out(axes: "Axes") -> None:
    """Compute where all artists of the figure of axes are."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()


def keep_clear(axes: "Axes", legend: "Legend") -> None:
    """Move a legend above the data, and let the y axis grow for it."""
    _make_room(axes, _height(axes, legend))
    legend.set_loc("upper left")


def _height(axes: "Axes", artist: "Artist") -> float:
    """Return the height of a legend or a text with its gap, as a part of that of the axes."""
    return min(_MOST, artist.get_window_extent().height / axes.bbox.height + _GAP)


def _make_room(axes: "Axes", height: float) -> None:
    """Let the y axis grow above the data, by a part of its new height."""
    transform = axes.transScale + axes.transLimits
    # Below the top, where margins may be: data take the whole height at most.
    ends = transform.inverted().transform([(0.0, 0.0), (0.0, 1 / (1 - height))])[:, 1]
    low, high = float(ends[0]), float(ends[1])
    if axes.get_autoscaley_on():
        axes.update_datalim([(0.0, high)], updatex=False)
        axes.autoscale_view(scalex=False)
        axes.set_ylim(bottom=low, auto=None)
    else:
        axes.set_ylim(low, high)


def find_corner(axes: "Axes", text: "Text") -> None:
    """Move a text into a corner where it covers neither data nor the legend.

    If there is none, the y axis grows for it: it is above the data, or below them if a legend is
    within the axes.
    """
    legend = axes.get_legend()
    for x, ha in ((0.01, "left"), (0.99, "right")):
        for y, va in ((0.01, "bottom"), (0.99, "top")):
            text.set(x=x, y=y, ha=ha, va=va)
            box = text.get_window_extent().padded(_GAP * axes.bbox.height)
            if not covers_data(axes, box) and not (
                legend and legend.get_window_extent().overlaps(box)
            ):
                return
    text.set(x=0.01, ha="left")
    height = _height(axes, text)
    if legend is None:
        _make_room(axes, height)
        return
    text.set(y=0.01, va="bottom")
    transform = (axes.transScale + axes.transLimits).inverted()
    axes.set_ylim(bottom=float(transform.transform((0.0, height / (height - 1)))[1]), auto=None)


def covers_data(axes: "Axes", box: "Bbox") -> bool:
    """Return whether a box, in pixels, covers lines, points, bars or areas of axes."""
    return any(path.intersects_bbox(box, filled) for path, filled in _drawn(axes)) or any(
        box.contains(x, y) for x, y in _points(axes)
    )


def _drawn(axes: "Axes") -> "Iterator[tuple[Path, bool]]":
    """Yield what is drawn as paths in pixels, and whether these are filled.

    Bands that are as wide or as high as the axes are none of the data.
    """
    from matplotlib.collections import PathCollection

    for line in axes.lines:
        if _is_data(axes, line):
            yield line.get_transform().transform_path(line.get_path()), False
    for patch in axes.patches:
        if _is_data(axes, patch):
            yield patch.get_transform().transform_path(patch.get_path()), patch.get_fill()
    for collection in axes.collections:
        if _is_data(axes, collection) and not isinstance(collection, PathCollection):
            for path in collection.get_paths():
                yield collection.get_transform().transform_path(path), True


def _is_data(axes: "Axes", artist: "Artist") -> bool:
    return all(artist.get_transform().contains_branch_seperately(axes.transData))


def _points(axes: "Axes") -> Iterator[tuple[float, float]]:
    """Yield the points of clouds of points, in pixels."""
    from matplotlib.collections import PathCollection

    for collection in axes.collections:
        if isinstance(collection, PathCollection):
            offsets = np.ma.filled(collection.get_offsets(), np.nan)
            yield from collection.get_offset_transform().transform(offsets).tolist()
