"""Sphinx extension: runs docs/gallery.py and makes a page of its code and its figures."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import generated_pages
from sphinx.application import Sphinx
from sphinx.util import logging

_ROOT = Path(__file__).parents[2]
_SCRIPT = _ROOT / "docs" / "gallery.py"
_FIGURES = "gallery"
_STATE = "gallery/state.txt"
_log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(_: Sphinx) -> None:
    """Draw the figures, unless nothing has changed since they were drawn, and write the page."""
    cells = list(_cells(_SCRIPT.read_text(encoding="utf-8")))
    state = _state()
    path = generated_pages.FOLDER / _STATE
    if not path.exists() or path.read_text(encoding="utf-8") != state:
        _log.info("drawing the figures of the gallery ...")
        _draw(cells)
        generated_pages.write(_STATE, state)
    lines = ["# Gallery\n", "Every kind of plot, with the code that draws it.\n"]
    for title, text, code in cells:
        lines += [f"## {title}\n", f"{text}\n", f"```python\n{code}\n```\n"]
        if "figure =" in code:
            lines.append(f"![{title}]({_FIGURES}/{_file(title)})\n")
    generated_pages.write("gallery.md", "\n".join(lines))


def _cells(script: str) -> Iterator[tuple[str, str, str]]:
    """Yield title, text and code of each cell: `# %% Title`, lines of comments, code."""
    for cell in re.split(r"^# %% ", script, flags=re.MULTILINE)[1:]:
        title, _, rest = cell.partition("\n")
        comments = re.match(r"(?:# .*\n)*", rest)
        assert comments is not None
        text = " ".join(line.removeprefix("# ") for line in comments[0].splitlines())
        yield title, text, rest[comments.end() :].strip()


def _file(title: str) -> str:
    """Return the name of the picture of a cell."""
    return re.sub(r"\W+", "-", title.lower()) + ".png"


def _state() -> str:
    """Return the digest of all that the figures depend on: the script and the package."""
    return hashlib.sha256(_SCRIPT.read_bytes()).hexdigest() + generated_pages.package_digest()


def _draw(cells: list[tuple[str, str, str]]) -> None:
    """Run all cells, one after the other, and save their figures."""
    import matplotlib.pyplot as plt

    figures = generated_pages.FOLDER / _FIGURES
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    names: dict[str, object] = {}
    for title, _, code in cells:
        exec(compile(code, f"{_SCRIPT.name}: {title}", "exec"), names)
        if "figure =" in code:
            names["figure"].savefig(figures / _file(title), dpi=120)  # type: ignore[attr-defined]
            plt.close("all")
