"""Sphinx extension: the first page of the site leads to docs/index.html."""

from pathlib import Path

from sphinx.application import Sphinx

_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>trajet</title>
<meta http-equiv="refresh" content="0; url=docs/index.html">
<link rel="canonical" href="docs/index.html">
<p><a href="docs/index.html">Documentation of trajet</a></p>
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, error: Exception | None) -> None:
    """Write the page, if the site was built."""
    if error is None and app.builder.format == "html":
        Path(app.outdir, "index.html").write_text(_PAGE, encoding="utf-8")
