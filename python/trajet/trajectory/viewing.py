"""Trajectories in notebooks: `view` of trajectories and selections."""

import importlib
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Protocol, TypeAlias, cast

from trajet._trajet import MissingPackageError
from trajet.result import Result

LinkedChoice: TypeAlias = "str | PathLike[str] | Result | Sequence[str | PathLike[str] | Result]"


class NotebookView(Protocol):
    """A trajectory in a notebook, a widget.

    Attributes
    ----------
    frame
        Number of the frame that is shown; setting it shows another.
    """

    frame: int

    def observe(self, handler: Callable[[object], None], names: str) -> None:
        """Call a function whenever an attribute changes, such as "frame"."""

    def close(self) -> None:
        """Remove the widget and close its files; the trajectory stays open."""


class Viewable:
    """Base of trajectories and selections that notebooks show."""

    def view(
        self,
        *,
        style: str | None = None,
        colour: str | None = None,
        layers: Sequence[str] = (),
        series: LinkedChoice = (),
        as_stored: bool = False,
        quantise: bool = True,
        height: int = 480,
    ) -> NotebookView:
        """Show the trajectory in a notebook, frame by frame.

        Only frames that are shown are read, and of these only the atoms of the layers. They travel
        through the kernel's connection, so that kernels of other machines work, too. Where there
        are a cell and bonds, molecules are made whole, and frames are superposed on frame 0 by the
        protein or the nucleic acid of the first layer; not if the trajectory has transforms. It
        needs `pip install 'trajet[notebook]'`.

        Parameters
        ----------
        style
            How the selection is drawn: "cartoon", "ball", "spheres", "lines", "surface" or
            "points"; None for the usual one of its atoms. A trajectory has its `layers` instead.
        colour
            "chain", "residue", "element", "secondary", "sequence" or "values", those of `series`;
            None for the usual one.
        layers
            Further layers, "SELECTION:STYLE:COLOUR"; the only ones of a trajectory, by default
            protein and nucleic acids, or else all atoms.
        series
            Results, files of results, or names of analyses, which run on the first layer at the
            positions of the trajectory, not those of the picture. They are drawn beside the
            picture; a click shows a frame, or residues.
        as_stored
            Whether positions are shown as they are stored at first.
        quantise
            Whether positions are sent in steps of 0.01 Å, in half of the bytes.
        height
            Height of the widget, pixels.

        Returns
        -------
        NotebookView
            The widget, which a notebook shows as the value of a cell. Its attribute `frame` is the
            number of the frame; setting it shows another, and `observe(f, "frame")` calls `f`
            whenever it changes.

        Raises
        ------
        MissingPackageError
            If anywidget, or the viewer, is not installed.
        SelectionError
            If a layer is invalid or has no atom.
        ValueError
            If a layer, a style or a series does not exist.
        """
        # Lower packages do not import the viewer.
        try:
            module = importlib.import_module("trajet.viewer.in_notebooks")
        except ImportError as error:
            raise MissingPackageError(
                f"view: {error.name} is not installed: pip install 'trajet[notebook]'"
            ) from error
        make = cast("Callable[..., NotebookView]", module.view)
        return make(
            self,
            style=style,
            colour=colour,
            layers=layers,
            series=series,
            as_stored=as_stored,
            quantise=quantise,
            height=height,
        )
