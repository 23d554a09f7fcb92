"""Reports as self-contained HTML pages, without network, scripts or libraries."""

from trajet.html.page import page, require_jinja

__all__ = ["page", "require_jinja"]
