"""Sphinx extension: links of docstrings to pages of the site."""

import re

from sphinx.application import Sphinx

_PAGE_NAME = re.compile(r"(?<![`/\w])docs/([a-z-]+)\.md")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _link(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Replace names of pages in a docstring."""
    lines[:] = [_PAGE_NAME.sub(r":doc:`docs/\1.md </docs/\1>`", line) for line in lines]
