"""Pictures of trajectories in the browser: layers, structures, frames and series, without HTTP.

`trajet.server.view` answers requests with them; `page/` is the page that draws them.
"""

from trajet.viewer.files import check_installed, missing_files, page_files, redirect_page
from trajet.viewer.layers import Layer, default_layers, parse_layer
from trajet.viewer.mp4 import Movie
from trajet.viewer.saved import save
from trajet.viewer.scene import Scene, without_paths
from trajet.viewer.series import LinkedSeries, parse_series

__all__ = [
    "Layer",
    "LinkedSeries",
    "Movie",
    "Scene",
    "check_installed",
    "default_layers",
    "missing_files",
    "page_files",
    "parse_layer",
    "parse_series",
    "redirect_page",
    "save",
    "without_paths",
]
