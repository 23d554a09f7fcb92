"""Results that are drawn beside a trajectory: saved ones, or analyses that are run."""

import importlib
import inspect
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trajet
from trajet.quoting import quoted
from trajet.result import Table
from trajet.result.loading import load_table
from trajet.trajectory import Selection
from trajet.viewer.result_json import (
    COLOURED,
    ShownAtoms,
    document,
    has_colours,
    is_drawn,
    not_drawn,
)


class LinkedSeries:
    """A result that a page draws.

    Parameters
    ----------
    title
        Name of the file or of the analysis.
    result
        Returns the result for some atoms; called once, when the page first asks for it.
    has_colours
        Whether it has values that colour atoms.
    """

    def __init__(
        self, title: str, result: Callable[[Selection], Table], *, has_colours: bool
    ) -> None:
        self.title, self.has_colours = title, has_colours
        self._result = result
        self._document: dict[str, object] | None = None
        self._lock = threading.Lock()

    def document(self, selection: Selection, shown: ShownAtoms) -> dict[str, object]:
        """Return the result as values that JSON has, with the messages of its report.

        `trajet.viewer.result_json` has the values.

        Parameters
        ----------
        selection
            The atoms of the first layer, for an analysis.
        shown
            The atoms of all layers.

        Raises
        ------
        ValueError
            If the result is of another trajectory.
        """
        with self._lock:
            if self._document is None:
                result = self._result(selection)
                found = document(result, self.title, shown)
                self._document = {**found, "messages": list(result.messages)}
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


def of_result(result: Table) -> LinkedSeries:
    """Return the series of a result.

    Raises
    ------
    ValueError
        If the page does not draw such results.
    """
    return _of(result, result.name)


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
    axes = function.command.axes
    if len(needed) != 1 or not axes:
        raise ValueError(
            f"{quoted(word)}: this analysis has no values per frame, atom or residue of one"
            f" selection: run `trajet {word}` with its options and -o FILE.npz, and give that file"
        )
    if any(one.name == "list_bonds" for one in parameters):
        function = partial(function, list_bonds=True)
    return LinkedSeries(word, function, has_colours=axes in COLOURED)


def _of_file(path: Path) -> LinkedSeries:
    return _of(load_table(path), path.name)


def _of(result: Table, title: str) -> LinkedSeries:
    if not is_drawn(result):
        raise ValueError(not_drawn(type(result), title))
    return LinkedSeries(title, lambda _: result, has_colours=has_colours(result))
