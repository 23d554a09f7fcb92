"""Room for legends within axes: they cover no data."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.path import Path
    from matplotlib.transforms import Bbox

# Gap between a legend and the data, as a part of the height of the axes.
_GAP = 0.03
# The largest part of the height that a legend takes.
_MOST = 0.7


def keep_clear(axes: "Axes", legend: "Legend") -> None:
    """Move a legend above the data if it covers some of them, and let the y axis grow for it."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    if not covers_data(axes, box):
        return
    height = min(_MOST, box.height / axes.bbox.height + _GAP)
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
    legend.set_loc("upper left")


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
