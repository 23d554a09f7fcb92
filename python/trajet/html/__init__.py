"""Reports as pages that need nothing else: no network, no script, no library."""

from trajet.html.page import page

__all__ = ["page"]
