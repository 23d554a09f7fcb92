"""The files of the page: our own, and the programs of others that draw molecules and plots.

`make viewer` fetches the latter (`packaging/fetch_viewer.py`); wheels contain them.
"""

import html
from pathlib import Path

_HERE = Path(__file__).parent
_JAVASCRIPT, _CSS = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
# Names that requests may ask for, with the files and their types.
_FILES = {
    "": ("page/index.html", "text/html; charset=utf-8"),
    "view.js": ("page/view.js", _JAVASCRIPT),
    "molecules.js": ("page/molecules.js", _JAVASCRIPT),
    "frames.js": ("page/frames.js", _JAVASCRIPT),
    "plots.js": ("page/plots.js", _JAVASCRIPT),
    "view.css": ("page/view.css", _CSS),
    "molstar.js": ("vendor/molstar.js", _JAVASCRIPT),
    "uPlot.js": ("vendor/uPlot.esm.js", _JAVASCRIPT),
    "uPlot.css": ("vendor/uPlot.min.css", _CSS),
}


def page_files() -> dict[str, tuple[Path, str]]:
    """Return the path and the media type of each file of the page, by its name in requests."""
    return {name: (_HERE / path, media_type) for name, (path, media_type) in _FILES.items()}


def missing_files() -> list[str]:
    """Return the names of files that this installation lacks, ascending."""
    return sorted(path.name for path, _ in page_files().values() if not path.is_file())


def redirect_page(address: str) -> str:
    """Return a page that leads the browser to an address."""
    text = (_HERE / "page" / "redirect.html").read_text(encoding="utf-8")
    return text.replace("ADDRESS", html.escape(address))
