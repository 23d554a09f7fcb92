"""Serves files and frames over HTTP, read-only.

Imports Starlette and uvicorn, which the extra `trajet[serve]` installs.
"""

from trajet.server.access import Access, check_token, new_token
from trajet.server.running import Address, serve
from trajet.server.table import Table

__all__ = ["Access", "Address", "Table", "check_token", "new_token", "serve"]
