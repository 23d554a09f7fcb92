"""Serves files, frames and the page of the viewer over HTTP, read-only.

Imports Starlette and uvicorn, which the extra `trajet[serve]` installs.
"""

from trajet.server.access import FILE_HEADERS, Access, check_token, new_token
from trajet.server.app import App
from trajet.server.recording import Recording
from trajet.server.running import Address, serve
from trajet.server.served_names import ServedNames
from trajet.server.view import PAGE_HEADERS, ViewApp

__all__ = [
    "FILE_HEADERS",
    "PAGE_HEADERS",
    "Access",
    "Address",
    "App",
    "Recording",
    "ServedNames",
    "ViewApp",
    "check_token",
    "new_token",
    "serve",
]
