"""Series that are plotted beside a trajectory: saved results, or analyses that are run."""

import importlib
import inspect
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import trajet
from trajet.quoting import quoted
from trajet.result import Result
from trajet.result.loading import load
from trajet.result.per_frame import PerFrame
from trajet.result.series import Series
from trajet.trajectory import Selection, Trajectory

# Columns of a result that are drawn.
_MOST_COLUMNS = 8
# Difference of times that files of other formats may have, relative.
_SLACK = 1e-5
# Significant digits of values and times in a plot.
_DIGITS = 6


class LinkedSeries:
    """A result with values per frame, for the plot of a page.

    Parameters
    ----------
    title
        Name of the file or of the analysis.
    result
        Returns the result for some atoms; called once, when the page first asks for it.
    """

    def __init__(self, title: str, result: Callable[[Selection], Result]) -> None:
        self.title = title
        self._result = result
        self._document: dict[str, object] | None = None
        self._lock = threading.Lock()

    def document(self, selection: Selection) -> dict[str, object]:
        """Return the series as values that JSON has; NaN is None.

        Parameters
        ----------
        selection
            The atoms of the first layer, for an analysis.

        Raises
        ------
        ValueError
            If the result has no values per frame, or is of another trajectory.
        """
        with self._lock:
            if self._document is None:
                result = self._result(selection)
                self._document = _document(result, self.title, selection.trajectory)
            return self._document


def parse_series(text: str) -> list[LinkedSeries]:
    """Return the series that a text names: files of results or analyses, with commas between them.

    Raises
    ------
    ValueError
        If there is neither such a file nor such an analysis of one selection.
    """
    if Path(text).is_file():
        return [_of_file(Path(text))]
    return [_of_word(word.strip()) for word in text.split(",")]


def of_result(result: Result) -> LinkedSeries:
    """Return the series of a result.

    Raises
    ------
    ValueError
        If it has no values per frame.
    """
    return _of(result, type(result).__name__)


def _of_word(word: str) -> LinkedSeries:
    path = Path(word)
    if path.is_file():
        return _of_file(path)
    name = word.replace("-", "_")
    if name not in trajet.ANALYSES:
        raise ValueError(
            f"{quoted(word)}: there is neither a file nor an analysis of this name: give a result"
            " that -o wrote (.npz, .json), or an analysis such as rmsd"
        )
    function = getattr(importlib.import_module(f"trajet.analysis.{name}"), name)
    parameters = list(inspect.signature(function).parameters.values())
    needed = [
        one.name for one in parameters if one.default is one.empty and one.kind < one.VAR_POSITIONAL
    ]
    returned = function.__annotations__["return"]
    if len(needed) != 1 or not (inspect.isclass(returned) and issubclass(returned, PerFrame)):
        raise ValueError(
            f"{quoted(word)}: this analysis has no values per frame of one selection: run"
            f" `trajet {word}` with its options and -o FILE.npz, and give that file"
        )
    return LinkedSeries(word, function)


def _of_file(path: Path) -> LinkedSeries:
    return _of(load(path), path.name)


def _of(result: Result, title: str) -> LinkedSeries:
    if not isinstance(result, Series):
        raise ValueError(
            f"{title}: a {type(result).__name__} has no lines against frames that can be linked"
        )
    return LinkedSeries(title, lambda _: result)


def _document(result: Result, title: str, trajectory: Trajectory) -> dict[str, object]:
    """Return a result as values that JSON has."""
    if not isinstance(result, Series):
        raise ValueError(f"{title}: a {type(result).__name__} cannot be drawn against frames")
    frames = np.asarray(result.frames)
    if not len(frames):
        raise ValueError(f"{title}: has no frames")
    if frames.min() < 0 or frames.max() >= trajectory.n_frames:
        raise ValueError(
            f"{title}: has frame {frames.max()}, but the trajectory has {trajectory.n_frames}"
            " frames: it is of another trajectory"
        )
    _check_times(result, title, trajectory)
    values = np.asarray(result.values).reshape(len(frames), -1)
    labels = [*result.columns, *map(str, range(len(result.columns), values.shape[1]))]
    shown = min(_MOST_COLUMNS, values.shape[1])
    return {
        "title": title,
        "quantity": result.quantity,
        "labels": labels[:shown],
        "n_left_out": values.shape[1] - shown,
        "frames": frames.tolist(),
        "values": [_rounded(values[:, column]) for column in range(shown)],
    }


def _check_times(result: Series, title: str, trajectory: Trajectory) -> None:
    """Raise an error if the first and the last frame have other times in the trajectory.

    Raises
    ------
    ValueError
        If they have.
    """
    with trajectory.cursor([], positions=False, read_ahead=False) as cursor:
        for row in (0, -1):
            number, time = int(result.frames[row]), float(result.times[row])
            there = float(cursor.read(number).time)
            if (
                np.isfinite(time)
                and np.isfinite(there)
                and abs(time - there) > _SLACK * max(1.0, abs(there))
            ):
                raise ValueError(
                    f"{title}: frame {number} is at {time:g} ps, and at {there:g} ps in the"
                    " trajectory: it is of another trajectory"
                )


def _rounded(values: NDArray[np.floating]) -> list[float | None]:
    """Return values with the digits that a plot shows; None where they are not finite."""
    return [
        float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
