"""The files of the page: our own, and the programs of others that draw molecules and plots.

`make viewer` fetches the latter (`packaging/fetch_viewer.py`); wheels contain them. Programs are
gzip streams, and are sent as they are.
"""

import html
import re
from pathlib import Path

from trajet._trajet import MissingPackageError

_HERE = Path(__file__).parent
_JAVASCRIPT, _CSS = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
# The modules of the viewer; each imports only from those before it.
_MODULES = (
    "elements",
    "canvas",
    "colours",
    "frames",
    "layout",
    "sources",
    "matrices",
    "lines",
    "plots",
    "molecules",
    "viewer",
)
# Names that requests may ask for, with the files and their types.
_FILES = {
    "": ("page/index.html", "text/html; charset=utf-8"),
    **{f"{name}.js": (f"page/{name}.js", _JAVASCRIPT) for name in (*_MODULES, "page")},
    "view.css": ("page/view.css", _CSS),
    "molstar.js": ("vendor/molstar.js.gz", _JAVASCRIPT),
    "uPlot.js": ("vendor/uPlot.js.gz", _JAVASCRIPT),
    "uPlot.css": ("vendor/uPlot.min.css", _CSS),
}
# Further ones of a recording.
_OF_RECORDINGS = {
    "record": ("page/record.html", "text/html; charset=utf-8"),
    "record.js": ("page/record.js", _JAVASCRIPT),
}
PROGRAMS = ("molstar.js", "uPlot.js")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:class|const|function) )", re.MULTILINE)


def page_files(*, records: bool = False) -> dict[str, tuple[Path, str]]:
    """Return the path and the media type of each file of the page, by its name in requests.

    Files whose paths end in `.gz` are gzip streams of that media type.

    Parameters
    ----------
    records
        Whether the files of a recording are among them.
    """
    files = _FILES | (_OF_RECORDINGS if records else {})
    return {name: (_HERE / path, media_type) for name, (path, media_type) in files.items()}


def missing_files() -> list[str]:
    """Return the names of files that this installation lacks, ascending."""
    return sorted(path.name for path, _ in page_files().values() if not path.is_file())


def check_installed(what: str) -> None:
    """Raise an error about `what` if this installation lacks files.

    Raises
    ------
    MissingPackageError
        If there are such files.
    """
    if missing := missing_files():
        raise MissingPackageError(
            f"{what}: {', '.join(missing)} are not part of this installation: take a wheel, or run"
            " `make viewer` in the sources, which needs npm"
        )


def redirect_page(address: str) -> str:
    """Return a page that leads the browser to an address."""
    return _text("redirect.html").replace("ADDRESS", html.escape(address))


def script(entry: str) -> str:
    """Return the modules of the viewer as one module.

    Parameters
    ----------
    entry
        Name of the module that uses them, whose exports are those of the script.
    """
    modules = [_EXPORT.sub("", _text(f"{name}.js")) for name in _MODULES]
    return _IMPORT.sub("", "\n".join([*modules, _text(f"{entry}.js")]))


def style() -> str:
    """Return the style sheets of the viewer as one, without those that `missing_files` names."""
    paths = [page_files()[name][0] for name in ("uPlot.css", "view.css")]
    return "".join(path.read_text(encoding="utf-8") for path in paths if path.is_file())


def program(name: str) -> bytes:
    """Return one of `PROGRAMS`, a gzip stream."""
    return page_files()[name][0].read_bytes()


def saved_page(pieces: str, index: str) -> tuple[str, str, str]:
    """Return what stands before, between and after the pieces and the index of a saved page."""
    text = _text("saved.html").replace("STYLE", style()).replace("SCRIPT", script("saved"))
    before, rest = text.split(pieces)
    between, after = rest.split(index)
    return before, between, after


def _text(name: str) -> str:
    return (_HERE / "page" / name).read_text(encoding="utf-8")
