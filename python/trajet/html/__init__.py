"""Reports as self-contained HTML pages, without network, scripts or libraries."""

from trajet.html.page import page

__all__ = ["page"]
