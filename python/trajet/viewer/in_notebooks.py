"""`view`, which shows trajectories and selections in notebooks."""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from trajet._trajet import MissingPackageError
from trajet.result import Table
from trajet.trajectory import Selection, Trajectory
from trajet.viewer.files import check_installed
from trajet.viewer.layers import Layer, check_style, default_layers, make_layer, parse_layer
from trajet.viewer.scene import Scene
from trajet.viewer.series import LinkedSeries, of_result, parse_series

if TYPE_CHECKING:
    from trajet.viewer.notebook import View

LinkedChoice: TypeAlias = "str | PathLike[str] | Table | Sequence[str | PathLike[str] | Table]"


def view(
    source: Trajectory | Selection,
    *,
    style: str | None = None,
    colour: str | None = None,
    layers: Sequence[str] = (),
    series: LinkedChoice = (),
    as_stored: bool = False,
    quantise: bool = True,
    height: int = 480,
) -> "View":
    """Show a trajectory in a notebook, frame by frame.

    Only frames that are shown are read, and of these only the atoms of the layers. They travel
    through the kernel's connection, so that kernels of other machines work, too. Where there are a
    cell and bonds, molecules are made whole, and frames are superposed on frame 0 by the protein or
    the nucleic acid of the first layer; not if the trajectory has transforms. It needs
    `pip install 'trajet[notebook]'`.

    Parameters
    ----------
    source
        A Trajectory, or a Selection, which is the first layer.
    style
        How the selection is drawn: "cartoon", "ball", "spheres", "lines", "surface" or "points";
        None for the usual one of its atoms. A trajectory has its `layers` instead.
    colour
        "chain", "residue", "element", "secondary", "sequence" or "values", those of `series`; None
        for the usual one.
    layers
        Further layers, "SELECTION:STYLE:COLOUR"; the only ones of a trajectory, by default protein
        and nucleic acids, or else all atoms.
    series
        Results, files of results, or names of analyses, which run on the first layer at the
        positions of the trajectory, not those of the picture. They are drawn beside the picture; a
        click shows a frame, or residues.
    as_stored
        Whether positions are shown as they are stored at first.
    quantise
        Whether positions are sent in steps of 0.01 Å, in half of the bytes.
    height
        Height of the widget, pixels.

    Returns
    -------
    View
        The widget, which a notebook shows as the value of a cell. Its attribute `frame` is the
        number of the frame; setting it shows another, and `observe(f, "frame")` calls `f`
        whenever it changes. `close()` removes it; the trajectory stays open.

    Raises
    ------
    MissingPackageError
        If anywidget, or the viewer, is not installed.
    SelectionError
        If a layer is invalid or has no atom.
    TypeError
        If `source` is neither a trajectory nor a selection.
    ValueError
        If a layer, a style or a series does not exist.
    """
    try:
        from trajet.viewer.notebook import View
    except ImportError as error:
        raise MissingPackageError(
            f"view: {error.name} is not installed: pip install 'trajet[notebook]'"
        ) from error
    check_installed("view")
    if not isinstance(source, (Trajectory, Selection)):
        raise TypeError(
            "the first argument must be a trajectory or a selection, not"
            f" {type(source).__name__}: open a member of an ensemble with .open(), and take the"
            " atoms of an updating selection with .at(frame)"
        )
    trajectory = source.trajectory if isinstance(source, Selection) else source
    check_style(style, colour)
    if isinstance(source, Selection):
        first = [make_layer(source, style, colour)]
    elif style is not None or colour is not None:
        raise ValueError(
            "a trajectory has no style or colour: write layers=['SELECTION:STYLE:COLOUR']"
        )
    else:
        first = []
    scene = Scene(
        trajectory,
        _layers(trajectory, first, layers),
        as_stored=as_stored,
        quantise=quantise,
        series=_series(series),
    )
    # Errors belong to the cell that made the widget.
    scene.prepare()
    return View(scene, height=height)


def _layers(
    trajectory: Trajectory, first: Sequence[Layer], texts: Sequence[str]
) -> Sequence[Layer]:
    texts = [texts] if isinstance(texts, str) else texts
    found = [*first, *(parse_layer(trajectory, text) for text in texts)]
    return found or default_layers(trajectory)


def _series(given: LinkedChoice) -> list[LinkedSeries]:
    several = [given] if isinstance(given, (str, PathLike, Table)) else given
    found: list[LinkedSeries] = []
    for one in several:
        found += [of_result(one)] if isinstance(one, Table) else parse_series(str(one))
    return found
