"""Makes the scenes of notebooks; see `trajet.trajectory.viewing`."""

from collections.abc import Sequence
from os import PathLike

from trajet.result import Result
from trajet.trajectory import Selection, Trajectory
from trajet.trajectory.viewing import LinkedChoice
from trajet.viewer.files import check_installed
from trajet.viewer.layers import Layer, check_style, default_layers, make_layer, parse_layer
from trajet.viewer.notebook import View
from trajet.viewer.scene import Scene
from trajet.viewer.series import LinkedSeries, of_result, parse_series


def view(
    shown: Trajectory | Selection,
    *,
    style: str | None,
    colour: str | None,
    layers: Sequence[str],
    series: LinkedChoice,
    as_stored: bool,
    quantise: bool,
    height: int,
) -> View:
    """Return the widget; `trajet.trajectory.viewing.Viewable.view` has the parameters."""
    check_installed("view")
    trajectory = shown.trajectory if isinstance(shown, Selection) else shown
    check_style(style, colour)
    if isinstance(shown, Selection):
        first = [make_layer(shown, style, colour)]
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
    several = [given] if isinstance(given, (str, PathLike, Result)) else given
    found: list[LinkedSeries] = []
    for one in several:
        found += [of_result(one)] if isinstance(one, Result) else parse_series(str(one))
    return found
