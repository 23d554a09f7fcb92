"""Reports as self-contained HTML pages, and tables of facts, without network or scripts."""

from trajet.html.facts import facts
from trajet.html.page import page

__all__ = ["facts", "page"]
