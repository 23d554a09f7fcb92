"""Sphinx extension: links of docstrings to pages of the site, and none to the base class."""

import re

from sphinx.application import Sphinx

_PAGE_NAME = re.compile(r"(?<![`/\w])docs/([a-z-]+)\.md")
# `Result` is the base class of all results; its subclasses are in the reference.
_SEE_BASE_CLASS = re.compile(r"; see `Result\.\w+`")
_BASE_PLOT = re.compile(r"`Result\.plot`")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _link(
    _app: Sphinx, _what: str, _name: str, _obj: object, _options: object, lines: list[str]
) -> None:
    """Replace names of pages, and what refers to the base class of results, in a docstring."""
    for k, line in enumerate(lines):
        own = _SEE_BASE_CLASS.sub("", line)
        own = _BASE_PLOT.sub(":doc:`figures for papers and talks </docs/figures>`", own)
        lines[k] = _PAGE_NAME.sub(r":doc:`docs/\1.md </docs/\1>`", own)
